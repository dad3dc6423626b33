"""A connection from its first byte to the answer to `initialize`.

Imports only what that takes.
"""

from __future__ import annotations

from promptkit_rpc.rpc import descriptors, hello
from promptkit_rpc.rpc.framing import MAX_BODY, Framer, Lost, Refused, header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from promptkit_rpc.rpc.framing import Event
    from promptkit_rpc.rpc.hello import Hello


class Options:
    """What the command line decides.

    `root` and `config` stand in where the client names none; `max_body` is in bytes; `grace` is
    how many seconds requests in flight get when the input ends; `log_level` is the least level
    that is logged, as `logging` names it.
    """

    __slots__ = ("config", "grace", "log_level", "max_body", "root")

    def __init__(
        self,
        *,
        root: str | None = None,
        config: str | None = None,
        max_body: int = MAX_BODY,
        grace: float = 3.0,
        log_level: str = "WARNING",
    ) -> None:
        self.root = root
        self.config = config
        self.max_body = max_body
        self.grace = grace
        self.log_level = log_level


class Started:
    """A connection whose first bytes were read: what is left of them, and who called if known."""

    __slots__ = ("events", "framer", "hello", "options", "sink", "source")

    def __init__(self, options: Options, source: int, sink: int) -> None:
        self.options = options
        self.source = source
        self.sink = sink
        self.framer = Framer(options.max_body)
        self.events: list[Event] = []
        self.hello: Hello | None = None

    def first(self) -> bool:
        """Reads until there is a first frame, and answers it if it is a good `initialize`.

        Says whether there was one: False at the end of the input.
        """
        while not self.events:
            data = descriptors.read(self.source)
            if data is None:
                descriptors.wait(self.source)
            elif data:
                self.events = self.framer.feed(data)
            else:
                return False
        body = self.events[0]
        if not isinstance(body, (Refused, Lost)):
            answered = hello.answer(body, self.options.root, self.options.config)
            if answered:
                self.hello, answer = answered
                del self.events[0]
                descriptors.write(self.sink, header(len(answer)) + answer)
        return True
