"""One run: its events, attempts, retries, repairs, usage and leases."""

import asyncio

import pytest

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.definitions.settings import RetryPolicy, Timeouts
from promptkit_rpc.errors import (
    CredentialMissing,
    DeadlineExceeded,
    GenerationFailed,
    Kind,
    PromptKitError,
    Reason,
)
from promptkit_rpc.execution.execute import execute
from promptkit_rpc.execution.observe import (
    AttemptFinished,
    RetryScheduled,
    RunFinished,
    RunOutcome,
    RunStarted,
    compose,
)
from promptkit_rpc.execution.prepare import Plan
from promptkit_rpc.execution.request import RunResult
from promptkit_rpc.generation import FinishReason
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract, Format, Status
from promptkit_rpc.secret import Secret
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

NUMBER = Contract(format=Format.SCHEMA, schema=Json.of({"type": "integer"}), repairs=2)
RETRY = RetryPolicy(attempts=3, base_delay=1.0, max_delay=8.0)


async def run(used: Plan, world: World | None = None) -> RunResult:
    async with asyncio.timeout(BOUND):
        services = (world or World()).services
        return await execute(used, services, CancelSignal(), no_credential)


async def run_over_sleeps(used: Plan, world: World, sleeps: int) -> RunResult:
    """Runs while the clock is moved on past so many sleeps."""
    task = asyncio.create_task(run(used, world))
    for times in range(1, sleeps + 1):
        await world.until_sleeping(times)
        world.advance(world.slept[-1])
    return await task


async def test_a_plain_run_says_what_happened_in_order() -> None:
    """OBS-1, OBS-2."""
    seen = Record()
    used = plan(provider(FakeBackend(answer("hi", tokens(3, 1)))), observers=(seen,), parent="r0")
    result = await run(used)
    assert result.content == "hi"
    assert seen.names == [
        "RunStarted",
        "Admitted",
        "AttemptStarted",
        "AttemptFinished",
        "RunFinished",
    ]
    first, last = seen.events[0], seen.events[-1]
    assert isinstance(first, RunStarted)
    assert (first.run_id, first.parent_run_id) == (result.run_id, "r0")
    assert isinstance(last, RunFinished)
    assert (last.outcome, last.attempts, last.error) == (RunOutcome.COMPLETED, 1, None)
    assert last.usage == result.usage
    assert {event.run_id for event in seen.events} == {result.run_id}


async def test_exactly_what_was_planned_is_sent_and_captured() -> None:
    """CAP-2, CAP-5."""
    backend = FakeBackend(answer("the answer \n"))
    used = plan(provider(backend), text="question", capture=True)
    result = await run(used)
    assert backend.calls[0].history is used.history
    assert result.exchange is not None
    assert [message.content for message in result.exchange.history] == ["question", "the answer \n"]
    assert result.exchange.history.parent is used.history


async def test_without_capture_there_is_no_exchange() -> None:
    """CAP-1."""
    assert (await run(plan(provider(FakeBackend(answer()))))).exchange is None


async def test_a_transient_failure_is_retried_and_counted() -> None:
    """RET-1, OBS-2."""
    world, seen = World(), Record()
    backend = FakeBackend(failure(Reason.OVERLOADED), failure(Reason.RATE_LIMITED), answer())
    used = plan(provider(backend, retry=RETRY), observers=(seen,))
    result = await run_over_sleeps(used, world, 2)
    assert (result.attempts, result.transient_retries, result.repairs) == (3, 2, 0)
    assert world.slept == [1.0, 2.0]
    retries = [e for e in seen.events if isinstance(e, RetryScheduled)]
    assert [(e.reason, e.delay, e.time, e.run_id) for e in retries] == [
        (Reason.OVERLOADED, 1.0, 1000.0, result.run_id),
        (Reason.RATE_LIMITED, 2.0, 1001.0, result.run_id),
    ]
    failed = [e.error for e in seen.events if isinstance(e, AttemptFinished)]
    assert [e and (e.kind, e.reason) for e in failed] == [
        (Kind.GENERATION_FAILED, Reason.OVERLOADED),
        (Kind.GENERATION_FAILED, Reason.RATE_LIMITED),
        None,
    ]


async def test_retries_end_with_the_last_failure_and_its_counts() -> None:
    """RET-1, ENG-5, T-19: exactly as many calls as the policy says."""
    world, seen = World(), Record()
    backend = FakeBackend(failure(Reason.SERVER, status=500))
    used = plan(provider(backend, retry=RETRY), observers=(seen,))
    with pytest.raises(GenerationFailed) as caught:
        await run_over_sleeps(used, world, 2)
    assert len(backend.calls) == caught.value.attempts == 3
    assert caught.value.run_id == seen.events[0].run_id
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert (last.outcome, last.attempts, last.transient_retries) == (RunOutcome.FAILED, 3, 2)
    assert last.error is not None
    assert (last.error.kind, last.error.reason) == (Kind.GENERATION_FAILED, Reason.SERVER)
    assert last.error.http_status == 500


