"""The coordinator's state table alone."""

from collections.abc import Callable

import pytest

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.coordination import table
from promptkit_rpc.coordination.actions import Outcome
from promptkit_rpc.coordination.table import LEGAL, IllegalMove, Move, Phase, State
from promptkit_rpc.execution.request import RunRequest, RunResult
from promptkit_rpc.generation import FinishReason
from promptkit_rpc.output.contract import Status, Validation
from promptkit_rpc.usage import Usage

REQUEST = RunRequest(prompt_id="next")


def exchange(run: str, parent: str | None = None) -> Exchange:
    return Exchange(run, parent, History((Message(Role.ASSISTANT, run),)))


def result(run: str) -> RunResult:
    return RunResult(
        run_id=run,
        parent_run_id=None,
        content=run,
        validation=Validation(status=Status.NOT_REQUIRED),
        finish_reason=FinishReason.STOP,
        refusal=None,
        usage=Usage(),
        attempts=1,
        transient_retries=0,
        repairs=0,
        profile="p",
        backend="b",
        model="m",
        session_id=None,
        exchange=exchange(run),
    )


def due(remaining: int = 2) -> State:
    return State(exchange=exchange("start"), remaining=remaining)


def running(remaining: int = 2) -> State:
    return table.start(table.proceed(table.ask(due(remaining)), REQUEST))


def test_asking_delivers_and_counts_callbacks() -> None:
    """COO-2, COO-14."""
    first = table.ask(due())
    assert (first.phase, first.deliveries, first.result) == (Phase.ASKING, 1, None)


def test_stop_ends_with_its_own_outcome_whatever_remains() -> None:
    """COO-4."""
    for remaining in (0, 2):
        ended = table.stop(table.ask(due(remaining)))
        assert (ended.phase, ended.outcome) == (Phase.ENDED, Outcome.STOPPED)


def test_going_on_without_budget_is_exhaustion_and_runs_nothing() -> None:
    """COO-6."""
    ended = table.proceed(table.ask(due(0)), REQUEST)
    assert (ended.phase, ended.outcome) == (Phase.ENDED, Outcome.EXHAUSTED)
    assert ended.request is None


def test_a_start_costs_its_turn_at_once() -> None:
    """COO-8."""
    assert running(2).remaining == 1
    answered = table.complete(running(2), result("r1"), exchange("r1", "start"))
    second = table.start(table.proceed(table.ask(answered), REQUEST))
    assert (second.remaining, second.result, second.request) == (0, None, None)


def test_using_the_last_turn_is_no_exhaustion() -> None:
    """COO-6, COO-3: the last permitted answer is delivered like any other."""
    answered = table.complete(running(1), result("r1"), exchange("r1", "start"))
    assert (answered.phase, answered.remaining, answered.outcome) == (Phase.DUE, 0, None)
    assert table.ask(answered).result is answered.result


def test_a_completed_turn_moves_on_to_its_exchange() -> None:
    """COO-5."""
    answered = table.complete(running(), result("r1"), exchange("r1", "start"))
    assert answered.exchange.run_id == "r1"


def test_cancelling_keeps_a_waiting_result_and_no_other() -> None:
    """COO-12, COO-14."""
    answer = result("r1")
    answered = table.complete(running(), answer, exchange("r1", "start"))
    assert table.cancel(answered).undelivered is answer
    assert table.cancel(table.ask(answered)).undelivered is None
    assert table.cancel(table.proceed(table.ask(answered), REQUEST)).undelivered is None
    assert table.cancel(due()).undelivered is None
    assert table.cancel(due()).outcome is None


def test_every_move_outside_the_table_is_refused_and_changes_nothing() -> None:
    """COO-5, COO-10."""
    answered = table.complete(running(), result("r1"), exchange("r1", "start"))
    states = {
        Phase.DUE: answered,
        Phase.ASKING: table.ask(answered),
        Phase.CHOSEN: table.proceed(table.ask(answered), REQUEST),
        Phase.RUNNING: running(),
        Phase.ENDED: table.stop(table.ask(answered)),
    }
    moves: dict[Move, Callable[[State], State]] = {
        Move.ASK: table.ask,
        Move.STOP: table.stop,
        Move.PROCEED: lambda state: table.proceed(state, REQUEST),
        Move.START: table.start,
        Move.COMPLETE: lambda state: table.complete(state, result("x"), exchange("x")),
        Move.CANCEL: table.cancel,
    }
    for phase, state in states.items():
        assert state.phase is phase
        for move, make in moves.items():
            if (phase, move) in LEGAL:
                assert make(state).phase is not phase
            else:
                with pytest.raises(IllegalMove, match=f"{move.value} while {phase.value}"):
                    make(state)
