"""Cancelling a run at every point, and the instant in which a cancel meets the answer."""

import asyncio

import pytest

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.definitions.settings import RetryPolicy
from promptkit_rpc.errors import Cancelled, Kind, Reason
from promptkit_rpc.execution.execute import execute
from promptkit_rpc.execution.observe import RunFinished, RunOutcome
from promptkit_rpc.execution.prepare import Plan
from promptkit_rpc.execution.request import RunResult
from promptkit_rpc.generation import Answer, Call
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract, Format
from promptkit_rpc.secret import Secret
from promptkit_rpc.usage import Total
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
    until,
)

NUMBER = Contract(format=Format.SCHEMA, schema=Json.of({"type": "integer"}), repairs=1)


def begin(used: Plan, signal: CancelSignal, world: World | None = None) -> asyncio.Task[RunResult]:
    services = (world or World()).services
    return asyncio.create_task(execute(used, services, signal, no_credential))


async def ended_as_cancelled(task: asyncio.Task[RunResult], signal: CancelSignal) -> None:
    async with asyncio.timeout(BOUND):
        with pytest.raises(Cancelled) as caught:
            await task
    assert caught.value is signal.error


async def test_an_answer_that_came_first_survives_the_cancel() -> None:
    """COO-12, CAP-7: both in one instant, the answer before the cancel."""
    gate, signal, seen = Gate(), CancelSignal(), Record()
    used = plan(provider(FakeBackend(gate)), capture=True, observers=(seen,))
    task = begin(used, signal)
    await gate.reached.wait()
    gate.open(answer("paid for"))
    signal.cancel()
    async with asyncio.timeout(BOUND):
        result = await task
    assert result.content == "paid for"
    assert result.exchange is not None
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is RunOutcome.COMPLETED


async def test_an_answer_that_came_second_is_too_late() -> None:
    """RET-3: both in one instant, the cancel before the answer."""
    gate, signal = Gate(), CancelSignal()
    task = begin(plan(provider(FakeBackend(gate))), signal)
    await gate.reached.wait()
    signal.cancel()
    gate.open(answer("too late"))
    await ended_as_cancelled(task, signal)


async def test_a_valid_last_answer_survives_a_cancel_that_comes_during_its_check() -> None:
    """COO-12: the run was complete when its answer had been read."""
    gate, signal = Gate(), CancelSignal()
    task = begin(plan(provider(FakeBackend(gate)), contract=NUMBER), signal)
    await gate.reached.wait()
    gate.open(answer("7"))
    signal.cancel()
    async with asyncio.timeout(BOUND):
        assert (await task).content == "7"


async def test_an_invalid_answer_without_repairs_left_survives_too() -> None:
    """COO-12, CAP-7."""
    gate, signal = Gate(), CancelSignal()
    backend = FakeBackend(answer("first"), gate)
    task = begin(plan(provider(backend), contract=NUMBER), signal)
    await gate.reached.wait()
    gate.open(answer("second"))
    signal.cancel()
    async with asyncio.timeout(BOUND):
        assert (await task).content == "second"
    assert len(backend.calls) == 2


async def test_a_cancel_where_a_repair_would_be_due_ends_the_run_without_result() -> None:
    """RET-3: no further call is made."""
    gate, signal, seen = Gate(), CancelSignal(), Record()
    backend = FakeBackend(gate)
    task = begin(plan(provider(backend), contract=NUMBER, observers=(seen,)), signal)
    await gate.reached.wait()
    gate.open(answer("not a number", tokens(100, 10)))
    signal.cancel()
    await ended_as_cancelled(task, signal)
    assert len(backend.calls) == 1
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert (last.outcome, last.repairs) == (RunOutcome.CANCELLED, 0)
    assert signal.error is not None
    assert signal.error.run_id is None, "one signal may cancel many runs"
    assert last.usage.input_tokens == Total(100, complete=True)


async def test_a_run_cancelled_before_it_starts_sends_nothing() -> None:
    """RET-3, OBS-3."""
    signal, backend, seen = CancelSignal(), FakeBackend(answer()), Record()
    signal.cancel()
    await ended_as_cancelled(begin(plan(provider(backend), observers=(seen,)), signal), signal)
    assert backend.calls == []
    assert seen.names == ["RunStarted", "RunFinished"]


