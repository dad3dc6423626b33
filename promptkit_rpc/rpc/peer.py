"""One end of a JSON-RPC connection, the same for both sides. Knows no method but cancelling.

- A request gets exactly one answer, also when its handler crashes or its result is no JSON.
- Ids of the two directions live in two tables; a message of one never touches the other.
- A cancel sets the call's signal and no more: the handler ends itself, with the signal's error.
"""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Protocol, TypeGuard

from attrs import frozen

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.errors import Cancelled, PromptKitError
from promptkit_rpc.rpc import messages
from promptkit_rpc.rpc.asked import Asked
from promptkit_rpc.rpc.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    ConnectionLost,
    RpcError,
    to_error,
)
from promptkit_rpc.rpc.framing import Refused
from promptkit_rpc.rpc.messages import Answer, Id, Message, Notification, Refusal, Request

_log = logging.getLogger(__name__)
_SHOWN = 100


class Outlet(Protocol):
    """Where bodies go."""

    def send(self, body: bytes, *, last: bool = False) -> None:
        """Takes a body; never blocks, and drops it once the connection is gone.

        `last` says that nothing else will be sent soon, so that there is nothing to wait for.
        """
        ...

    def room(self) -> Awaitable[None] | None:
        """None while there is room for more, else what to await before streaming on."""
        ...


class Call:
    """A request being served: who asks, and the signal that cancels it."""

    __slots__ = ("id", "peer", "signal", "task", "work_done_token")

    def __init__(self, peer: "Peer", ident: Id, work_done_token: Any = None) -> None:
        self.peer = peer
        self.id = ident
        self.signal = CancelSignal()
        self.work_done_token: Id | None = work_done_token if _is_id(work_done_token) else None
        self.task: asyncio.Task[None] | None = None


Handler = Callable[[dict[str, Any], Call], Any]
"""Serves a request: gives a result, or an awaitable of one, which then runs as a task."""

Receiver = Callable[[dict[str, Any]], None]
"""Takes a notification's params."""


class Router(Protocol):
    """Finds what serves a method at this moment."""

    def request(self, method: str) -> Handler:
        """The handler; raises `RpcError` where the method is refused."""
        ...

    def notification(self, method: str) -> Receiver | None:
        """The receiver, or None where the notification is ignored."""
        ...


@frozen
class Table:
    """A router that never changes."""

    methods: Mapping[str, Handler] = MappingProxyType({})
    notifications: Mapping[str, Receiver] = MappingProxyType({})

    def request(self, method: str) -> Handler:
        """The handler; raises -32601 for a method that is not there."""
        handler = self.methods.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method {method[:_SHOWN]!r}")
        return handler

    def notification(self, method: str) -> Receiver | None:
        """The receiver, or None."""
        return self.notifications.get(method)


