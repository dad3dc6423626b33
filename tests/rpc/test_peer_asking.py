import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.errors import Cancelled, DeadlineExceeded
from promptkit_rpc.rpc.errors import ConnectionLost, RpcError
from promptkit_rpc.rpc.framing import Refused
from promptkit_rpc.rpc.peer import Call
from tests.support.peers import BOUND, Lab, turns


@asynccontextmanager
async def asking(
    lab: Lab, signal: CancelSignal | None = None
) -> AsyncGenerator[asyncio.Task[Any], None]:
    """A request under way, sent and not answered."""
    task = asyncio.create_task(lab.peer.request("client/ask", {"q": 1}, signal))
    await turns()
    async with asyncio.timeout(BOUND):
        yield task


async def test_a_request_is_sent_and_its_result_returned() -> None:
    """R-05, R-20."""
    lab = Lab()
    async with asking(lab) as task:
        (sent,) = lab.sent
        assert sent == {"jsonrpc": "2.0", "id": 1, "method": "client/ask", "params": {"q": 1}}
        lab.give({"jsonrpc": "2.0", "id": sent["id"], "result": {"a": None}})
        assert await task == {"a": None}


async def test_the_other_sides_error_comes_with_its_own_code_message_and_data() -> None:
    """COO-7."""
    lab = Lab()
    async with asking(lab) as task:
        error = {"code": 4711, "message": "no", "data": {"deep": [1, {"x": None}]}}
        lab.give({"jsonrpc": "2.0", "id": 1, "error": error})
        with pytest.raises(RpcError) as caught:
            await task
    assert (caught.value.code, caught.value.message) == (4711, "no")
    assert caught.value.data == {"deep": [1, {"x": None}]}


async def test_answers_may_come_in_any_order() -> None:
    """R-20."""
    lab = Lab()
    async with asking(lab) as first, asking(lab) as second:
        lab.give({"jsonrpc": "2.0", "id": 2, "result": "b"})
        lab.give({"jsonrpc": "2.0", "id": 1, "result": "a"})
        assert [await first, await second] == ["a", "b"]


@pytest.mark.parametrize(
    "stray",
    [
        {"jsonrpc": "2.0", "id": 999, "result": 1},
        {"jsonrpc": "2.0", "id": "1", "result": 1},
        {"jsonrpc": "2.0", "id": True, "result": 1},
        {"jsonrpc": "2.0", "id": 1.0, "result": 1},
        {"jsonrpc": "2.0", "id": None, "result": 1},
        {"jsonrpc": "2.0", "id": [1], "result": 1},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse error"}},
    ],
)
async def test_an_answer_to_no_request_is_logged_and_dropped(
    stray: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """R-07, X-07: what is pending is not touched."""
    lab = Lab()
    async with asking(lab) as task:
        lab.give(stray)
        await turns()
        assert "dropped" in caplog.text
        assert not task.done()
        assert len(lab.sent) == 1
        lab.give({"jsonrpc": "2.0", "id": 1, "result": "a"})
        assert await task == "a"


@pytest.mark.parametrize(
    "broken",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "x", "result": None},
        {"jsonrpc": "2.0", "id": 1, "result": 1, "error": {"code": 1, "message": "m"}},
        {"jsonrpc": "2.0", "id": 1},
        {"id": 1, "result": 1},
    ],
)
async def test_a_broken_answer_is_refused_and_the_request_stays_open(broken: Any) -> None:
    """R-07."""
    lab = Lab()
    async with asking(lab) as task:
        lab.give(broken)
        await turns()
        assert lab.last["error"]["code"] == -32600
        assert not task.done()
        lab.give({"jsonrpc": "2.0", "id": 1, "result": "a"})
        assert await task == "a"


async def test_an_answer_too_large_to_read_fails_its_request() -> None:
    """R-14: it will not come again."""
    lab = Lab()
    async with asking(lab) as task:
        lab.peer.receive(Refused(b'{"jsonrpc":"2.0","id":1,"result":"xxx', "too large"))
        with pytest.raises(RpcError, match="too large"):
            await task


async def test_the_ids_of_the_two_directions_never_meet() -> None:
    """X-07: a client's answer ends no request of its own, and its cancel cancels none of ours."""
    ended: list[str] = []

    async def ask(params: dict[str, Any], call: Call) -> Any:
        answer = await call.peer.request("client/ask", params, call.signal)
        ended.append("ask")
        return answer

    async def wait(_params: dict[str, Any], call: Call) -> None:
        with call.signal.scope():
            await asyncio.Event().wait()

    lab = Lab({"ask": ask, "wait": wait})
    lab.ask(7, "wait")
    lab.ask(5, "ask", {"q": 1})
    await turns()
    (callback,) = lab.sent
    assert callback["id"] == 1
    lab.give({"jsonrpc": "2.0", "id": 7, "result": 1})  # 7 is the client's own request
    lab.tell("$/cancelRequest", {"id": 1})  # 1 is ours, and the client has no such request
    await turns()
    assert ended == []
    lab.tell("$/cancelRequest", {"id": 7})
    assert (await lab.answer(7))["error"]["code"] == -32800
    lab.give({"jsonrpc": "2.0", "id": 1, "result": "still open"})
    assert (await lab.answer(5))["result"] == "still open"


