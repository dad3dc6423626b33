"""Coordinations and cancels on the running daemon, with gates instead of clocks.

Siblings tried beside each case: nonsense instead of an action, a request that continues elsewhere
(C-03, C-04); a cancel while a key is fetched, while waiting for a lease and for a permit, during a
repair, of a stream (C-05); a callback whose turn is cancelled, one with a time limit (C-09); errors
of the callback's, cancels among them (C-12).
"""

import asyncio
from typing import Any

import pytest

from tests.support.daemon import REQUEST_CANCELLED, Json, Outgoing, RpcError
from tests.support.provider import End, completion, refusal, respond
from tests.support.stage import (
    ANTHROPIC,
    GOOD,
    OPENAI,
    PLAIN,
    WAYS,
    Stage,
    Stages,
    Way,
    contract,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

NEXT = "promptkit/coordinator/next"
STOP: Json = {"action": "stop"}


def go_on(text: str = "on", **more: Json) -> Json:
    request: Json = {"promptId": "ask", "variables": {"text": text}, **more}
    return {"action": "continue", "request": request}


async def begun(stage: Stage) -> str:
    """A captured exchange to start from."""
    stage.play("start")
    return (await stage.run(capture=True)).result["runId"]


def coordinate(stage: Stage, start: str, turns: int, **more: Json) -> Outgoing:
    params: Json = {"exchange": start, "additionalTurns": turns, "engineId": stage.engine, **more}
    return stage.daemon.start("promptkit/coordinate", params)


async def failed(call: Outgoing) -> RpcError:
    with pytest.raises(RpcError) as caught:
        await call
    return caught.value


@pytest.mark.parametrize("way", PLAIN, ids=str)
async def test_no_capacity_is_held_while_the_application_works(stages: Stages, way: Way) -> None:
    """C-01: not even of one lease; callbacks that run on it too; then three at once."""
    stage = await stages(way, capacity=1)
    stage.provider.always(way.says("hi"))
    start = (await stage.run(capture=True)).result["runId"]

    async def drive(name: str, *, alone: bool) -> None:
        call = coordinate(stage, start, 2, coordinationId=name)
        for turn in range(3):
            asked = await stage.daemon.incoming(f"{NEXT}")
            load = await stage.load()
            assert load["leases"] <= (0 if alone else 1)
            assert (await stage.run()).result["content"] == "hi"
            if alone:
                assert asked.params["remainingTurns"] == 2 - turn
            await asked.answer(go_on() if turn < 2 else STOP)
        assert (await call)["outcome"] in ("stopped", "exhausted")

    await drive("alone", alone=True)
    before = len(stage.requests)
    taken = [coordinate(stage, start, 2, coordinationId=f"c{n}") for n in range(3)]

    async def serve(params: Json) -> Json:
        assert (await stage.run(f"in {params['coordinationId']}")).result["content"] == "hi"
        return go_on() if params["remainingTurns"] else STOP

    stage.daemon.on(NEXT, serve)
    try:
        for call in taken:
            assert await call == {"outcome": "stopped"}
    finally:
        stage.daemon.off(NEXT)
    assert len(stage.requests) - before == 3 * (2 + 3)
    assert (await stage.load())["leases"] == 0


@pytest.mark.parametrize(("budget", "callbacks"), [(1, 2), (0, 1), (3, 4)])
async def test_asking_for_more_than_the_budget_is_an_outcome(
    stages: Stages, budget: int, callbacks: int
) -> None:
    """C-03, C-12: not an error; no run is marked as failed, and each answer came once."""
    stage = await stages()
    start = await begun(stage)
    stage.provider.always(completion("turn"))
    token = f"exhausted{budget}"
    group = (await stage.daemon.request("promptkit/group/create"))["groupId"]
    call = coordinate(stage, start, budget, observe=token, groups=[group])
    given: list[Json] = []
    for index in range(callbacks):
        asked = await stage.next_call()
        assert (asked.params["deliveryIndex"], asked.params["remainingTurns"]) == (
            index,
            budget - index,
        )
        given.append(asked.params.get("result"))
        await asked.answer(go_on())
    assert await call == {"outcome": "exhausted"}
    assert given[0] is None
    assert len({result["runId"] for result in given[1:]}) == budget
    assert len(stage.requests) == 1 + budget
    told = stage.daemon.notifications("promptkit/observation")
    mine = [one["event"] for one in told if one["token"] == token]
    ends = [event for event in mine if event["kind"] == "runFinished"]
    assert [event["outcome"] for event in ends] == ["completed"] * budget
    assert not any("error" in event for event in mine)
    snapshot = await stage.daemon.request("promptkit/group/snapshot", {"groupId": group})
    assert (len(snapshot["runs"]), snapshot["complete"]) == (budget, True)


async def test_stopping_after_the_last_answer_is_no_exhaustion(stages: Stages) -> None:
    """C-04: and asking for a third after it is, with both answers delivered."""
    stage = await stages()
    start = await begun(stage)
    stage.provider.always(completion("turn"))
    for last, outcome in ((STOP, "stopped"), (go_on(), "exhausted")):
        call = coordinate(stage, start, 2)
        delivered: list[str] = []
        for action in (go_on("1"), go_on("2"), last):
            asked = await stage.next_call()
            delivered += [asked.params["result"]["runId"]] if "result" in asked.params else []
            await asked.answer(action)
        assert await call == {"outcome": outcome}
        assert len(set(delivered)) == 2


BAD_TURNS: list[tuple[Json, str]] = [
    (go_on("", variables={}), "templateFailed"),
    (go_on("x", promptId="nowhere"), "promptNotFound"),
    (go_on("x", profile="nobody"), "profileNotFound"),
    (go_on("x", groups=["no"]), "groupNotFound"),
    (go_on("x", engineId="engine-0"), "engineNotFound"),
    (go_on("fail"), "generationFailed"),
]


@pytest.mark.parametrize(("action", "kind"), BAD_TURNS)
async def test_a_turn_that_fails_ends_it_with_that_error(
    stages: Stages, action: Json, kind: str
) -> None:
    """C-04: at preparation or in transport; nothing is asked or refunded after it."""
    stage = await stages(retry={"attempts": 1})
    start = await begun(stage)
    stage.play("one")
    call = coordinate(stage, start, 2)
    await (await stage.next_call()).answer(go_on("1"))
    asked = await stage.next_call()
    assert asked.params["result"]["content"] == "one"
    stage.play(refusal(500, {"error": {"message": "down"}}))
    await asked.answer(action)
    assert (await failed(call)).kind == kind
    await stage.daemon.request("promptkit/session/status")
    assert not stage.daemon.unanswered(NEXT)
    assert len(stage.requests) == (3 if kind == "generationFailed" else 2)


@pytest.mark.parametrize(
    "action",
    [None, 5, "stop", [1], {}, {"action": "again"}, {"action": "continue"},
     {"action": "continue", "request": {"promptId": 5}}, {"action": "stop", "request": {}},
     go_on("x", continueFrom="run-x")],
)  # fmt: skip
async def test_an_answer_that_is_no_action_ends_it(stages: Stages, action: Json) -> None:
    """C-03: nothing is assumed, and the branch goes nowhere else."""
    stage = await stages()
    call = coordinate(stage, await begun(stage), 2)
    await (await stage.next_call()).answer(action)
    assert (await failed(call)).kind == "callbackInvalid"
    assert len(stage.requests) == 1


async def cancelled(stage: Stage, run: Any, sent: int) -> None:
    """Cancels a run: one answer, -32800, a terminal event, all given back, nothing sent after."""
    await run.cancel()
    await run.cancel()
    ran = await run.ran()
    assert ran.failure.code == REQUEST_CANCELLED
    assert ran.finished["outcome"] == "cancelled"
    load = await stage.load()
    assert (load["leases"], load["waiting"], load["generating"]) == (0, 0, 0)
    assert len(stage.requests) == sent


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_cancelled_run_makes_no_further_request(stages: Stages, way: Way) -> None:
    """C-05: before the head of an answer, in its body, between attempts, and in a repair."""
    stage = await stages(way, retry={"attempts": 5, "baseDelay": 0, "maxDelay": 60})
    whole = way.says("whole")
    gate = asyncio.Event()
    sent = 0
    for script in (
        (gate, *whole),
        (whole[0], gate, *whole[1:]),
        (*respond(body=b'{"choi', length=500), gate, End.CLOSE),
    ):
        stage.play(script)
        run = stage.start()
        sent += 1
        await stage.provider.arrived(sent)
        await cancelled(stage, run, sent)
        await stage.provider.hung_up(sent)
    stage.play(refusal(429, {}, ("Retry-After", "50")))
    run = stage.start()
    await run.event("retryScheduled")
    sent += 1
    await cancelled(stage, run, sent)
    stage.play("no", (gate, *whole))
    run = stage.start(output=contract(repairs=3))
    await run.event("repairStarted")
    sent += 2
    await stage.provider.arrived(sent)
    await cancelled(stage, run, sent)
    stage.play(GOOD)
    assert (await stage.run(output=contract())).status == "valid"


async def test_a_run_is_cancelled_while_it_connects(stages: Stages) -> None:
    """C-05: the other side accepts, and says nothing of TLS."""
    stage = await stages()
    talking = asyncio.Event()
    silent = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        talking.set()
        while await reader.read(1 << 16):
            pass
        silent.set()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for way in (OPENAI, ANTHROPIC):
        stage.configure(
            kind=way.kind, baseUrl=f"https://127.0.0.1:{port}", retry={"attempts": 5, "maxDelay": 0}
        )
        run = stage.start()
        async with asyncio.timeout(10):
            await talking.wait()
        await cancelled(stage, run, 0)
        async with asyncio.timeout(10):
            await silent.wait()
        talking.clear()
        silent.clear()
    server.close()
    await server.wait_closed()


async def test_a_run_is_cancelled_while_it_waits_for_a_key_or_for_its_turn(
    stages: Stages,
) -> None:
    """C-05: nothing was sent, and what it asked the client for is taken back."""
    stage = await stages(credential={"client": "vault"}, capacity=2, permits=1)
    run = stage.start()
    asked = await stage.daemon.incoming("promptkit/credential/get")
    await cancelled(stage, run, 0)
    await asyncio.wait_for(asked.cancelled.wait(), 10)
    await asked.answer({"credential": "too-late-a-key"})
    stage.configure(capacity=2, permits=1)
    gate = asyncio.Event()
    stage.play((gate, *OPENAI.says("first")))
    first = stage.start()
    await stage.provider.arrived(1)
    for kind in ("admitted", "runStarted"):
        run = stage.start()
        await run.event(kind)
        await run.cancel()
        ran = await run.ran()
        assert ran.failure.code == REQUEST_CANCELLED
        assert ran.finished["attempts"] == 0
    gate.set()
    assert (await first.ran()).result["content"] == "first"
    assert len(stage.requests) == 1


async def test_a_callback_that_is_never_answered_holds_up_nobody(stages: Stages) -> None:
    """C-09: no capacity meanwhile; a cancel ends it at once, and what comes later is dropped."""
    stage = await stages(capacity=1)
    start = await begun(stage)
    stage.provider.always(completion("hi"))
    call = coordinate(stage, start, 2)
    asked = await stage.next_call()
    for _ in range(3):
        assert (await stage.run()).result["content"] == "hi"
    assert (await stage.load())["leases"] == 0
    assert not call.done
    await call.cancel()
    assert await call == {"outcome": "cancelled"}
    await asyncio.wait_for(asked.cancelled.wait(), 10)
    strays = len(stage.daemon.strays)
    for late in (asked.answer(go_on()), asked.fail(1, "late"), asked.answer(STOP)):
        await late
    assert (await stage.run()).result["content"] == "hi"
    assert len(stage.daemon.strays) == strays
    assert len(stage.requests) == 5


async def test_a_cancel_during_a_turn_ends_the_turn_and_asks_no_more(stages: Stages) -> None:
    """C-09: an outcome, not an error; the exchange it started from is still there."""
    stage = await stages()
    start = await begun(stage)
    call = coordinate(stage, start, 2)
    gate = asyncio.Event()
    stage.play((gate, *OPENAI.says("turn")))
    await (await stage.next_call()).answer(go_on())
    await stage.provider.arrived(2)
    await call.cancel()
    assert await call == {"outcome": "cancelled"}
    assert not stage.daemon.unanswered(NEXT)
    assert await stage.held(start)


async def test_a_time_limit_for_callbacks_is_off_unless_it_is_asked_for(stages: Stages) -> None:
    """C-09: then the callback is taken back and the coordination ends."""
    stage = await stages()
    call = coordinate(stage, await begun(stage), 1, callbackTimeoutMs=20)
    asked = await stage.next_call()
    error = await failed(call)
    assert (error.kind, "callbackTimeoutMs" in error.message) == ("callbackInvalid", True)
    await asyncio.wait_for(asked.cancelled.wait(), 10)


async def test_a_callbacks_error_is_the_coordinations(stages: Stages) -> None:
    """C-12: the same code, message and data, and no other outcome beside it."""
    stage = await stages()
    start = await begun(stage)
    data = {"why": ["x", {"deep": None}], "kind": "mine"}
    for code in (1, -32000, -32603, -32800):
        call = coordinate(stage, start, 1)
        await (await stage.next_call()).fail(code, "my own words", data)
        error = await failed(call)
        assert (error.code, error.message, error.data) == (code, "my own words", data)
