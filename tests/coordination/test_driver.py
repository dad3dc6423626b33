"""Driving a branch: order, budget, delivery, cancellation and errors, with a fake run."""

import asyncio
from collections.abc import Callable

import pytest

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.coordination.actions import (
    Action,
    Continue,
    CoordinationCancelled,
    Outcome,
    Stop,
    Turn,
)
from promptkit_rpc.coordination.driver import coordinate
from promptkit_rpc.errors import CallbackInvalid, Cancelled, PromptNotFound, RequestInvalid
from promptkit_rpc.execution.observe import Observer
from promptkit_rpc.execution.request import RunRequest, RunResult
from tests.coordination.test_table import exchange, result
from tests.support.fakes import BOUND, Record

START = exchange("start")


class Application:
    """A callback that plays its actions in order and keeps its turns."""

    def __init__(self, *actions: Action | Exception | object) -> None:
        self.actions = list(actions)
        self.turns: list[Turn] = []

    async def __call__(self, turn: Turn, _: CancelSignal) -> Action:
        self.turns.append(turn)
        action = self.actions.pop(0) if len(self.actions) > 1 else self.actions[0]
        if isinstance(action, Exception):
            raise action
        return action  # type: ignore[return-value]  # a test returns what it likes


class Runs:
    """Numbers its runs; `during` happens inside each."""

    def __init__(self, during: Callable[[int], None] | None = None) -> None:
        self.requests: list[RunRequest] = []
        self._during = during

    async def __call__(self, request: RunRequest, signal: CancelSignal) -> RunResult:
        signal.check()
        self.requests.append(request)
        await asyncio.sleep(0)
        if self._during is not None:
            self._during(len(self.requests))
        return result(f"r{len(self.requests)}")


def ask(prompt: str = "next", *observers: Observer) -> Continue:
    return Continue(RunRequest(prompt_id=prompt, observers=observers))


async def drive(
    application: Application,
    runs: Runs,
    turns: int,
    signal: CancelSignal | None = None,
    observers: tuple[Observer, ...] = (),
) -> Outcome:
    async with asyncio.timeout(BOUND):
        return await coordinate(
            START,
            application,
            additional_turns=turns,
            run=runs,
            signal=signal or CancelSignal(),
            observers=observers,
        )


async def test_the_first_callback_gets_the_start_and_no_result() -> None:
    """COO-1, COO-2: also with budget 0."""
    for budget in (0, 3):
        application, runs = Application(Stop()), Runs()
        assert await drive(application, runs, budget) is Outcome.STOPPED
        (turn,) = application.turns
        assert (turn.exchange, turn.result) == (START, None)
        assert (turn.remaining_turns, turn.delivery_index) == (budget, 0)
        assert runs.requests == []


async def test_every_answer_is_delivered_once_before_the_next_starts() -> None:
    """COO-3, COO-5: the last permitted one too, and each turn continues the one before."""
    application, runs = Application(ask("a"), ask("b"), Stop()), Runs()
    assert await drive(application, runs, 2) is Outcome.STOPPED
    assert [turn.result and turn.result.run_id for turn in application.turns] == [None, "r1", "r2"]
    assert [turn.remaining_turns for turn in application.turns] == [2, 1, 0]
    assert [turn.delivery_index for turn in application.turns] == [0, 1, 2]
    assert [request.prompt_id for request in runs.requests] == ["a", "b"]
    sources = [request.continue_from and request.continue_from.run_id for request in runs.requests]
    assert sources == ["start", "r1"]
    assert all(request.capture for request in runs.requests)


async def test_asking_for_more_than_the_budget_is_exhaustion() -> None:
    """COO-6, C-03: budget 1 is two callbacks and one run, budget 0 one callback and none."""
    for budget in (0, 1):
        application, runs = Application(ask()), Runs()
        assert await drive(application, runs, budget) is Outcome.EXHAUSTED
        assert (len(application.turns), len(runs.requests)) == (budget + 1, budget)


async def test_a_callback_error_is_the_same_object_for_the_caller() -> None:
    """COO-7, COO-14."""
    error = ValueError("mine")
    application, runs = Application(ask(), error), Runs()
    with pytest.raises(ValueError, match="mine") as caught:
        await drive(application, runs, 3)
    assert caught.value is error
    assert len(runs.requests) == 1


async def test_the_first_failing_turn_ends_it_with_that_error() -> None:
    """COO-8, COO-9: no refund, no replay, no exhaustion, and no callback for a failed turn."""
    error = PromptNotFound("no such prompt")

    def fail(number: int) -> None:
        if number == 2:
            raise error

    application, runs = Application(ask()), Runs(fail)
    with pytest.raises(PromptNotFound) as caught:
        await drive(application, runs, 3)
    assert caught.value is error
    assert (len(application.turns), len(runs.requests)) == (2, 2)