async def test_repair_sums_usage_and_shows_each_attempts_own() -> None:
    """U-01, USE-2, OUT-3."""
    seen = Record()
    backend = FakeBackend(answer("x", tokens(100, 10)), answer("7", tokens(130, 12)))
    result = await run(plan(provider(backend), contract=NUMBER, observers=(seen,)))
    assert (result.attempts, result.transient_retries, result.repairs) == (2, 0, 1)
    assert result.usage.input_tokens == Total(230, complete=True)
    assert result.usage.output_tokens == Total(22, complete=True)
    assert [e.usage.input_tokens for e in seen.events if isinstance(e, AttemptFinished)] == [
        100,
        130,
    ]
    assert result.validation.status is Status.VALID


async def test_a_result_says_whose_answer_it_is_and_how_it_ended() -> None:
    """CAP-2: as the backend said it, under the names of the plan."""
    refused = answer("no", finish_reason=FinishReason.REFUSAL, refusal="not this")
    used = plan(provider(FakeBackend(refused)), capture=True, parent="r0")
    result = await run(used)
    assert (result.finish_reason, result.refusal) == (FinishReason.REFUSAL, "not this")
    assert (result.profile, result.backend, result.model) == (used.profile, "fake", used.model)
    assert result.exchange is not None
    assert (result.exchange.run_id, result.exchange.parent_run_id) == (result.run_id, "r0")


async def test_repair_leaves_no_trace_in_the_exchange() -> None:
    """CAP-6, H-01."""
    backend = FakeBackend(answer("x"), answer("7"))
    used = plan(provider(backend), text="a number", contract=NUMBER, capture=True)
    result = await run(used)
    assert result.exchange is not None
    assert [message.content for message in result.exchange.history] == ["a number", "7"]
    assert len(backend.calls[1].history.messages()) > 1
    assert [message.content for message in used.history] == ["a number"]


async def test_exhausted_repairs_are_a_result_and_an_exchange() -> None:
    """CAP-7, OUT-2, S-03."""
    backend = FakeBackend(answer("x"))
    result = await run(plan(provider(backend), contract=NUMBER, capture=True))
    assert len(backend.calls) == 3
    assert result.validation.status is Status.INVALID
    assert result.validation.violations
    assert result.exchange is not None
    assert result.exchange.content == "x"


async def test_repairs_do_not_pile_up_on_each_other() -> None:
    """S-09: the last repair sends no more messages than the first."""
    backend = FakeBackend(answer('{"name":"aaa', finish_reason=FinishReason.LENGTH))
    await run(plan(provider(backend), contract=NUMBER))
    sizes = [len(call.history.messages()) for call in backend.calls]
    assert sizes[1] == sizes[2]


async def test_a_failing_repair_keeps_the_usage_that_was_paid() -> None:
    """U-10, USE-2, OBS-3: known part as a subtotal, marked incomplete."""
    world, seen = World(), Record()
    backend = FakeBackend(answer("x", tokens(100, 10)), failure(Reason.SERVER, status=500))
    used = plan(provider(backend, retry=RETRY), contract=NUMBER, observers=(seen,))
    with pytest.raises(GenerationFailed):
        await run_over_sleeps(used, world, 2)
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert last.usage.input_tokens == Total(100, complete=False)
    assert (last.attempts, last.transient_retries, last.repairs) == (4, 2, 1)


async def test_an_attempt_that_surely_cost_nothing_leaves_usage_complete() -> None:
    """USE-2."""
    world = World()
    backend = FakeBackend(failure(Reason.RATE_LIMITED, billed=False), answer("a", tokens(5, 2)))
    result = await run_over_sleeps(plan(provider(backend)), world, 1)
    assert result.usage.input_tokens == Total(5, complete=True)


async def test_usage_that_was_not_reported_is_unknown() -> None:
    """USE-1, U-02."""
    result = await run(plan(provider(FakeBackend(answer("a", UNKNOWN)))))
    assert result.usage.input_tokens == Total(None, complete=False)


async def test_the_lease_lasts_through_retry_and_repair_and_the_permit_does_not() -> None:
    """ADM-1."""
    world = World()
    backend = FakeBackend(answer("x"), failure(Reason.SERVER), answer("7"))
    used = plan(provider(backend, capacity=1, retry=RETRY), contract=NUMBER)
    task = asyncio.create_task(run(used, world))
    await world.until_sleeping()
    admission = used.provider.admission
    assert (admission.leases.held, admission.permits.held) == (1, 0)
    world.advance(1.0)
    await task
    assert (admission.leases.held, admission.permits.held) == (0, 0)


async def test_every_way_out_gives_the_lease_back() -> None:
    """ADM-4."""

    def refuse(_: object) -> None:
        raise RuntimeError("an observer's own fault")

    used = provider(FakeBackend(failure(Reason.BAD_REQUEST)), capacity=1)
    with pytest.raises(GenerationFailed):
        await run(plan(used))
    with pytest.raises(RuntimeError, match="an observer's own fault"):
        await run(plan(used, observers=(refuse,)))
    assert (used.admission.leases.held, used.admission.permits.held) == (0, 0)


