"""The server's life, as LSP has it: what is served before, between and after.

    phase   initialize        shutdown      other request   notifications   exit
    NEW     opens a session   -32002        -32002          dropped         code 1
    OPEN    -32600            answered      the session's   the session's   code 1
    SHUT    -32600            -32600        -32600          dropped         code 0

Requests in flight at `shutdown` go on and are answered.
"""

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, Protocol

from promptkit_rpc.rpc.errors import INVALID_REQUEST, SERVER_NOT_INITIALIZED, RpcError
from promptkit_rpc.rpc.hello import Hello, negotiate
from promptkit_rpc.rpc.peer import Call, Handler, Peer, Receiver, Table


class Session(Protocol):
    """What serves the methods of one connection."""

    @property
    def methods(self) -> Mapping[str, Handler]:
        """What is served, by method."""
        ...

    @property
    def notifications(self) -> Mapping[str, Receiver]:
        """What is listened to, by method."""
        ...

    async def close(self) -> None:
        """Gives back what the session holds; no request is served then."""
        ...


SessionFactory = Callable[[Peer, Hello], Session]
"""Makes the session. It sends nothing yet: `initialize` may still have to be answered."""


class Phase(Enum):
    """Where a server's life stands."""

    NEW = auto()
    OPEN = auto()
    SHUT = auto()


class Lifecycle:
    """Routes by phase; the session is made when the client has said who it is.

    Args:
        on_exit: called with the exit code when the client says `exit`.
        on_open: called with what the client said.
        greet: reads the params of `initialize`.
    """

    def __init__(
        self,
        factory: SessionFactory,
        on_exit: Callable[[int], None],
        on_open: Callable[[Hello], None] = lambda _: None,
        greet: Callable[[dict[str, Any]], Hello] = negotiate,
    ) -> None:
        self.phase = Phase.NEW
        self._factory = factory
        self._on_exit = on_exit
        self._on_open = on_open
        self._greet = greet
        self._session: Session | None = None
        self._table = Table()
        self._own: Mapping[str, Handler] = {"initialize": _again, "shutdown": self._shutdown}

    def open(self, hello: Hello, peer: Peer) -> None:
        """Starts the session of a client whose `initialize` is agreed on."""
        session = self._session = self._factory(peer, hello)
        self._table = Table(session.methods, session.notifications)
        self.phase = Phase.OPEN
        self._on_open(hello)

    async def close(self) -> None:
        """Closes the session, if there is one."""
        if self._session is not None:
            await self._session.close()

    def request(self, method: str) -> Handler:
        """The handler in this phase."""
        match self.phase:
            case Phase.OPEN:
                return self._own.get(method) or self._table.request(method)
            case Phase.NEW if method == "initialize":
                return self._initialize
            case Phase.NEW:
                raise RpcError(SERVER_NOT_INITIALIZED, "initialize has to come first")
            case Phase.SHUT:
                raise RpcError(INVALID_REQUEST, "no request is served after shutdown")

    def notification(self, method: str) -> Receiver | None:
        """The receiver in this phase."""
        if method == "exit":
            return self._exit
        return self._table.notification(method) if self.phase is Phase.OPEN else None

    def _initialize(self, params: dict[str, Any], call: Call) -> dict[str, Any]:
        hello = self._greet(params)
        self.open(hello, call.peer)
        return hello.result

    def _shutdown(self, _params: dict[str, Any], _call: Call) -> None:
        self.phase = Phase.SHUT

    def _exit(self, _params: dict[str, Any]) -> None:
        self._on_exit(0 if self.phase is Phase.SHUT else 1)


def _again(_params: dict[str, Any], _call: Call) -> None:
    raise RpcError(INVALID_REQUEST, "initialize was answered before")