async def test_cancelled_before_the_start_calls_nothing_back() -> None:
    """COO-10, COO-11: the signal's own error is kept."""
    signal, error = CancelSignal(), Cancelled("enough")
    signal.cancel(error)
    application, runs = Application(Stop()), Runs()
    with pytest.raises(CoordinationCancelled) as caught:
        await drive(application, runs, 1, signal)
    assert caught.value.cancellation is error
    assert caught.value.__cause__ is error
    assert caught.value.undelivered is None
    assert application.turns == []


async def test_an_answer_that_meets_a_cancel_comes_back_undelivered() -> None:
    """COO-12, COO-15."""
    signal = CancelSignal()
    application, runs = Application(ask()), Runs(lambda _: signal.cancel())
    with pytest.raises(CoordinationCancelled) as caught:
        await drive(application, runs, 5, signal)
    assert caught.value.undelivered is not None
    assert caught.value.undelivered.run_id == "r1"
    assert len(application.turns) == 1


async def test_a_cancel_that_is_already_on_its_way_is_seen_before_the_delivery() -> None:
    """COO-10, COO-12: it is found by one pass of the loop and takes effect in the next."""
    signal, loop = CancelSignal(), asyncio.get_running_loop()

    def arrive(_: int) -> None:
        loop.call_soon(loop.call_soon, signal.cancel)

    application = Application(ask())
    with pytest.raises(CoordinationCancelled, match="cancelled by the caller") as caught:
        await drive(application, Runs(arrive), 5, signal)
    assert caught.value.undelivered is not None
    assert len(application.turns) == 1


async def test_a_cancel_during_the_callback_wins_over_its_action() -> None:
    """COO-10, COO-14: what the callback was given is delivered, so nothing is undelivered."""
    for action in (ask(), Stop(), ValueError("gave up")):
        signal, seen = CancelSignal(), list[CancelSignal]()

        async def callback(
            turn: Turn,
            given: CancelSignal,
            action: object = action,
            seen: list[CancelSignal] = seen,
        ) -> Action:
            seen.append(given)
            if turn.result is None:
                return ask()
            given.cancel()
            if isinstance(action, Exception):
                raise action
            return action  # type: ignore[return-value]  # an action by construction

        runs = Runs()
        with pytest.raises(CoordinationCancelled) as caught:
            async with asyncio.timeout(BOUND):
                await coordinate(START, callback, additional_turns=3, run=runs, signal=signal)
        assert caught.value.undelivered is None
        assert len(runs.requests) == 1
        assert seen == [signal, signal]


async def test_a_callback_is_never_killed_by_a_cancel() -> None:
    """COO-13: it gets the signal and ends in its own time."""
    signal, asked, finish = CancelSignal(), asyncio.Event(), asyncio.Event()

    async def slow(_: Turn, __: CancelSignal) -> Action:
        asked.set()
        await finish.wait()
        return Stop()

    task = asyncio.create_task(
        coordinate(START, slow, additional_turns=1, run=Runs(), signal=signal)
    )
    async with asyncio.timeout(BOUND):
        await asked.wait()
        signal.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        finish.set()
        with pytest.raises(CoordinationCancelled):
            await task


async def test_a_run_that_was_cancelled_leaves_nothing_to_deliver() -> None:
    """COO-12: a call without a completed result has nothing to recover."""
    signal = CancelSignal()

    async def cancelled_run(_: RunRequest, given: CancelSignal) -> RunResult:
        given.cancel()
        given.check()
        raise AssertionError("unreachable")

    with pytest.raises(CoordinationCancelled) as caught:
        async with asyncio.timeout(BOUND):
            await coordinate(
                START, Application(ask()), additional_turns=1, run=cancelled_run, signal=signal
            )
    assert caught.value.undelivered is None


async def test_an_answer_without_an_action_is_refused() -> None:
    for answer, name in ((None, "NoneType"), ("stop", "str")):
        with pytest.raises(CallbackInvalid, match=f"returned {name}"):
            await drive(Application(answer), Runs(), 1)


async def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(RequestInvalid, match="must not be negative"):
        await drive(Application(Stop()), Runs(), -1)


async def test_observers_of_the_coordination_stand_beside_the_requests_own() -> None:
    """GRP-3."""
    own, all_turns = Record(), Record()
    runs = Runs()
    await drive(Application(ask("a", own), ask("b"), Stop()), runs, 2, observers=(all_turns,))
    assert [request.observers for request in runs.requests] == [(own, all_turns), (all_turns,)]


async def test_branches_from_one_exchange_are_independent() -> None:
    """COO-17."""
    first, second = Application(ask(), Stop()), Application(ask(), ask(), Stop())
    outcomes = await asyncio.gather(drive(first, Runs(), 1), drive(second, Runs(), 1))
    assert outcomes == [Outcome.STOPPED, Outcome.EXHAUSTED]


async def test_a_crash_in_the_callback_ends_the_coordination() -> None:
    """COO-18."""

    class Crash(BaseException):
        pass

    async def crash(_: Turn, __: CancelSignal) -> Action:
        raise Crash

    with pytest.raises(Crash):
        await coordinate(START, crash, additional_turns=1, run=Runs(), signal=CancelSignal())
