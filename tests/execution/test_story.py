"""One run told exactly: what each call is given, and every event with all it says."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.definitions.settings import RetryPolicy, Timeouts
from promptkit_rpc.errors import (
    ConfigInvalid,
    DeadlineExceeded,
    GenerationFailed,
    Kind,
    Origin,
    PromptKitError,
    Reason,
)
from promptkit_rpc.execution.execute import execute
from promptkit_rpc.execution.observe import (
    Admitted,
    AttemptFinished,
    AttemptStarted,
    ErrorNote,
    RepairStarted,
    RetryScheduled,
    RunFinished,
    RunOutcome,
    RunStarted,
)
from promptkit_rpc.execution.prepare import Plan
from promptkit_rpc.generation import Answer, Call, FinishReason, Parameters
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract, Format, Status
from promptkit_rpc.usage import UNKNOWN, Total
from tests.support.fakes import (
    BOUND,
    FakeBackend,
    Gate,
    Record,
    World,
    answer,
    failure,
    no_credential,
    plan,
    provider,
    tokens,
)

NUMBER = Contract(format=Format.SCHEMA, schema=Json.of({"type": "integer"}), repairs=1)
RETRY = RetryPolicy(attempts=3, base_delay=2.0, max_delay=8.0)
ONCE = RetryPolicy(attempts=1)


def begin(used: Plan, world: World) -> asyncio.Task[object]:
    async def run() -> object:
        async with asyncio.timeout(BOUND):
            return await execute(used, world.services, CancelSignal(), no_credential)

    return asyncio.create_task(run())


async def test_every_event_of_a_run_that_is_retried_and_repaired() -> None:
    """OBS-1, OBS-2, USE-2: times, numbers and reasons, each attempt with its own usage."""
    world, seen = World(), Record()
    backend = FakeBackend(
        failure(Reason.OVERLOADED, status=529, usage=tokens(9, 0)),
        answer('"x"', tokens(10, 2), FinishReason.OTHER),
        answer("7", tokens(12, 1)),
    )
    used = plan(provider(backend, retry=RETRY), contract=NUMBER, observers=(seen,), parent="r0")
    task = begin(used, world)
    await world.until_sleeping()
    world.advance(2.0)
    await task
    overloaded = ErrorNote(kind=Kind.GENERATION_FAILED, reason=Reason.OVERLOADED, http_status=529)
    early: dict[str, Any] = {"run_id": "run-1", "time": 1000.0}
    late: dict[str, Any] = {"run_id": "run-1", "time": 1002.0}
    last = seen.events.pop()
    assert seen.events == [
        RunStarted(
            **early,
            prompt_id="ask",
            profile="careful",
            backend="fake",
            model="m",
            parent_run_id="r0",
        ),
        Admitted(**early, waited=0.0),
        AttemptStarted(**early, attempt=1),
        AttemptFinished(**early, attempt=1, usage=tokens(9, 0), error=overloaded),
        RetryScheduled(**early, delay=2.0, reason=Reason.OVERLOADED),
        AttemptStarted(**late, attempt=2),
        AttemptFinished(**late, attempt=2, usage=tokens(10, 2), finish_reason=FinishReason.OTHER),
        RepairStarted(**late, violations=1),
        AttemptStarted(**late, attempt=3),
        AttemptFinished(**late, attempt=3, usage=tokens(12, 1), finish_reason=FinishReason.STOP),
    ]
    assert isinstance(last, RunFinished)
    assert last == RunFinished(
        **late,
        outcome=RunOutcome.COMPLETED,
        attempts=3,
        transient_retries=1,
        repairs=1,
        usage=last.usage,
        validation=Status.VALID,
    )
    assert last.usage.input_tokens == Total(31, complete=True)


async def test_each_call_is_given_the_whole_plan_and_its_own_number() -> None:
    """CAP-2."""
    world = World()
    backend = FakeBackend(failure(Reason.SERVER), answer("7"))
    used = evolve(
        plan(provider(backend, retry=RETRY), contract=NUMBER),
        parameters=Parameters(temperature=0.5),
        session_id="s",
    )
    task = begin(used, world)
    await world.until_sleeping()
    world.advance(2.0)
    await task
    assert [call.attempt for call in backend.calls] == [1, 2]
    for call in backend.calls:
        assert (call.run_id, call.prompt_id, call.model) == ("run-1", "ask", "m")
        assert call.parameters is used.parameters
        assert (call.contract, call.session_id) == (NUMBER, "s")
        assert call.history is used.history


async def test_a_retry_within_the_deadline_is_made() -> None:
    """RET-2."""
    world = World()
    backend = FakeBackend(failure(Reason.SERVER), answer("second"))
    task = begin(plan(provider(backend, retry=RETRY), timeout=2.5), world)
    await world.until_sleeping()
    world.advance(2.0)
    await task
    assert len(backend.calls) == 2


async def test_a_retry_that_would_end_at_the_deadline_is_not_made() -> None:
    """RET-2."""
    world = World()
    backend = FakeBackend(failure(Reason.SERVER))
    with pytest.raises(DeadlineExceeded):
        await begin(plan(provider(backend, retry=RETRY), timeout=2.0), world)
    assert (len(backend.calls), world.slept) == (1, [])


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        (answer("7"), 1),
        (answer("7", finish_reason=FinishReason.LENGTH), 2),
        (answer("7", finish_reason=FinishReason.CONTENT_FILTER), 1),
        (answer("7", finish_reason=FinishReason.REFUSAL), 1),
        (answer("7", refusal="I will not"), 1),
    ],
)
async def test_how_an_answer_ended_decides_before_what_it_says(said: Answer, calls: int) -> None:
    """OUT-2: refused, filtered and truncated ones are never valid; only the last repaired."""
    world, seen = World(), Record()
    backend = FakeBackend(said)
    await begin(plan(provider(backend), contract=NUMBER, observers=(seen,)), world)
    assert len(backend.calls) == calls
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    good = said.refusal is None and said.finish_reason is FinishReason.STOP
    assert last.validation is (Status.VALID if good else Status.INVALID)


def _unsent(call: Call) -> Answer:
    raise ConfigInvalid(f"attempt {call.attempt} cannot be sent")


def _crashed(call: Call) -> Answer:
    raise KeyError(call.attempt)


@pytest.mark.parametrize(
    ("fails", "kind", "complete"),
    [(_unsent, Kind.CONFIG_INVALID, True), (_crashed, Kind.INTERNAL, False)],
)
async def test_a_call_that_fails_otherwise_is_an_attempt_with_its_error(
    fails: Callable[[Call], Answer], kind: Kind, *, complete: bool
) -> None:
    """OBS-2, USE-2: what was surely not sent cost nothing; anything else may have."""
    world, seen = World(), Record()

    async def step(call: Call) -> Answer:
        return fails(call)

    with pytest.raises((PromptKitError, KeyError)):
        await begin(plan(provider(FakeBackend(step)), observers=(seen,)), world)
    (attempt,) = [event for event in seen.events if isinstance(event, AttemptFinished)]
    assert (attempt.attempt, attempt.usage, attempt.error) == (1, UNKNOWN, ErrorNote(kind=kind))
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert last.usage.input_tokens == Total(None, complete=complete)


async def test_what_a_slow_attempt_had_reported_is_known() -> None:
    """RET-1, USE-2: and the call was the same as without a limit."""
    world, seen, gate = World(), Record(), Gate()

    async def begun(call: Call) -> Answer:
        call.report(tokens(20, 1))
        return await gate(call)

    backend = FakeBackend(begun)
    used = provider(backend, retry=ONCE, timeouts=Timeouts(total=3.0))
    task = begin(plan(used, observers=(seen,)), world)
    await gate.reached.wait()
    world.advance(3.0)
    with pytest.raises(GenerationFailed) as caught:
        await task
    message = "backend 'fake' gave no whole answer within 3 s (timeouts.total)"
    assert (caught.value.message, caught.value.reason) == (message, Reason.TIMEOUT)
    assert caught.value.origin is Origin.PROMPTKIT
    assert backend.calls[0].model == "m"
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert last.usage.input_tokens == Total(20, complete=True)
