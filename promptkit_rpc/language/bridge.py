"""Mounts a language server behind a connection that is not its own: carries messages, keeps ids.

The server is spoken to through public calls only. It never sees an id of the client's nor the life
cycle: its `initialize` is made here, and each request gets an id of the bridge's own.
"""

import asyncio
import json
import logging
import sys
import traceback
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from typing import Any, Protocol

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from promptkit_rpc import __version__
from promptkit_rpc.language.wire import Fault, converter, faults_of, silence, told

_log = logging.getLogger(__name__)

Json = dict[str, Any]
Id = int | str

_INTERNAL = types.ErrorCodes.InternalError.value
_INVALID_REQUEST = types.ErrorCodes.InvalidRequest.value
_NO_METHOD = types.ErrorCodes.MethodNotFound.value


class Client(Protocol):
    """The client as the server reaches it."""

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification."""
        ...

    def ask(self, method: str, params: Any) -> Awaitable[Json]:
        """Sends a request and gives the answer's own member, `result` or `error`; never raises."""
        ...


class Server(LanguageServer):
    """The server that is mounted; features are registered on it.

    Handlers run on the event loop's thread. A fault of theirs is logged by its type and place, and
    is shown to nobody; an error of JSON-RPC that one raises is the request's answer.
    """

    def __init__(self) -> None:
        silence()
        # Whole documents are asked for; a client that sends parts of them is understood as well.
        super().__init__(  # pyright: ignore[reportUnknownMemberType] - it takes anything
            "promptkit-rpc", __version__, converter_factory=converter
        )
        self.on_failure: Callable[[Id], None] = _nothing
        self._handled: set[str] = set()
        self._work: set[asyncio.Task[None]] = set()

    def handle(self, method: str, handler: Callable[[Any], None]) -> None:
        """Registers the one handler of a notification, a plain function.

        Of any other kind the library keeps a record for each notification, for ever.
        """
        features: Any = self.protocol.fm
        features.add_builtin_feature(method, handler)
        self._handled.add(method)

    def serves(self, method: str) -> bool:
        """Whether something was registered; what the library does by itself is not served."""
        features: Any = self.protocol.fm
        return method in self._handled or method in features.features

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ARG002 - as called
        """A handler raised, or its result cannot be sent."""
        raised = sys.exception() or error
        if not isinstance(raised, JsonRpcException):
            log_fault("a language feature", raised)
        ident = self.protocol.msg_id
        if ident is not None:
            self.on_failure(ident)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Does something beside the messages, until the server is stopped."""
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._worked)

    def _worked(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (raised := task.exception()) is not None:
            log_fault("a language feature", raised)

    async def stop(self) -> None:
        """Ends what was spawned."""
        work = list(self._work)
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)


class Bridge:
    """Carries messages between a client and a server. Made on any thread, used on the loop's.

    Args:
        server: all of its features are registered.
        root_uri: the workspace's folder.
        capabilities: the client's, as it sent them; the server gets those that can be read.
    """

    def __init__(self, server: Server, root_uri: str, capabilities: Json) -> None:
        self.server = server
        self._protocol = server.protocol
        self._client: Client | None = None
        self._ids = count(1)
        self._asked: dict[Id, asyncio.Future[Any]] = {}
        server.on_failure = self._failed
        self._protocol.set_writer(_Writer(self._said), include_headers=False)
        self._initialize(root_uri, capabilities)

    def _initialize(self, root_uri: str, capabilities: Json) -> None:
        try:
            message = self._structured(
                {"id": 0, "method": types.INITIALIZE, "params": _hello(root_uri, capabilities)}
            )
        except JsonRpcException as error:
            faults = faults_of(error.__cause__)
            if not capabilities:
                raise
            _log.warning("dropped capabilities: %s", told(faults))
            self._initialize(root_uri, _without(capabilities, faults))
        else:
            self._protocol.handle_message(message)

    def connect(self, client: Client) -> None:
        """What the server sends goes to this client from now on."""
        self._client = client

    async def close(self) -> None:
        """Gives up what the server is doing; nothing is sent any more."""
        self._client = None
        await self.server.stop()

    # From the client

    def request(self, method: str, params: Json) -> asyncio.Future[Json]:
        """Serves a request; cancel the future to give it up.

        It gives one of `result`, `error` (with `code` and `message`, which tells nothing of the
        server's inside) and `invalid` (the faults of the params).
        """
        ident = next(self._ids)
        answer = self._asked[ident] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda done: self._done(ident, done))
        if not self.server.serves(method):
            answer.set_result(_error(_NO_METHOD, f"there is no method {method[:100]!r}"))
            return answer
        try:
            message = self._structured({"id": ident, "method": method, "params": params})
        except JsonRpcException as error:
            answer.set_result({"invalid": faults_of(error.__cause__)})
            return answer
        if hasattr(message, "id"):
            self._protocol.handle_message(message)
        else:
            answer.set_result(_error(_INVALID_REQUEST, f"{method} is a notification"))
        return answer

    def _done(self, ident: Id, answer: asyncio.Future[Json]) -> None:
        del self._asked[ident]
        if answer.cancelled():
            self._tell(types.CANCEL_REQUEST, {"id": ident})

    def _settle(self, ident: Id, answer: Json) -> None:
        """Ends a request; an answer after the first, or after a cancel, is dropped."""
        asked = self._asked.get(ident)
        if asked is not None and not asked.done():
            asked.set_result(answer)

    def notification(self, method: str, params: Json) -> None:
        """Tells the server something; what it cannot read or does not know is dropped."""
        if not self.server.serves(method):
            return
        try:
            self._tell(method, params)
        except JsonRpcException as error:
            _log.warning("dropped %s: %s", method, told(faults_of(error.__cause__)))

    def _tell(self, method: str, params: Json) -> None:
        self._protocol.handle_message(self._structured({"method": method, "params": params}))

    def _structured(self, members: Json) -> Any:
        return self._protocol.structure_message({"jsonrpc": "2.0", **members})

    # From the server

    def _said(self, message: Json) -> None:
        ident, method = message.get("id"), message.get("method")
        if method is None:
            self._answered(ident, message)
        elif self._client is None:
            pass
        elif ident is None:
            self._client.notify(method, message.get("params"))
        else:
            self.server.spawn(self._ask(self._client, ident, method, message.get("params")))

    def _answered(self, ident: Any, message: Json) -> None:
        error = message.get("error")
        if error is None:
            self._settle(ident, {"result": message.get("result")})
        elif error["code"] == _INTERNAL:
            self._failed(ident)
        else:  # a refusal in a handler's own words
            self._settle(ident, _error(error["code"], error["message"]))

    def _failed(self, ident: Id) -> None:
        """The server failed at a request; if it has said nothing to it, it never will."""
        self._settle(ident, _error(_INTERNAL, "internal error"))

    async def _ask(self, client: Client, ident: Id, method: str, params: Any) -> None:
        answer = await client.ask(method, params)
        try:
            message = self._structured({"id": ident, **answer})
        except JsonRpcException:
            unreadable = _error(_INVALID_REQUEST, "the client's answer cannot be read")
            message = self._structured({"id": ident, **unreadable})
        self._protocol.handle_message(message)


class _Writer:
    """Where the server writes to; the connection is not the server's to close."""

    def __init__(self, said: Callable[[Json], None]) -> None:
        self._said = said

    def write(self, data: bytes) -> None:
        self._said(json.loads(data))

    def close(self) -> None:
        pass


def log_fault(what: str, raised: BaseException) -> None:
    """Logs an exception by type and place: its message may hold content."""
    where = "".join(traceback.format_tb(raised.__traceback__))
    _log.error("%s raised %s\n%s", what, type(raised).__qualname__, where)


def _hello(root_uri: str, capabilities: Json) -> Json:
    general: Any = capabilities.get("general")
    utf_16 = {"positionEncodings": [types.PositionEncodingKind.Utf16.value]}
    return {
        "processId": None,
        "rootUri": root_uri,
        "workspaceFolders": [{"uri": root_uri, "name": "workspace"}],
        "capabilities": {
            **capabilities,
            "general": {**general, **utf_16} if isinstance(general, dict) else utf_16,
        },
    }


def _without(capabilities: Json, faults: tuple[Fault, ...]) -> Json:
    """The capabilities less those at fault, such as `textDocument.hover`; less all if none is."""
    kept: Json = {**capabilities}
    for path, _ in faults:
        _, _, room, feature, *_ = [*path.split("."), "", "", "", ""]
        features: Any = kept.get(room)
        if isinstance(features, dict) and feature:
            kept[room] = {**features}
            kept[room].pop(feature, None)
        else:
            kept.pop(room, None)
    return {} if kept == capabilities else kept


def _error(code: int, message: str) -> Json:
    return {"error": {"code": code, "message": message}}


def _nothing(_: Id) -> None:
    pass
