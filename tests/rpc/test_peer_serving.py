import asyncio
import gc
import logging
import weakref
from typing import Any

import msgspec
import pytest

from promptkit_rpc.errors import PromptKitError
from promptkit_rpc.rpc.framing import Refused
from promptkit_rpc.rpc.peer import Call
from tests.support.peers import Lab, fixed, turns

SECRET = "a secret in /some/path"


class Gates:
    """Handlers that wait until they are let go, and note how they ended."""

    def __init__(self) -> None:
        self.events: dict[Any, asyncio.Event] = {}
        self.ended: list[tuple[Any, str]] = []

    async def wait(self, params: dict[str, Any], call: Call) -> Any:
        gate = self.events[call.id] = asyncio.Event()
        try:
            with call.signal.scope():
                await gate.wait()
        except PromptKitError as error:
            self.ended.append((call.id, error.message))
            raise
        return params


async def echo(params: dict[str, Any], _call: Call) -> Any:
    return params


async def test_a_result_is_answered_inline_and_an_awaitable_as_a_task() -> None:
    """R-20: a synchronous result needs no turn of the loop."""
    lab = Lab({"now": lambda params, _: params, "later": echo})
    lab.ask(1, "later", {"a": 1})
    lab.ask(2, "now", {"b": 2})
    assert lab.sent == [{"jsonrpc": "2.0", "id": 2, "result": {"b": 2}}]
    assert (await lab.answer(1))["result"] == {"a": 1}


async def test_a_future_is_an_awaitable_result_too() -> None:
    """R-20."""
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    lab = Lab({"future": fixed(future)})
    lab.ask(1, "future")
    future.set_result("done")
    assert (await lab.answer(1))["result"] == "done"


async def test_an_unknown_method_is_an_error_and_an_unknown_notification_is_ignored() -> None:
    """X-03."""
    lab = Lab()
    lab.ask(1, "no/such")
    lab.tell("no/such", {})
    lab.tell("$/whatever", {"a": 1})
    (sent,) = lab.sent
    assert (sent["id"], sent["error"]["code"]) == (1, -32601)


async def test_a_slow_request_delays_nothing() -> None:
    """R-20: other requests and a cancel are served while one runs."""
    gates = Gates()
    lab = Lab({"wait": gates.wait, "echo": echo})
    lab.ask("slow", "wait")
    lab.ask("other", "wait")
    await turns()
    lab.ask("quick", "echo")
    assert (await lab.answer("quick"))["result"] == {}
    lab.tell("$/cancelRequest", {"id": "slow"})
    assert (await lab.answer("slow"))["error"]["code"] == -32800
    gates.events["other"].set()
    assert (await lab.answer("other"))["result"] == {}


async def test_1_and_the_string_1_are_two_requests() -> None:
    """R-04: in flight together, cancelled apart."""
    gates = Gates()
    lab = Lab({"wait": gates.wait})
    for ident in (1, "1", 0, ""):
        lab.ask(ident, "wait")
    await turns()
    lab.tell("$/cancelRequest", {"id": "1"})
    lab.tell("$/cancelRequest", {"id": 0})
    assert (await lab.answer("1"))["error"]["code"] == -32800
    assert (await lab.answer(0))["error"]["code"] == -32800
    gates.events[1].set()
    gates.events[""].set()
    assert (await lab.answer(1))["result"] == {}
    assert (await lab.answer(""))["result"] == {}


async def test_an_id_in_flight_is_refused_and_the_first_goes_on() -> None:
    """X-07: and keeps its cancel. Once answered the id is free again."""
    gates = Gates()
    lab = Lab({"wait": gates.wait, "echo": echo})
    lab.ask(1, "wait")
    await turns()
    lab.ask(1, "echo")
    assert lab.last["error"] == {
        "code": -32600,
        "message": "a request with this id is in flight",
    }
    lab.tell("$/cancelRequest", {"id": 1})
    await turns()
    assert [a["error"]["code"] for a in lab.answers(1)] == [-32600, -32800]
    lab.ask(1, "echo", {"again": 1})
    await turns()
    assert lab.last["result"] == {"again": 1}


async def test_cancelling_twice_late_or_an_unknown_id_is_harmless() -> None:
    """X-07."""
    gates = Gates()
    lab = Lab({"wait": gates.wait})
    lab.ask(1, "wait")
    await turns()
    idents: list[Any] = [1, 1, 2, "1", None, 1.0, True, [], {}]
    for ident in idents:
        lab.tell("$/cancelRequest", {"id": ident})
    lab.tell("$/cancelRequest", {})
    await lab.answer(1)
    lab.tell("$/cancelRequest", {"id": 1})
    await turns()
    assert gates.ended == [(1, "cancelled by the client")]
    assert len(lab.sent) == 1


async def test_true_is_not_the_id_1() -> None:
    """R-04: equal in Python, not in JSON."""
    gates = Gates()
    lab = Lab({"wait": gates.wait})
    lab.ask(1, "wait")
    await turns()
    lab.tell("$/cancelRequest", {"id": True})
    lab.tell("$/cancelRequest", {"id": 1.0})
    lab.tell("window/workDoneProgress/cancel", {"token": True})
    await turns()
    assert lab.sent == []
    gates.events[1].set()
    await lab.answer(1)


