"""A client's text documents: carried to the language server, which is loaded behind its back.

The one place that imports `language`: on a thread, and only for a client that has text documents.
What comes for the server before it is there waits, in order; everything else is served meanwhile.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from promptkit_rpc.errors import PromptKitError
from promptkit_rpc.rpc.errors import (
    INTERNAL_ERROR,
    REQUEST_CANCELLED,
    ConnectionLost,
    RpcError,
    invalid_params,
)
from promptkit_rpc.rpc.faults import Fault
from promptkit_rpc.rpc.hello import Hello
from promptkit_rpc.rpc.peer import Call, Handler, Peer, Receiver

if TYPE_CHECKING:
    from promptkit_rpc.language.bridge import Bridge

_log = logging.getLogger(__name__)

T = TypeVar("T")
Json = dict[str, Any]

_ROOMS = ("textDocument/", "workspace/")
_STARTED = "initialized"


class Documents:
    """Loads the language server once `initialize` is answered, and carries its messages.

    Args:
        config: the settings file, relative to the root; None is the usual one.
    """

    def __init__(self, peer: Peer, hello: Hello, config: str | None) -> None:
        self._client = _Client(peer)
        self._hello = hello
        self._config = config
        self._bridge: Bridge | None = None
        self._waiting: list[Callable[[], None]] | None = []
        self._loading = asyncio.get_running_loop().create_task(self._load())

    def methods(self, own: Mapping[str, Handler]) -> Mapping[str, Handler]:
        """These methods, and the language server's."""
        return _Routed(own, self._handler)

    def notifications(self, own: Mapping[str, Receiver]) -> Mapping[str, Receiver]:
        """These notifications, and the language server's."""
        return _Routed({_STARTED: self._receiver(_STARTED), **own}, self._receiver)

    async def close(self) -> None:
        """Ends the language server."""
        self._loading.cancel()
        self._waiting = []
        if self._bridge is not None:
            await self._bridge.close()

    async def _load(self) -> None:
        hello = self._hello
        try:
            loading = asyncio.to_thread(load, Path(hello.root), self._config, hello.capabilities)
            self._bridge = await loading
            self._bridge.connect(self._client)
        except Exception as raised:  # noqa: BLE001 - whatever it is, the rest goes on without it
            where = "".join(traceback.format_tb(raised.__traceback__))
            _log.error("the language server: %s\n%s", type(raised).__qualname__, where)
        waiting, self._waiting = self._waiting or [], None
        for enter in waiting:
            enter()

    def _in_order(self, enter: Callable[[], None]) -> None:
        if self._waiting is None:
            enter()
        else:
            self._waiting.append(enter)

    def _receiver(self, method: str) -> Receiver:
        def receive(params: Json) -> None:
            def enter() -> None:
                if self._bridge is not None:
                    self._bridge.notification(method, params)

            self._in_order(enter)

        return receive

    def _handler(self, method: str) -> Handler:
        def serve(params: Json, call: Call) -> Any:
            entered: asyncio.Future[asyncio.Future[Json]] = asyncio.Future()

            def enter() -> None:
                if entered.done():
                    return  # cancelled before the server was there
                if self._bridge is None:
                    entered.set_exception(PromptKitError("the language server did not start"))
                else:
                    entered.set_result(self._bridge.request(method, params))

            self._in_order(enter)
            return _answer(entered, call)

        return serve


def load(root: Path, config: str | None, capabilities: Json) -> "Bridge":
    """Imports the language server and makes it ready; takes about half a second."""
    from promptkit_rpc.language.server import mount  # noqa: PLC0415 - only when it is needed

    return mount(root, config, capabilities)


async def _answer(entered: asyncio.Future[asyncio.Future[Json]], call: Call) -> Any:
    with call.signal.scope():
        answer = await (await entered)
    match answer:
        case {"result": result}:
            return result
        case {"invalid": invalid}:
            raise invalid_params(tuple([Fault(path, message) for path, message in invalid]))
        case {"error": {"code": code, "message": message}} if code != INTERNAL_ERROR:
            raise RpcError(code, message)
        case _:
            raise PromptKitError("the language server failed at this request")


class _Client:
    """The client as the language server reaches it: with ids of the connection's."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification."""
        self._peer.notify(method, params)

    async def ask(self, method: str, params: Any) -> Json:
        """Sends a request; gives the member of the answer that it has."""
        try:
            return {"result": await self._peer.request(method, params)}
        except RpcError as error:
            return {"error": {"code": error.code, "message": error.message, "data": error.data}}
        except ConnectionLost as lost:
            return {"error": {"code": REQUEST_CANCELLED, "message": str(lost)}}


class _Routed(Mapping[str, T]):
    """What is there, and for the language server's methods what is made for them."""

    def __init__(self, own: Mapping[str, T], make: Callable[[str], T]) -> None:
        self._own = own
        self._make = make

    def __getitem__(self, method: str) -> T:
        found = self._own.get(method)
        if found is None:
            if not method.startswith(_ROOMS):
                raise KeyError(method)
            found = self._make(method)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)