async def test_the_same_number_may_be_in_flight_in_both_directions() -> None:
    """X-07, R-05."""

    async def ask(params: dict[str, Any], call: Call) -> Any:
        return await call.peer.request("client/ask", params, call.signal)

    lab = Lab({"ask": ask})
    lab.ask(1, "ask")
    await turns()
    assert lab.last["id"] == 1
    lab.give({"jsonrpc": "2.0", "id": 1, "result": "mine"})
    assert lab.peer.active == 1
    await turns()
    assert lab.answers(1)[-1]["result"] == "mine"


async def test_a_callback_may_ask_while_it_is_open() -> None:
    """R-20, ADM-3: the classic deadlock."""

    async def coordinate(params: dict[str, Any], call: Call) -> Any:
        return await call.peer.request("client/next", params, call.signal)

    async def run(_params: dict[str, Any], _call: Call) -> str:
        await asyncio.sleep(0)
        return "ran"

    lab = Lab({"coordinate": coordinate, "run": run})
    lab.ask(1, "coordinate")
    await turns()
    lab.ask(2, "run")
    nested = (await lab.answer(2))["result"]
    lab.give({"jsonrpc": "2.0", "id": 1, "result": {"saw": nested}})
    await turns()
    assert lab.last == {"jsonrpc": "2.0", "id": 1, "result": {"saw": "ran"}}


async def test_a_set_signal_cancels_at_the_other_side_and_raises_its_own_error() -> None:
    """COO-11: identity kept; a late answer is dropped quietly."""
    lab, signal, error = Lab(), CancelSignal(), DeadlineExceeded("time is up")
    async with asking(lab, signal) as task:
        signal.cancel(error)
        with pytest.raises(DeadlineExceeded) as caught:
            await task
    assert caught.value is error
    assert lab.last == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}


async def test_a_late_answer_is_dropped_quietly(caplog: pytest.LogCaptureFixture) -> None:
    """X-07: whatever it says, and however often."""
    caplog.set_level(logging.INFO, logger="promptkit_rpc")
    lab, signal = Lab(), CancelSignal()
    async with asking(lab, signal) as task:
        signal.cancel()
        lab.give({"jsonrpc": "2.0", "id": 1, "result": 1})
        with pytest.raises(Cancelled):
            await task
    lab.give({"jsonrpc": "2.0", "id": 1, "error": {"code": -32800, "message": "cancelled"}})
    assert caplog.text == ""
    assert len(lab.sent) == 2


async def test_an_answer_that_came_before_the_cancel_is_kept() -> None:
    """CAP-7."""
    lab, signal = Lab(), CancelSignal()
    async with asking(lab, signal) as task:
        lab.give({"jsonrpc": "2.0", "id": 1, "result": "paid for"})
        signal.cancel()
        assert await task == "paid for"
    assert len(lab.sent) == 1


async def test_nothing_is_asked_on_a_set_signal() -> None:
    """COO-10."""
    lab, signal = Lab(), CancelSignal()
    signal.cancel()
    with pytest.raises(Cancelled):
        await lab.peer.request("client/ask", {}, signal)
    assert lab.sent == []


async def test_a_time_limit_cancels_at_the_other_side() -> None:
    """RET-3: `callbackTimeoutMs` is such a limit."""
    lab = Lab()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await lab.peer.request("client/ask", {})
    assert [message["method"] for message in lab.sent] == ["client/ask", "$/cancelRequest"]


async def test_an_answer_to_a_request_whose_task_is_being_cancelled_is_dropped() -> None:
    """R-07: nothing stops the reader."""
    lab = Lab()
    async with asking(lab) as task:
        task.cancel()
        lab.give({"jsonrpc": "2.0", "id": 1, "result": 1})
        await asyncio.wait([task])
        assert task.cancelled()


async def test_a_lost_connection_fails_what_is_asked_and_what_is_asked_later() -> None:
    """COO-18."""
    lab = Lab()
    async with asking(lab) as task:
        lab.peer.lose()
        with pytest.raises(ConnectionLost, match="is gone"):
            await task
    with pytest.raises(ConnectionLost, match="is gone"):
        await lab.peer.request("client/ask", {})
    assert len(lab.sent) == 1


async def test_params_that_are_no_json_ask_nothing() -> None:
    """SEC-4."""
    lab = Lab()
    with pytest.raises(TypeError):
        await lab.peer.request("client/ask", {"a": object()})
    lab.peer.notify("note", {"a": 1})
    assert [message.get("id") for message in lab.sent] == [None]


@pytest.mark.parametrize("end", ["answer", "cancel", "lose"])
async def test_a_signal_keeps_nothing_of_requests_that_are_over(end: str) -> None:
    """OWN-4: a long coordination asks many times on one signal."""
    lab, signal = Lab(), CancelSignal()
    ends: dict[str, Callable[[], object]] = {
        "answer": lambda: lab.give({"jsonrpc": "2.0", "id": 1, "result": 1}),
        "cancel": signal.cancel,
        "lose": lab.peer.lose,
    }
    async with asking(lab, signal) as task:
        ends[end]()
        await asyncio.wait([task])
        task.exception()
    assert signal._callbacks == {}  # pyright: ignore[reportPrivateUsage]
    assert lab.peer._asked._open == {}  # pyright: ignore[reportPrivateUsage]
