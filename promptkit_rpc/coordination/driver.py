"""Drives one branch through the state table: asks the application, runs, delivers, counts turns.

Holds no capacity of its own: every turn is a whole run, over before the callback is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from attrs import evolve

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.coordination import table
from promptkit_rpc.coordination.actions import (
    Continue,
    CoordinationCancelled,
    NextAction,
    Outcome,
    Stop,
    Turn,
)
from promptkit_rpc.coordination.table import IllegalMove, Phase, State
from promptkit_rpc.errors import CallbackInvalid, Cancelled, PromptKitError, RequestInvalid
from promptkit_rpc.execution.observe import Observer
from promptkit_rpc.execution.request import RunRequest, RunResult

RunTurn: TypeAlias = Callable[[RunRequest, CancelSignal], Awaitable[RunResult]]


async def coordinate(
    start: Exchange,
    next_action: NextAction,
    *,
    additional_turns: int,
    run: RunTurn,
    signal: CancelSignal,
    observers: tuple[Observer, ...] = (),
) -> Outcome:
    """Drives one branch from an exchange until the application stops or wants too much.

    Args:
        start: the exchange to continue first; it is not a result and costs no turn.
        next_action: asked for each next action; gets the same signal and should heed it.
        additional_turns: at most so many continuations start.
        run: runs one request; the requests given to it are continuations.
        signal: cancels; see CoordinationCancelled for what is kept then.
        observers: attached to every continuation beside the request's own.

    Raises:
        CoordinationCancelled: cancelled; carries a result the callback never got.
        Exception: the callback's or the run's own error object.
    """
    if additional_turns < 0:
        raise RequestInvalid(f"additionalTurns must not be negative, but is {additional_turns}")
    state = State(exchange=start, remaining=additional_turns)
    while state.phase is not Phase.ENDED:
        if state.phase is Phase.DUE and state.result is not None:
            await _let_cancels_in()
        if signal.error is not None:
            state = table.cancel(state)
            continue
        match state.phase:
            case Phase.DUE:
                state = await _ask(state, next_action, signal)
            case _:
                state = await _turn(state, run, signal, observers)
    if state.outcome is not None:
        return state.outcome
    raise _cancelled(signal, state.undelivered) from signal.error


async def _let_cancels_in() -> None:
    """Lets a cancel that has already arrived be seen, before a result is handed out.

    One pass of the loop finds it, the next one acts on it.
    """
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def _ask(state: State, next_action: NextAction, signal: CancelSignal) -> State:
    turn = Turn(
        exchange=state.exchange,
        remaining_turns=state.remaining,
        delivery_index=state.deliveries,
        result=state.result,
    )
    state = table.ask(state)
    try:
        action: object = await next_action(turn, signal)
    except Exception:
        if signal.error is not None:
            raise _cancelled(signal, None) from signal.error
        raise
    if signal.error is not None:
        return state  # the loop sees the cancel before it looks at the action
    match action:
        case Stop():
            return table.stop(state)
        case Continue():
            return table.proceed(state, action.request)
        case _:
            raise CallbackInvalid(
                f"the callback returned {type(action).__name__}; it must return Continue or Stop"
            )


async def _turn(
    state: State, run: RunTurn, signal: CancelSignal, observers: tuple[Observer, ...]
) -> State:
    request, exchange = state.request, state.exchange
    state = table.start(state)
    if request is None:
        raise IllegalMove("no request was chosen")
    continuation = evolve(
        request, continue_from=exchange, capture=True, observers=(*request.observers, *observers)
    )
    try:
        result = await run(continuation, signal)
    except PromptKitError as error:
        if error is signal.error:
            raise _cancelled(signal, None) from signal.error
        raise
    if result.exchange is None:
        raise IllegalMove("a continuation came back without its exchange")
    return table.complete(state, result, result.exchange)


def _cancelled(signal: CancelSignal, undelivered: RunResult | None) -> CoordinationCancelled:
    return CoordinationCancelled(signal.error or Cancelled("cancelled"), undelivered)