class Peer:
    """Serves requests by a router and makes requests itself. Use it on its event loop only.

    Args:
        to_error: makes the answer for what a handler raises.
    """

    def __init__(
        self,
        outlet: Outlet,
        router: Router,
        to_error: Callable[[Exception], RpcError] = to_error,
    ) -> None:
        self.closing = CancelSignal()
        """Set when the connection is about to end: start nothing new."""
        self._outlet = outlet
        self._router = router
        self._to_error = to_error
        self._calls: dict[Id, Call] = {}
        self._asked = Asked(self._send)
        self._cancels: Mapping[str, Receiver] = {
            "$/cancelRequest": self._cancel_id,
            "window/workDoneProgress/cancel": self._cancel_token,
        }

    # Incoming

    def receive(self, body: bytes | bytearray | Refused) -> None:
        """Takes one body, or what is known of one that was skipped. Never raises."""
        if isinstance(body, Refused):
            self.take(messages.refused(body.head, body.reason))
        else:
            self.take(messages.parse(body))

    def take(self, message: Message) -> None:
        """Takes one message."""
        match message:
            case Request():
                self._serve(message)
            case Notification():
                self._notified(message)
            case Answer():
                self._asked.answered(message)
            case Refusal(ident, error):
                self._fail(ident, error)

    def _serve(self, request: Request) -> None:
        ident = request.id
        if ident in self._calls:
            self._fail(ident, RpcError(INVALID_REQUEST, "a request with this id is in flight"))
            return
        call = Call(self, ident, request.params.get("workDoneToken"))
        try:
            result = self._router.request(request.method)(request.params, call)
        except Exception as raised:  # noqa: BLE001 - whatever it is, the request is answered
            self._fail(ident, self._error(request.method, raised))
            return
        if hasattr(result, "__await__"):
            self._calls[ident] = call
            call.task = asyncio.create_task(self._finish(request.method, call, result))
        else:
            self._answer(ident, result, self._outlet.send)

    async def _finish(self, method: str, call: Call, result: Awaitable[Any]) -> None:
        try:
            value = await result
        except asyncio.CancelledError:
            self._end(call, _stopped(call))
        except Exception as raised:  # noqa: BLE001 - whatever it is, the request is answered
            self._end(call, self._error(method, raised))
        else:
            if self._calls.pop(call.id, None) is not None:
                self._answer(call.id, value, self._send)

    def _end(self, call: Call, error: RpcError) -> None:
        if self._calls.pop(call.id, None) is not None:
            self._fail(call.id, error)

    def _send(self, body: bytes) -> None:
        """Sends what a task has to say; more may come only if other requests are being served."""
        self._outlet.send(body, last=len(self._calls) < 2)  # noqa: PLR2004 - itself, or one other

    def _answer(self, ident: Id, result: Any, send: Callable[[bytes], None]) -> None:
        try:
            body = messages.answer(ident, result)
        except messages.UNENCODABLE as raised:
            self._fail(ident, _unencodable("a result", raised))
        else:
            send(body)

    def _fail(self, ident: Id | None, error: RpcError) -> None:
        try:
            body = messages.failure(ident, error)
        except messages.UNENCODABLE as raised:
            body = messages.failure(ident, _unencodable("an error's data", raised))
        self._outlet.send(body)

    def _error(self, what: str, raised: Exception) -> RpcError:
        if not isinstance(raised, RpcError | ConnectionLost | PromptKitError):
            _report(what, raised)
        try:
            return self._to_error(raised)
        except Exception as failed:  # noqa: BLE001 - whatever it is, the request is answered
            _report(what, failed)
            return to_error(failed)

    def _notified(self, notification: Notification) -> None:
        method = notification.method
        receiver = self._cancels.get(method) or self._router.notification(method)
        if receiver is None:
            return
        try:
            receiver(notification.params)
        except Exception as raised:  # noqa: BLE001 - a notification has no answer to carry it
            self._error(method, raised)

    def _cancel_id(self, params: dict[str, Any]) -> None:
        ident = params.get("id")
        call = self._calls.get(ident) if _is_id(ident) else None
        if call is not None:
            call.signal.cancel(Cancelled("cancelled by the client"))

    def _cancel_token(self, params: dict[str, Any]) -> None:
        token = params.get("token")
        if not _is_id(token):
            return
        for call in list(self._calls.values()):
            if call.work_done_token == token:
                call.signal.cancel(Cancelled("cancelled by the client"))

    # Outgoing

    def request(
        self, method: str, params: Any, signal: CancelSignal | None = None
    ) -> Coroutine[Any, Any, Any]:
        """Asks the other side and returns its result.

        Raises:
            RpcError: the other side's error, with its own code, message and data.
            ConnectionLost: it went away first.
            PromptKitError: the signal's own error; the other side was told to cancel.
        """
        return self._asked.request(method, params, signal)

    def notify(self, method: str, params: Any) -> None:
        """Tells the other side something."""
        self._outlet.send(messages.notification(method, params))

    def room(self) -> Awaitable[None] | None:
        """None while more may be sent at once, else what to await before streaming on."""
        return self._outlet.room()

    # The end

    @property
    def active(self) -> int:
        """How many requests are being served."""
        return len(self._calls)

    def lose(self) -> None:
        """The other side is gone: what was asked of it fails with `ConnectionLost`."""
        self._asked.lose()

    async def settle(self, grace: float, patience: float) -> None:
        """Ends the connection: every request being served is answered.

        They get `grace` seconds to end by themselves, then their signals are set, and what still
        runs after `patience` seconds is answered with -32800 for it.
        """
        self.closing.cancel(Cancelled(_CLOSING))
        self.lose()
        await self._idle(grace)
        for call in list(self._calls.values()):
            call.signal.cancel(Cancelled(_CLOSING))
        await self._idle(patience)
        for call in list(self._calls.values()):
            self._end(call, _stopped(call))
            if call.task is not None:
                call.task.cancel()

    async def _idle(self, bound: float) -> None:
        tasks = [call.task for call in self._calls.values() if call.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=bound)


_CLOSING = "the connection is closing"


def _report(what: str, raised: Exception) -> None:
    """Logs where it happened; the exception's message may hold content or a key, so not that."""
    where = "".join(traceback.format_tb(raised.__traceback__))
    _log.error("%s raised %s\n%s", what[:_SHOWN], type(raised).__qualname__, where)


def _unencodable(what: str, raised: Exception) -> RpcError:
    _report(what, raised)
    data = {"kind": "internal", "retryable": False}
    return RpcError(INTERNAL_ERROR, f"{what} cannot be written as JSON", data)


def _stopped(call: Call) -> RpcError:
    error = call.signal.error
    return to_error(Cancelled("stopped" if error is None else error.message))


def _is_id(value: Any) -> TypeGuard[Id]:
    return type(value) is str or type(value) is int
