"""A server and its client in one process: the same messages as on a pipe, without the pipe."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

from promptkit_rpc.rpc.daemon import PATIENCE
from promptkit_rpc.rpc.errors import RpcError, to_error
from promptkit_rpc.rpc.lifecycle import Lifecycle, SessionFactory
from promptkit_rpc.rpc.peer import Handler, Peer, Receiver, Router, Table


@asynccontextmanager
async def connect(
    factory: SessionFactory,
    methods: Mapping[str, Handler] = MappingProxyType({}),
    notifications: Mapping[str, Receiver] = MappingProxyType({}),
    errors: Callable[[Exception], RpcError] = to_error,
) -> AsyncGenerator[Peer, None]:
    """The client's end of a new connection; `initialize` is the client's to send.

    Leaving the block, or `exit`, ends the connection: requests in flight are cancelled and
    answered, and the session is closed.

    Args:
        factory: makes the server's session.
        methods: what the client serves.
        notifications: what the client listens to.
        errors: makes the server's answer for what a handler raises.
    """
    left = asyncio.Event()
    lifecycle = Lifecycle(factory, lambda _: left.set())
    client, server = _pair(Table(methods, notifications), lifecycle, errors)

    async def end() -> None:
        await left.wait()
        await server.settle(0.0, PATIENCE)
        await lifecycle.close()
        client.lose()

    ending = asyncio.create_task(end())
    try:
        yield client
    finally:
        left.set()
        await ending


class _Wire:
    """Carries bodies to the other end in the loop's next turn, however many there are."""

    def __init__(self) -> None:
        self.to: Peer | None = None
        self._loop = asyncio.get_running_loop()

    def send(self, body: bytes, *, last: bool = False) -> None:
        """Delivers a body."""
        del last
        if self.to is not None:
            self._loop.call_soon(self.to.receive, body)

    def room(self) -> Awaitable[None] | None:
        """There always is."""
        return None


def _pair(
    client_side: Router, server_side: Router, errors: Callable[[Exception], RpcError]
) -> tuple[Peer, Peer]:
    up, down = _Wire(), _Wire()
    client, server = Peer(up, client_side), Peer(down, server_side, errors)
    up.to, down.to = server, client
    return client, server