async def test_cancelling_a_run_that_waits_for_its_lease() -> None:
    """RET-3, ADM-4."""
    gate, signal = Gate(), CancelSignal()
    used = provider(FakeBackend(gate, answer()), capacity=1)
    first = begin(plan(used), CancelSignal())
    await gate.reached.wait()
    second = begin(plan(used), signal)
    await until(lambda: used.admission.leases.waiting == 1)
    signal.cancel()
    await ended_as_cancelled(second, signal)
    gate.open(answer())
    await first
    assert (used.admission.leases.held, used.admission.leases.waiting) == (0, 0)


async def test_cancelling_a_call_in_flight_stops_it_and_counts_it_as_perhaps_billed() -> None:
    """RET-3, OBS-3, U-10, C-05."""
    signal, seen, stopped = CancelSignal(), Record(), asyncio.Event()
    reached = asyncio.Event()

    async def hang(_: Call) -> Answer:
        reached.set()
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            stopped.set()

    backend = FakeBackend(answer("x", tokens(100, 10)), hang)
    used = plan(provider(backend, capacity=1), contract=NUMBER, observers=(seen,))
    task = begin(used, signal)
    await reached.wait()
    signal.cancel()
    await ended_as_cancelled(task, signal)
    assert stopped.is_set()
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert (last.outcome, last.attempts) == (RunOutcome.CANCELLED, 2)
    assert last.usage.input_tokens == Total(100, complete=False)
    assert used.provider.admission.leases.held == 0
    assert used.provider.admission.permits.held == 0


async def test_cancelling_between_attempts_makes_no_further_call() -> None:
    """RET-3, C-05: a retry rule never retries a cancel, and what was not made is not counted."""
    world, signal, seen = World(), CancelSignal(), Record()
    backend = FakeBackend(failure(Reason.SERVER))
    retry = RetryPolicy(attempts=5, base_delay=1.0)
    used = plan(provider(backend, capacity=1, retry=retry), observers=(seen,))
    task = begin(used, signal, world)
    await world.until_sleeping()
    signal.cancel()
    await ended_as_cancelled(task, signal)
    assert len(backend.calls) == 1
    assert used.provider.admission.leases.held == 0
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert (last.attempts, last.transient_retries, last.repairs) == (1, 0, 0)


async def test_what_a_call_had_reported_when_it_was_cancelled_is_known() -> None:
    """OBS-3, USE-2."""
    signal, seen, reached = CancelSignal(), Record(), asyncio.Event()

    async def hang(call: Call) -> Answer:
        reached.set()
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            call.report(tokens(20, 1).of_a_part())

    task = begin(plan(provider(FakeBackend(hang)), observers=(seen,)), signal)
    await reached.wait()
    signal.cancel()
    await ended_as_cancelled(task, signal)
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert last.usage.input_tokens == Total(20, complete=True)
    assert last.usage.output_tokens == Total(1, complete=False)


async def test_cancelling_while_the_credential_is_fetched() -> None:
    """RET-3."""
    signal, asked = CancelSignal(), asyncio.Event()
    told: list[object] = []

    async def slow(_: Plan, own: CancelSignal) -> Secret | None:
        own.on_cancel(lambda: told.append(own.error))
        asked.set()
        return await asyncio.get_running_loop().create_future()

    backend = FakeBackend(answer())
    used = plan(provider(backend, capacity=1))
    task = asyncio.create_task(execute(used, World().services, signal, slow))
    await asked.wait()
    signal.cancel()
    await ended_as_cancelled(task, signal)
    assert told == [signal.error]
    assert backend.calls == []


async def test_a_task_cancelled_from_outside_gives_everything_back_and_says_so() -> None:
    """OBS-3, ADM-4."""
    gate, seen = Gate(), Record()
    used = plan(provider(FakeBackend(gate), capacity=1), observers=(seen,))
    task = begin(used, CancelSignal())
    await gate.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = seen.events[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is RunOutcome.CANCELLED
    assert last.error is not None
    assert last.error.kind is Kind.CANCELLED
    assert used.provider.admission.leases.held == 0


async def test_thirty_waiting_runs_are_cancelled_at_once_and_send_nothing() -> None:
    """R-11."""
    gate = Gate()
    backend = FakeBackend(gate)
    used = provider(backend, capacity=1)
    slow = begin(plan(used), CancelSignal())
    await gate.reached.wait()
    signals = [CancelSignal() for _ in range(30)]
    waiting = [begin(plan(used), signal) for signal in signals]
    await until(lambda: used.admission.leases.waiting == 30)
    for signal in signals:
        signal.cancel()
    for task, signal in zip(waiting, signals, strict=True):
        await ended_as_cancelled(task, signal)
    gate.open(answer("slow one"))
    assert (await slow).content == "slow one"
    assert len(backend.calls) == 1
