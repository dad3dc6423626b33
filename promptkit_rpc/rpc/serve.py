"""The life of a daemon process: claim the streams, answer `initialize`, then load the rest.

Imports only what is needed to answer; everything else is loaded behind the answer.
"""

from __future__ import annotations

import os
import signal
import sys

from promptkit_rpc.rpc import descriptors, hello
from promptkit_rpc.rpc.framing import MAX_BODY, Framer, Lost, Refused, header

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from promptkit_rpc.rpc.framing import Event
    from promptkit_rpc.rpc.hello import Hello
    from promptkit_rpc.rpc.lifecycle import SessionFactory


class Options:
    """What the command line decides.

    `root` and `config` stand in where the client names none; `max_body` is in bytes; `grace` is
    how many seconds requests in flight get when the input ends.
    """

    __slots__ = ("config", "grace", "max_body", "root")

    def __init__(
        self,
        *,
        root: str | None = None,
        config: str | None = None,
        max_body: int = MAX_BODY,
        grace: float = 3.0,
    ) -> None:
        self.root = root
        self.config = config
        self.max_body = max_body
        self.grace = grace


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


def serve(
    options: Options | None = None, load: Callable[[], SessionFactory] | None = None
) -> NoReturn:
    """Serves one client on standard input and output, and ends the process.

    Exit code 0 after `shutdown` and `exit` or at the end of the input between frames, 1 if the
    client said `exit` without `shutdown` or the connection broke.

    Args:
        options: what the command line decides.
        load: imports and returns what makes the session; called once `initialize` is answered.
    """
    # An interrupt ends the process at once and without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = 1
    try:
        source, sink = descriptors.claim()
        started = Started(options or Options(), source, sink)
        if not started.first():
            if started.framer.inside:
                descriptors.say("the input ended inside a frame")
            code = int(started.framer.inside)
        else:
            from promptkit_rpc.rpc.daemon import run  # noqa: PLC0415 - after the first answer

            code = run(started, (load or _session)())
    except BrokenPipeError:  # nobody reads the answer to the first frame
        pass
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - it may be closed
        sys.stderr.flush()
    os._exit(code)  # a thread that is stuck cannot keep the process so


def _session() -> SessionFactory:
    from promptkit_rpc.rpc.session import Session  # noqa: PLC0415 - after the first answer

    return Session
