"""The fake daemon over pipes, as raw bytes or with a client, and the same in this process.

async with fake() as daemon:                      # raw: bytes in, bytes out
    await daemon.write(frame({...}))

async with over_pipes() as client:                # a client peer on a process's pipes
async with in_process() as client:                # the same without a process
    await client.request("fake/echo", {})
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.local import connect
from promptkit_rpc.rpc.peer import Handler, Peer, Receiver, Table
from tests.support.fake_session import COMMAND, FakeSession
from tests.support.frames import frame
from tests.support.process import RawDaemon

PROJECT = Path(__file__).parents[2]
BOUND = 60.0
"""Seconds that a process may take for anything: far above what is ever needed."""

GREETING: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}
"""The least that `initialize` takes."""

NONE: Mapping[str, Any] = MappingProxyType({})


class Way(Protocol):
    """How a test gets a client; what the client serves goes in by name."""

    def __call__(
        self, methods: Mapping[str, Handler] = NONE, notifications: Mapping[str, Receiver] = NONE
    ) -> AbstractAsyncContextManager[Peer]: ...


class FakeDaemon(RawDaemon):
    """The fake daemon's process with a few words to drive it by hand."""

    async def ask(self, ident: Any, method: str, params: Any = None) -> None:
        """Writes a request."""
        await self.write(request(ident, method, params))

    async def tell(self, method: str, params: Any = None) -> None:
        """Writes a notification."""
        message: Any = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        await self.write(frame(message))

    async def next(self) -> Any:
        """The next message that comes."""
        body = await self.read_frame()
        assert body is not None, self.stderr
        return json.loads(body)

    async def call(self, ident: Any, method: str, params: Any = None) -> Any:
        """Asks, and returns the next message, which must answer it."""
        await self.ask(ident, method, params)
        answer = await self.next()
        assert answer["id"] == ident, answer
        return answer

    async def greet(self, **params: Any) -> Any:
        """Initializes; returns the result."""
        return (await self.call(0, "initialize", GREETING | params))["result"]


def request(ident: Any, method: str, params: Any = None) -> bytes:
    """A request's frame."""
    message: Any = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params or {}}
    return frame(message)


def fake(env: Mapping[str, str | None] = NONE, **options: Any) -> FakeDaemon:
    """The fake daemon, not yet started; takes the serve options."""
    return FakeDaemon(
        command=COMMAND, cwd=PROJECT, env={"FAKE_OPTIONS": json.dumps(options), **env}
    )


class _Pipe:
    """The client's outlet to a process."""

    def __init__(self, daemon: RawDaemon) -> None:
        self._daemon = daemon

    def send(self, body: bytes, *, last: bool = False) -> None:
        del last
        self._daemon.put(frame(body))

    def room(self) -> Awaitable[None] | None:
        return None


@asynccontextmanager
async def over_pipes(
    methods: Mapping[str, Handler] = NONE, notifications: Mapping[str, Receiver] = NONE
) -> AsyncGenerator[Peer, None]:
    """An initialized client of a fake daemon's process, which must end well with the block."""
    async with fake() as daemon, asyncio.timeout(BOUND):
        client = Peer(_Pipe(daemon), Table(methods, notifications))

        async def read() -> None:
            while (body := await daemon.read_frame()) is not None:
                client.receive(body)

        reading = asyncio.create_task(read())
        await client.request("initialize", GREETING | {"processId": os.getpid()})
        yield client
        with suppress(RpcError):  # the test may have said so itself
            await client.request("shutdown", {})
        client.notify("exit", {})
        assert await daemon.wait() == 0
        await reading
        assert "Traceback" not in daemon.stderr


@asynccontextmanager
async def in_process(
    methods: Mapping[str, Handler] = NONE, notifications: Mapping[str, Receiver] = NONE
) -> AsyncGenerator[Peer, None]:
    """An initialized client of a fake session in this process."""
    async with connect(FakeSession, methods, notifications) as client, asyncio.timeout(BOUND):
        await client.request("initialize", GREETING)
        yield client


WAYS: tuple[Way, ...] = (in_process, over_pipes)
