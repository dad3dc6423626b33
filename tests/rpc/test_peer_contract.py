"""What holds for a client in the same process holds for one on pipes, and the other way round."""

import asyncio
from typing import Any

import pytest

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.errors import Cancelled
from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.peer import Call, Peer
from tests.support.wire import WAYS, Way

pytestmark = pytest.mark.parametrize("way", WAYS)


async def failure(client: Peer, method: str, params: Any = None) -> RpcError:
    with pytest.raises(RpcError) as caught:
        await client.request(method, params or {})
    return caught.value


async def test_values_come_back_as_they_went(way: Way) -> None:
    """R-04, R-18: any key, any Unicode, integers to the digit, null kept."""
    value = {"my-key": {"jsonrpc": "1.0", "": None}, "é\u2028\0": [10**40, -0.5, True, "𝄞\r\n"]}
    async with way() as client:
        assert await client.request("fake/echo", value) == value
        assert await client.request("fake/later", value) == value


async def test_errors_have_their_codes(way: Way) -> None:
    """X-03, X-08."""
    async with way() as client:
        assert (await failure(client, "no/such")).code == -32601
        assert (await failure(client, "initialize")).code == -32600
        assert (await failure(client, "fake/echo", [1])).code == -32602


async def test_a_slow_request_delays_neither_others_nor_its_cancel(way: Way) -> None:
    """R-20."""
    async with way() as client:
        signal = CancelSignal()
        slow = asyncio.create_task(client.request("fake/wait", {}, signal))
        other = asyncio.create_task(client.request("fake/wait", {"n": 2}))
        assert await client.request("fake/echo", {"n": 1}) == {"n": 1}
        signal.cancel()
        with pytest.raises(Cancelled):
            await slow
        await client.request("fake/release", {})
        assert await other == {"n": 2}
        assert (await client.request("fake/status", {}))["active"] == 0


async def test_a_callback_may_run_more_requests_before_it_answers(way: Way) -> None:
    """R-20: on the same connection, with cancels and other requests between."""

    async def ask(params: dict[str, Any], call: Call) -> Any:
        nested = await call.peer.request("fake/later", {"nested": params["q"]})
        return {"said": nested}

    async with way({"client/ask": ask}) as client:
        answers = await asyncio.gather(*(client.request("fake/ask", {"q": n}) for n in range(5)))
    assert answers == [{"answer": {"said": {"nested": n}}} for n in range(5)]


async def test_the_clients_own_error_comes_back_unchanged(way: Way) -> None:
    """COO-7: code, message and data."""

    def ask(_params: dict[str, Any], _call: Call) -> Any:
        raise RpcError(4711, "no ☃", {"why": [1, None]})

    async with way({"client/ask": ask}) as client:
        error = await failure(client, "fake/ask")
    assert (error.code, error.message, error.data) == (4711, "no ☃", {"why": [1, None]})


async def test_a_cancelled_request_cancels_what_it_asked_the_client(way: Way) -> None:
    """X-07: the client's own cancel of our id does nothing."""
    asked: asyncio.Future[Call] = asyncio.get_running_loop().create_future()

    async def ask(_params: dict[str, Any], call: Call) -> None:
        asked.set_result(call)
        with call.signal.scope():
            await asyncio.Event().wait()

    async with way({"client/ask": ask}) as client:
        signal = CancelSignal()
        request = asyncio.create_task(client.request("fake/ask", {}, signal))
        call = await asked
        client.notify("$/cancelRequest", {"id": call.id})
        assert (await client.request("fake/status", {}))["active"] == 1
        assert not call.signal.cancelled
        signal.cancel()
        with pytest.raises(Cancelled):
            await request
        assert call.task
        await asyncio.wait([call.task])
        assert call.signal.cancelled


async def test_notifications_come_in_order_and_before_the_answer(way: Way) -> None:
    """OBS-1."""
    got: list[Any] = []
    async with way(notifications={"fake/piece": lambda params: got.append(params["number"])}) as c:
        await c.request("fake/stream", {"pieces": 50, "size": 1})
        assert got == list(range(50))


async def test_after_shutdown_requests_are_refused_and_the_ones_in_flight_answered(
    way: Way,
) -> None:
    """X-08."""
    heard = asyncio.Event()
    async with way(notifications={"fake/waiting": lambda _: heard.set()}) as client:
        signal = CancelSignal()
        slow = asyncio.create_task(client.request("fake/wait", {"announce": True}, signal))
        await heard.wait()
        assert await client.request("shutdown", {}) is None
        assert (await failure(client, "fake/echo")).code == -32600
        assert not slow.done()
        signal.cancel()
        with pytest.raises(Cancelled):
            await slow
