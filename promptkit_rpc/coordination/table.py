"""The coordinator as a table of states and moves. Pure: it awaits nothing and calls nobody.

    due      the callback is to be asked, with the newest result if there is one
    asking   the callback is open; a result it was given counts as delivered
    chosen   the application wants another turn, and there is budget for it
    running  a continuation has started and has cost its turn
    ended    with an outcome, or cancelled with at most one undelivered result

| state   | move     | next                                          |
| ------- | -------- | --------------------------------------------- |
| due     | ask      | asking                                        |
| due     | cancel   | ended, the waiting result undelivered         |
| asking  | stop     | ended: stopped                                |
| asking  | proceed  | chosen, or ended: exhausted when none remain  |
| asking  | cancel   | ended                                         |
| chosen  | start    | running, one turn less                        |
| chosen  | cancel   | ended                                         |
| running | complete | due, with the result and its exchange         |

Any other move is an error of the driver and changes nothing. An error that the callback or a
continuation raises ends the coordination by going to its caller; no state follows it.
"""

from enum import Enum
from typing import Any

from attrs import evolve, frozen

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.coordination.actions import Outcome
from promptkit_rpc.execution.request import RunRequest, RunResult


class Phase(Enum):
    """Where a coordination stands."""

    DUE = "due"
    ASKING = "asking"
    CHOSEN = "chosen"
    RUNNING = "running"
    ENDED = "ended"


class Move(Enum):
    """What can happen to it."""

    ASK = "ask"
    STOP = "stop"
    PROCEED = "proceed"
    START = "start"
    COMPLETE = "complete"
    CANCEL = "cancel"


LEGAL = frozenset(
    {
        (Phase.DUE, Move.ASK),
        (Phase.DUE, Move.CANCEL),
        (Phase.ASKING, Move.STOP),
        (Phase.ASKING, Move.PROCEED),
        (Phase.ASKING, Move.CANCEL),
        (Phase.CHOSEN, Move.START),
        (Phase.CHOSEN, Move.CANCEL),
        (Phase.RUNNING, Move.COMPLETE),
    }
)


@frozen(kw_only=True)
class State:
    """One moment of a coordination; `deliveries` counts callbacks invoked.

    `result` waits for delivery while due, and is the delivered one while asking. `outcome` stays
    None when cancelled.
    """

    exchange: Exchange
    remaining: int
    phase: Phase = Phase.DUE
    deliveries: int = 0
    result: RunResult | None = None
    request: RunRequest | None = None
    outcome: Outcome | None = None
    undelivered: RunResult | None = None


class IllegalMove(RuntimeError):  # noqa: N818 - what it is, not that it is one
    """The move does not exist in this state."""


def ask(state: State) -> State:
    """The callback is invoked now; from here on its result is delivered."""
    return _moved(state, Move.ASK, phase=Phase.ASKING, deliveries=state.deliveries + 1)


def stop(state: State) -> State:
    """The application is done."""
    return _moved(state, Move.STOP, phase=Phase.ENDED, outcome=Outcome.STOPPED)


def proceed(state: State, request: RunRequest) -> State:
    """The application wants another turn."""
    if state.remaining > 0:
        return _moved(state, Move.PROCEED, phase=Phase.CHOSEN, request=request)
    return _moved(state, Move.PROCEED, phase=Phase.ENDED, outcome=Outcome.EXHAUSTED)


def start(state: State) -> State:
    """A continuation starts; that costs its turn whatever becomes of it."""
    remaining = state.remaining - 1
    return _moved(
        state, Move.START, phase=Phase.RUNNING, remaining=remaining, result=None, request=None
    )


def complete(state: State, result: RunResult, exchange: Exchange) -> State:
    """The continuation completed; its result waits for the callback."""
    return _moved(state, Move.COMPLETE, phase=Phase.DUE, result=result, exchange=exchange)


def cancel(state: State) -> State:
    """Cancellation was seen; a result that was not delivered is kept."""
    waiting = state.result if state.phase is Phase.DUE else None
    return _moved(state, Move.CANCEL, phase=Phase.ENDED, undelivered=waiting)


def _moved(state: State, move: Move, **changes: Any) -> State:
    if (state.phase, move) not in LEGAL:
        raise IllegalMove(f"{move.value} while {state.phase.value}")
    return evolve(state, **changes)
