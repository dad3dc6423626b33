"""The daemon as a subprocess, and the client that end-to-end tests drive it with.

It speaks the wire by itself, strictly, and shares no code with the program.

    async with Daemon(workspace.root) as d:
        result = await d.request("promptkit/run", {"promptId": "ask", "observe": "t"})
        events = d.notifications("promptkit/observation")

        d.on("promptkit/coordinator/next", lambda call: {"action": "stop"})   # answered at once
        coordinate = d.start("promptkit/coordinate", {...})                   # not awaited yet
        await coordinate.cancel()
        await coordinate

        call = await d.incoming("promptkit/coordinator/next")                 # answered by hand
        await call.answer({"action": "stop"})

A frame that is not exactly one, a traceback on stderr, a handler that raises, or a bad exit code
fails the test at the latest when the block ends. `RawDaemon` has no client: bytes in, bytes out.
"""

import asyncio
import contextlib
import inspect
import json
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, Self

from tests.support.frames import NOTHING, frame, read_frame
from tests.support.process import RawDaemon

Json = Any
BOUND = 60.0
"""Seconds that anything may take before a test fails: far above what is ever needed."""

Handler = Callable[[Json], Awaitable[Json] | Json]

REQUEST_CANCELLED = -32800


class RpcError(Exception):
    """An error answer, received, or to be given by a handler that raises it."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    @property
    def kind(self) -> str | None:
        """`data.kind`, where there is one."""
        match self.data:
            case {"kind": str(kind)}:
                return kind
            case _:
                return None


class Outgoing:
    """A request under way; await it for its result or its `RpcError`, once or more often."""

    def __init__(self, daemon: "Daemon", request_id: Json) -> None:
        self.id = request_id
        self._daemon = daemon
        self.answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Generator[Any, None, Json]:
        return self._bounded().__await__()

    async def _bounded(self) -> Json:
        async with asyncio.timeout(BOUND):
            return await asyncio.shield(self.answer)

    async def settled(self) -> None:
        """Waits until it is answered, whatever the answer."""
        with contextlib.suppress(RpcError):
            await self

    def fail(self, error: Exception) -> None:
        """Settles it with an error, which nobody need await."""
        self.answer.set_exception(error)
        self.answer.exception()

    @property
    def done(self) -> bool:
        """Whether it was answered."""
        return self.answer.done()

    async def cancel(self) -> None:
        """Sends `$/cancelRequest`; the answer is still to be awaited."""
        await self._daemon.notify("$/cancelRequest", {"id": self.id})


class Incoming:
    """A request of the daemon's that the test answers by hand."""

    def __init__(self, daemon: "Daemon", message: Json) -> None:
        self._daemon = daemon
        self.id: Json = message["id"]
        self.method: str = message["method"]
        self.params: Json = message.get("params")
        self.cancelled = asyncio.Event()
        """Set when the daemon cancels it."""

    async def answer(self, result: Json) -> None:
        """Answers with a result."""
        await self._daemon.send({"jsonrpc": "2.0", "id": self.id, "result": result})

    async def fail(self, code: int, message: str, data: Json = NOTHING) -> None:
        """Answers with an error; without data there is no such member."""
        error = {"code": code, "message": message}
        if data is not NOTHING:
            error["data"] = data
        await self._daemon.send({"jsonrpc": "2.0", "id": self.id, "error": error})