async def test_a_missing_credential_fails_before_anything_is_sent() -> None:
    """OBS-3."""
    seen, backend = Record(), FakeBackend(answer())

    async def missing(*_: object) -> Secret | None:
        raise CredentialMissing("OPENAI_API_KEY is not set")

    used = plan(provider(backend, capacity=1), observers=(seen,))
    with pytest.raises(CredentialMissing):
        await execute(used, World().services, CancelSignal(), missing)
    assert backend.calls == []
    assert seen.names == ["RunStarted", "RunFinished"]
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert last.error is not None
    assert last.error.kind is Kind.CREDENTIAL_MISSING
    assert (last.attempts, last.transient_retries, last.repairs) == (0, 0, 0)
    assert used.provider.admission.leases.held == 0


async def test_a_direct_credential_goes_to_the_call_and_asks_nobody() -> None:
    """CFG-4."""
    backend, key = FakeBackend(answer()), Secret("sk-canary-direct")

    async def never(*_: object) -> Secret | None:
        raise AssertionError("asked")

    await execute(plan(provider(backend), credential=key), World().services, CancelSignal(), never)
    assert backend.calls[0].credential is key


async def test_the_deadline_ends_a_run_that_waits_for_its_answer() -> None:
    """RET-2."""
    world, gate, seen = World(), Gate(), Record()
    used = plan(provider(FakeBackend(gate), capacity=1), timeout=5.0, observers=(seen,))
    task = asyncio.create_task(run(used, world))
    await gate.reached.wait()
    world.advance(5.0)
    with pytest.raises(DeadlineExceeded, match="not complete within 5 s"):
        await task
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is RunOutcome.FAILED
    assert used.provider.admission.leases.held == 0


async def test_a_retry_never_sleeps_past_the_deadline() -> None:
    """RET-2: it fails at once, caused by the failure that would have been retried."""
    world = World()
    backend = FakeBackend(failure(Reason.SERVER))
    used = plan(provider(backend, retry=RETRY), timeout=1.0)
    with pytest.raises(DeadlineExceeded) as caught:
        await run(used, world)
    assert world.slept == []
    assert isinstance(caught.value.__cause__, GenerationFailed)


async def test_a_slow_attempt_times_out_and_is_retried() -> None:
    """RET-1: `timeouts.total` bounds one attempt, not the run."""
    world, gate = World(), Gate()
    backend = FakeBackend(gate, answer("second"))
    used = plan(provider(backend, retry=RETRY, timeouts=Timeouts(total=3.0)))
    task = asyncio.create_task(run(used, world))
    await gate.reached.wait()
    world.advance(3.0)
    await world.until_sleeping()
    world.advance(1.0)
    result = await task
    assert (result.content, result.transient_retries) == ("second", 1)
    assert result.usage.input_tokens == Total(None, complete=False)


def test_composed_observers_are_called_in_order_until_one_raises() -> None:
    """OBS-4."""
    order: list[str] = []

    def note(name: str, *, fail: bool = False) -> None:
        order.append(name)
        if fail:
            raise RuntimeError(name)

    started = RunStarted(
        run_id="r", time=0.0, prompt_id="p", profile="f", backend="b", model="m", parent_run_id=None
    )
    composed = compose(lambda _: note("a"), lambda _: note("b", fail=True), lambda _: note("never"))
    with pytest.raises(RuntimeError, match="b"):
        composed(started)
    assert order == ["a", "b"]


async def test_an_observer_that_raises_ends_the_run_with_its_own_exception() -> None:
    """OBS-4: nothing is swallowed, and nothing more is delivered."""
    seen: list[str] = []

    def observer(event: object) -> None:
        seen.append(type(event).__name__)
        if len(seen) == 3:
            raise LookupError("third")

    with pytest.raises(LookupError, match="third"):
        await run(plan(provider(FakeBackend(answer())), observers=(observer,)))
    assert seen == ["RunStarted", "Admitted", "AttemptStarted"]


async def test_an_unexpected_fault_of_a_backend_still_ends_the_run_once() -> None:
    """OBS-3."""
    seen = Record()

    async def broken(_: object) -> None:
        raise KeyError("bug")

    used = plan(provider(FakeBackend(broken), capacity=1), observers=(seen,))  # type: ignore[arg-type]  # broken on purpose
    with pytest.raises(KeyError):
        await run(used)
    assert seen.names.count("RunFinished") == 1
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert last.error is not None
    assert last.error.kind is Kind.INTERNAL
    assert used.provider.admission.leases.held == 0


async def test_errors_carry_their_run() -> None:
    """ENG-5."""
    seen = Record()
    with pytest.raises(PromptKitError) as caught:
        await run(
            plan(provider(FakeBackend(failure(Reason.QUOTA, billed=False))), observers=(seen,))
        )
    assert caught.value.run_id == seen.events[0].run_id
