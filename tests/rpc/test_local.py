import asyncio

import pytest

from promptkit_rpc.rpc.errors import ConnectionLost, RpcError
from promptkit_rpc.rpc.hello import Hello
from promptkit_rpc.rpc.local import connect
from promptkit_rpc.rpc.peer import Peer
from tests.support.fake_session import FakeSession
from tests.support.peers import BOUND


class Sessions(list[FakeSession]):
    """Makes sessions and keeps them."""

    def make(self, peer: Peer, hello: Hello) -> FakeSession:
        self.append(FakeSession(peer, hello))
        return self[-1]


async def test_exit_ends_the_connection() -> None:
    """R-12: a request in flight is answered, the session closed, what is asked later fails."""
    sessions = Sessions()
    async with asyncio.timeout(BOUND), connect(sessions.make) as client:
        await client.request("initialize", {})
        slow = asyncio.create_task(client.request("fake/wait", {}))
        await client.request("fake/echo", {})
        client.notify("exit", {})
        with pytest.raises(RpcError) as caught:
            await slow
        assert caught.value.code == -32800
    assert sessions[0].closed
    with pytest.raises(ConnectionLost):
        await client.request("fake/echo", {})


async def test_leaving_the_block_ends_the_connection() -> None:
    """R-12."""
    sessions = Sessions()
    async with asyncio.timeout(BOUND), connect(sessions.make) as client:
        await client.request("initialize", {})
        slow = asyncio.create_task(client.request("fake/wait", {}))
        await client.request("fake/echo", {})
    with pytest.raises(RpcError):
        await slow
    assert sessions[0].closed


async def test_before_initialize_there_is_no_session() -> None:
    """X-08."""
    sessions = Sessions()
    async with asyncio.timeout(BOUND), connect(sessions.make) as client:
        with pytest.raises(RpcError) as caught:
            await client.request("fake/echo", {})
    assert caught.value.code == -32002
    assert sessions == []