@pytest.mark.parametrize("token", ["t", 0, 7])
async def test_a_work_done_token_cancels_its_request(token: Any) -> None:
    """X-07: for clients that cannot see ids."""
    gates = Gates()
    lab = Lab({"wait": gates.wait})
    lab.ask(1, "wait", {"workDoneToken": token})
    lab.ask(2, "wait", {"workDoneToken": str(token) + "x"})
    lab.ask(3, "wait", {"workDoneToken": {"no": "token"}})
    await turns()
    for _ in range(2):
        lab.tell("window/workDoneProgress/cancel", {"token": token})
    lab.tell("window/workDoneProgress/cancel", {"token": {"no": "token"}})
    lab.tell("window/workDoneProgress/cancel", {})
    assert (await lab.answer(1))["error"]["code"] == -32800
    assert gates.ended == [(1, "cancelled by the client")]
    await turns()
    assert len(lab.sent) == 1
    for ident in (2, 3):
        gates.events[ident].set()
        await lab.answer(ident)


async def test_thirty_queued_requests_settle_when_cancelled_at_once_and_the_slow_one_finishes() -> (
    None
):
    """R-11: none of the thirty comes to its work."""
    lock, gate = asyncio.Lock(), asyncio.Event()
    worked: list[Any] = []

    async def run(_params: dict[str, Any], call: Call) -> str:
        with call.signal.scope():
            async with lock:
                worked.append(call.id)
                await gate.wait()
        return "done"

    lab = Lab({"run": run})
    for ident in range(31):
        lab.ask(ident, "run")
    await turns()
    for ident in range(1, 31):
        lab.tell("$/cancelRequest", {"id": ident})
    codes = [(await lab.answer(ident))["error"]["code"] for ident in range(1, 31)]
    assert codes == [-32800] * 30
    gate.set()
    assert (await lab.answer(0))["result"] == "done"
    assert worked == [0]


async def test_a_cancel_that_comes_with_its_request_is_seen() -> None:
    """R-11: before the handler has begun."""
    gates = Gates()
    lab = Lab({"wait": gates.wait})
    lab.ask(1, "wait")
    lab.tell("$/cancelRequest", {"id": 1})
    assert (await lab.answer(1))["error"] == {
        "code": -32800,
        "message": "cancelled by the client",
        "data": {"kind": "cancelled", "retryable": False},
    }
    assert gates.ended == [(1, "cancelled by the client")]


async def test_a_result_that_is_complete_when_cancelled_is_answered() -> None:
    """X-07: a cancel is a wish to the handler, and never throws an answer away."""
    started = asyncio.Event()

    async def stubborn(_params: dict[str, Any], call: Call) -> str:
        started.set()
        cancelled = asyncio.Event()
        call.signal.on_cancel(cancelled.set)
        await cancelled.wait()
        return "kept"

    lab = Lab({"stubborn": stubborn})
    lab.ask(1, "stubborn")
    await started.wait()
    lab.tell("$/cancelRequest", {"id": 1})
    assert (await lab.answer(1))["result"] == "kept"


async def test_encoded_parts_go_into_a_result_as_they_are() -> None:
    """OWN-7: history is spliced in, not encoded again."""
    lab = Lab({"raw": fixed({"messages": [msgspec.Raw(b'{"n":1e2}'), 2]})})
    lab.ask(1, "raw")
    assert lab.kept.bodies == [b'{"jsonrpc":"2.0","id":1,"result":{"messages":[{"n":1e2},2]}}']


async def test_a_notification_is_never_answered_even_if_its_receiver_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """SEC-4."""
    heard: list[Any] = []

    def receive(params: dict[str, Any]) -> None:
        heard.append(params)
        raise ValueError(SECRET)

    lab = Lab(notifications={"hear": receive})
    lab.tell("hear", {"a": 1})
    await turns()
    assert heard == [{"a": 1}]
    assert lab.sent == []
    assert "hear raised ValueError" in caplog.text
    assert SECRET not in caplog.text


async def test_a_refused_body_is_answered_under_the_id_in_its_head() -> None:
    """R-14."""
    lab = Lab()
    lab.peer.receive(Refused(b'{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":"', "too large"))
    lab.peer.receive(Refused(b"?", "too large"))
    assert [(m["id"], m["error"]["message"]) for m in lab.sent] == [
        (9, "too large"),
        (None, "too large"),
    ]


async def test_nothing_of_a_served_message_is_kept() -> None:
    """X-07: no leak per request or per notification."""

    class Thing(list[int]):
        pass

    alive: list[weakref.ref[Thing]] = []

    def note(*_: Any) -> Any:
        thing = Thing()
        alive.append(weakref.ref(thing))
        return thing

    async def note_later(*_: Any) -> Any:
        return note()

    lab = Lab({"now": note, "later": note_later}, {"hear": lambda _: None})
    for ident in range(50):
        lab.ask(ident, "now")
        lab.ask(-1 - ident, "later")
        lab.tell("hear", {"n": ident})
        await turns(3)
    gc.collect()
    assert len(alive) == 100
    assert [ref for ref in alive if ref() is not None] == []
    assert lab.peer.active == 0


async def test_what_is_said_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """SEC-1: no payload in the log, not at its most talkative."""
    caplog.set_level(logging.DEBUG, logger="promptkit_rpc")
    lab = Lab({"echo": echo})
    lab.ask(1, "echo", {"key": "canary"})
    await lab.answer(1)
    lab.give({"jsonrpc": "2.0", "id": 99, "result": "canary"})
    lab.give(b'{"canary":')
    assert "canary" not in caplog.text
