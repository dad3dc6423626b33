"""A real session and its client in one process, over the in-process connection.

    async with attached(workspace.root) as client:
        result = await client.request("promptkit/run", {"promptId": "ask"})
        error = await client.refused("promptkit/run", {"promptId": "nowhere"})
        client.on("promptkit/coordinator/next", lambda params, call: {"action": "stop"})

Every message passes through JSON and is held to the schema. A handler gets `(params, call)`, as the
peer's handlers do.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from promptkit_rpc import system
from promptkit_rpc.errors import Cancelled
from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.hello import Hello
from promptkit_rpc.rpc.local import connect
from promptkit_rpc.rpc.peer import Call, Handler, Peer
from promptkit_rpc.rpc.session import MakeServices, Session
from tests.support.contract import check_error, check_params, check_result
from tests.support.workspace import Workspace

BOUND = 10.0
"""No wait in a test is longer, in seconds."""


class Client:
    """The client's end: makes requests, serves the server's, keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        """Every notification and, as `("answer", result)`, every answer, in order."""
        self.faults: list[AssertionError] = []
        self.handlers: dict[str, Handler] = {}
        self.peer: Peer | None = None
        self.session: Session | None = None

    def on(self, method: str, handler: Callable[[Any, Call], Any]) -> None:
        """Serves a request of the server's."""
        self.handlers[method] = handler

    def answers(self, method: str, result: Any) -> None:
        """Answers a request of the server's with the same, always."""
        self.handlers[method] = lambda _params, _call: result

    async def request(self, method: str, params: Any = None) -> Any:
        """The result."""
        assert self.peer is not None
        async with asyncio.timeout(BOUND):
            result = await self.peer.request(method, {} if params is None else params)
        check_result(method, result)
        self.told.append(("answer", result))
        return result

    def start(self, method: str, params: Any = None) -> "asyncio.Task[Any]":
        """The request under way; it is sent in the loop's next turn."""
        return asyncio.create_task(self.request(method, params))

    async def status(self, where: Callable[[Any], bool]) -> Any:
        """`promptkit/session/status`, asked again until it is as said."""
        async with asyncio.timeout(BOUND):
            while not where(status := await self.request("promptkit/session/status")):
                pass
        return status

    def cancel(self, work_done_token: Any) -> None:
        """Cancels the request with this token; it is still answered."""
        self.notify("window/workDoneProgress/cancel", {"token": work_done_token})

    async def refused(self, method: str, params: Any = None) -> RpcError:
        """The error of a request that must fail."""
        return await self.refused_by(self.start(method, params))

    async def answered(self, method: str, params: Any = None) -> Any:
        """The result, or the error, which must not be an internal one."""
        result: Any = None
        try:
            result = await self.request(method, params)
        except RpcError as error:
            result = error
        if isinstance(result, RpcError):
            check_error(result.data)
            assert result.data["kind"] != "internal"
        return result

    async def refused_by(self, running: "asyncio.Task[Any]") -> RpcError:
        """The error of a request under way that must fail."""
        try:
            result = await running
        except RpcError as error:
            if error.code in (-32602, -32803, -32800):
                check_error(error.data)
            return error
        raise AssertionError(f"it was not refused but answered {result!r}")

    def notify(self, method: str, params: Any) -> None:
        """Tells the server something."""
        assert self.peer is not None
        self.peer.notify(method, params)

    def check(self, method: str, params: Any) -> None:
        """Notes what the schema does not allow; it is raised when the block ends."""
        try:
            check_params(method, params)
        except AssertionError as fault:
            self.faults.append(fault)

    def hear(self, method: str) -> Callable[[dict[str, Any]], None]:
        """What keeps a notification."""

        def receive(params: dict[str, Any]) -> None:
            self.check(method, params)
            self.told.append((method, params))

        return receive

    def notifications(self, method: str) -> list[Any]:
        """The params of every notification of this method so far."""
        return [params for name, params in self.told if name == method]

    def events(self, token: Any) -> list[Any]:
        """The observations under a token so far."""
        told = self.notifications("promptkit/observation")
        return [params for params in told if params["token"] == token]

    def progress(self, token: Any) -> list[Any]:
        """The values of `$/progress` under a token so far."""
        told = self.notifications("$/progress")
        return [params["value"] for params in told if params["token"] == token]


SERVED = ("promptkit/coordinator/next", "promptkit/backend/generate", "promptkit/credential/get")


@asynccontextmanager
async def attached(
    root: Path,
    *,
    options: dict[str, Any] | None = None,
    services: MakeServices = system.services,
) -> AsyncGenerator[Client, None]:
    """A client of a new session on a workspace; `options` are ours inside `initialize`."""
    client = Client()

    def make(peer: Peer, hello: Hello) -> Session:
        client.session = Session(peer, hello, services)
        return client.session

    def serve(method: str) -> Handler:
        def handler(params: dict[str, Any], call: Call) -> Awaitable[Any] | Any:
            client.check(method, params)
            served = client.handlers.get(method)
            if served is None:
                raise RpcError(-32601, f"the test serves no {method}")
            return served(params, call)

        return handler

    methods = {method: serve(method) for method in SERVED}
    heard = {name: client.hear(name) for name in ("promptkit/observation", "$/progress")}
    async with connect(make, methods, heard) as client.peer:
        given = {"promptkit": options or {}}
        await client.peer.request(
            "initialize",
            {"processId": None, "rootUri": root.as_uri(), "initializationOptions": given},
        )
        yield client
        for fault in client.faults:
            raise fault


class Gate:
    """A generation that waits until it is opened, and counts how many have come to it."""

    def __init__(self) -> None:
        self.came = 0
        self.cancelled = 0
        self._open = asyncio.Event()
        self._changed = asyncio.Condition()

    async def __call__(self, params: Any, call: Call) -> Any:
        async with self._changed:
            self.came += 1
            self._changed.notify_all()
        try:
            with call.signal.scope():
                await self._open.wait()
        except Cancelled:
            async with self._changed:
                self.cancelled += 1
                self._changed.notify_all()
            raise
        return {"content": f"after {params['messages'][-1]['content']}"}

    async def reached(self, count: int = 1) -> None:
        """Waits until so many have come."""
        async with asyncio.timeout(BOUND), self._changed:
            await self._changed.wait_for(lambda: self.came >= count)

    async def given_up(self, count: int = 1) -> None:
        """Waits until so many were cancelled."""
        async with asyncio.timeout(BOUND), self._changed:
            await self._changed.wait_for(lambda: self.cancelled >= count)

    def open(self) -> None:
        """Lets all through, and those to come."""
        self._open.set()


def hosted(root: Path, **backend: Any) -> Workspace:
    """A workspace whose prompt `ask` sends `{{ text }}` to the client's own model."""
    return (
        Workspace(root)
        .settings(
            backends={"host": {"kind": "client", **backend}},
            profiles={"p": {"backend": "host", "model": "m"}},
        )
        .prompt("ask", "{{ text }}", profile="p")
    )