class Daemon(RawDaemon):
    """A started daemon with a client attached; takes what `RawDaemon` takes, and more.

    Args:
        capabilities: the client's, for `initialize`.
        options: `initializationOptions.promptkit`.
        greet: False leaves `initialize` to the test.
    """

    def __init__(
        self,
        root: Path | None = None,
        *,
        capabilities: Json = NOTHING,
        options: Json = NOTHING,
        greet: bool = True,
        **process: Any,
    ) -> None:
        super().__init__(root, **process)
        self._capabilities: Json = {} if capabilities is NOTHING else capabilities
        self._options = options
        self._greet = greet
        self._ids = iter(range(1, 1 << 31))
        self._pending: dict[str, Outgoing] = {}
        self._open: dict[str, tuple[Incoming, asyncio.Task[None] | None]] = {}
        self._handlers: dict[str, Handler] = {}
        self._queues: defaultdict[str, asyncio.Queue[Incoming]] = defaultdict(asyncio.Queue)
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Condition()
        self._reader: asyncio.Task[None] | None = None
        self._end: Exception | None = None
        self.capabilities: Json = None
        self.log: list[Json] = []
        """Every message received, in order: to compare who came before whom."""
        self.strays: list[Json] = []
        """Answers to no request of this client, such as those to abuse; id null included."""
        self.faults: list[BaseException] = []
        """What went wrong on the client's side; raised when the block ends."""

    async def __aenter__(self) -> Self:
        await self.launch()
        self._reader = asyncio.create_task(self._read())
        if self._greet:
            try:
                await self.initialize()
            except BaseException:
                await self.__aexit__(RuntimeError)
                raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None = None, *rest: object) -> None:
        try:
            if kind is None and self.running:
                assert await self.close() == 0, self.stderr
        finally:
            await self.kill()
            if self._reader is not None:
                await self._reader
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if kind is None:
            assert "Traceback (most recent call last)" not in self.stderr, self.stderr
            if self.faults:
                raise self.faults[0]

    # Life cycle

    async def initialize(self, **more: Json) -> Json:
        """`initialize` and `initialized`; answers the initialize result."""
        params: Json = {
            "processId": os.getpid(),
            "rootUri": self.root.as_uri() if self.root else None,
            "capabilities": self._capabilities,
            **more,
        }
        if self._options is not NOTHING:
            params["initializationOptions"] = {"promptkit": self._options}
        result = await self.request("initialize", params)
        self.capabilities = result["capabilities"]
        await self.notify("initialized", {})
        return result

    async def close(self) -> int:
        """`shutdown` and `exit`; answers the exit code."""
        with contextlib.suppress(ConnectionError):
            await self.request("shutdown")
            await self.notify("exit")
        return await self.wait()

    # Client to daemon

    def start(self, method: str, params: Json = NOTHING, *, request_id: Json = NOTHING) -> Outgoing:
        """Sends a request at once; await what it returns for the answer."""
        call = self.expect(next(self._ids) if request_id is NOTHING else request_id)
        message = {"jsonrpc": "2.0", "id": call.id, "method": method}
        if params is not NOTHING:
            message["params"] = params
        if not call.done:
            self.put(frame(message))  # not awaited: what is sent next comes after it
        return call

    def expect(self, request_id: Json) -> Outgoing:
        """The answer to come to a request that the test itself writes after this."""
        call = Outgoing(self, request_id)
        if self._end is not None:
            call.fail(self._end)
        else:
            self._pending[_key(call.id)] = call
        return call

    async def request(self, method: str, params: Json = NOTHING) -> Json:
        """Sends a request and answers its result.

        Raises:
            RpcError: the answer is an error.
            ConnectionError: the daemon ended first.
        """
        return await self.start(method, params)

    async def refused(self, method: str, params: Json = NOTHING) -> RpcError:
        """Sends a request that must be answered with an error, and answers the error."""
        try:
            result = await self.request(method, params)
        except RpcError as error:
            return error
        raise AssertionError(f"{method} was not refused but answered {result!r}")

    async def notify(self, method: str, params: Json = NOTHING) -> None:
        """Sends a notification."""
        message: Json = {"jsonrpc": "2.0", "method": method}
        if params is not NOTHING:
            message["params"] = params
        await self.send(message)

    async def send(self, message: Json) -> None:
        """Sends any JSON value as one frame."""
        await self.write(frame(message))

    # Daemon to client

    def on(self, method: str, handler: Handler) -> None:
        """Answers the daemon's requests of this method with what the handler makes of the params.

        The handler may be async and may itself make requests; what it raises as `RpcError` is the
        answer. When the daemon cancels the request, the handler is cancelled.
        """
        self._handlers[method] = handler

    def off(self, method: str) -> None:
        """Takes the handler away again; requests are answered by hand."""
        self._handlers.pop(method, None)

    def unanswered(self, method: str) -> int:
        """How many requests of a method wait to be answered by hand."""
        return self._queues[method].qsize()

    async def incoming(self, method: str) -> Incoming:
        """The next request of a method that no handler takes, to be answered by hand."""
        async with asyncio.timeout(BOUND):
            return await self._queues[method].get()

    def notifications(self, method: str) -> list[Json]:
        """The params of every notification of this method so far, in order."""
        return [m.get("params") for m in self.log if m.get("method") == method and "id" not in m]

    async def notification(
        self, method: str, where: Callable[[Json], bool] = lambda _: True
    ) -> Json:
        """Waits until a notification that fits has come, and answers its params."""
        async with asyncio.timeout(BOUND), self._news:
            while True:
                for params in self.notifications(method):
                    if where(params):
                        return params
                await self._news.wait()

    # The reader

    async def _read(self) -> None:
        try:
            while (body := await read_frame(self)) is not None:
                message = json.loads(body)
                self.log.append(message)
                await self._dispatch(message)
                async with self._news:
                    self._news.notify_all()
        except Exception as fault:  # noqa: BLE001 - whatever it is, the test is told
            self.faults.append(fault)
            self._end = fault
        else:
            self._end = ConnectionError(f"the daemon closed its output\n{self.stderr[-2000:]}")
        for call in self._pending.values():
            call.fail(self._end)

    async def _dispatch(self, message: Json) -> None:
        assert message["jsonrpc"] == "2.0", message
        match message:
            case {"method": "$/cancelRequest", "params": {"id": cancelled}}:
                incoming, task = self._open.get(_key(cancelled), (None, None))
                if incoming:
                    incoming.cancelled.set()
                if task:
                    task.cancel()
            case {"method": str(method), "id": _}:
                self._receive(Incoming(self, message), self._handlers.get(method))
            case {"method": _}:
                pass
            case {"id": answered}:
                self._settle(self._pending.pop(_key(answered), None), message)
            case _:
                raise AssertionError(f"neither request, notification nor answer: {message!r}")

    def _receive(self, call: Incoming, handler: Handler | None) -> None:
        task = None
        if handler is None:
            self._queues[call.method].put_nowait(call)
        else:
            task = self._spawn(self._handle(call, handler))
        self._open[_key(call.id)] = (call, task)

    async def _handle(self, call: Incoming, handler: Handler) -> None:
        try:
            result = handler(call.params)
            if inspect.isawaitable(result):
                result = await result
        except asyncio.CancelledError:
            await call.fail(REQUEST_CANCELLED, "cancelled")
        except RpcError as error:
            await call.fail(error.code, error.message, error.data)
        except Exception as fault:  # noqa: BLE001 - a failed assertion in a handler fails the test
            self.faults.append(fault)
            await call.fail(-32603, f"the test's handler raised {fault!r}")
        else:
            await call.answer(result)

    def _settle(self, call: Outgoing | None, message: Json) -> None:
        if call is None:
            self.strays.append(message)
        elif "error" in message:
            assert "result" not in message, message
            error = message["error"]
            call.fail(RpcError(error["code"], error["message"], error.get("data")))
        else:
            call.answer.set_result(message["result"])

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _key(request_id: Json) -> str:
    # 1, "1" and 1.0 are three ids.
    return json.dumps(request_id)
