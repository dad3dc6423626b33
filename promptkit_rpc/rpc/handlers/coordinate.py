"""`promptkit/coordinate`: one branch, driven by what the client answers."""

import asyncio

from attrs import evolve

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.coordination import driver
from promptkit_rpc.coordination.actions import (
    Action,
    Continue,
    CoordinationCancelled,
    Stop,
    Turn,
)
from promptkit_rpc.errors import CallbackInvalid, RequestInvalid
from promptkit_rpc.execution.request import RunRequest, RunResult
from promptkit_rpc.rpc.codec import FAILURES, structuring, unstructure
from promptkit_rpc.rpc.convert.results import reference
from promptkit_rpc.rpc.errors import UnusableAnswer
from promptkit_rpc.rpc.faults import told
from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.progress import SILENT, Progress
from promptkit_rpc.rpc.protocol.coordination import (
    ContinueAction,
    CoordinateParams,
    CoordinateResult,
    CoordinationOutcome,
    NextParams,
    NextResult,
    StopAction,
)
from promptkit_rpc.rpc.protocol.run import RunParams
from promptkit_rpc.rpc.protocol.run import RunResult as WireResult
from promptkit_rpc.rpc.state import State

_METHOD = "promptkit/coordinator/next"
_read_action = structuring(NextResult)


async def coordinate(state: State, params: CoordinateParams, call: Call) -> CoordinateResult:
    """Drives the branch. A cancel is a result here, so that a paid-for answer is not lost."""
    start = state.exchanges.get(params.exchange)
    observers = (*state.groups.chosen(params.groups), *state.observing(params.observe))
    if params.engine_id is not None:
        state.engines.get(params.engine_id)
    progress = state.progress(params.work_done_token, "coordination")
    with (
        state.coordinations.use(params.coordination_id) as coordination_id,
        call.signal.child() as own,
        progress,
    ):
        branch = _Branch(state, params, coordination_id, call.signal, progress)
        # When the connection ends, the turn in flight may finish, but no other starts.
        closing = state.peer.closing
        remove = closing.on_cancel(lambda: own.cancel(closing.error))
        try:
            outcome = await driver.coordinate(
                start,
                branch.next,
                additional_turns=params.additional_turns,
                run=branch.run,
                signal=own,
                observers=(*observers, *progress.observers),
            )
        except CoordinationCancelled as cancelled:
            progress.ended("cancelled")
            return branch.cancelled(cancelled.undelivered)
        finally:
            remove()
        progress.ended(outcome.value)
        return CoordinateResult(outcome=CoordinationOutcome(outcome.value))


class _Branch:
    """The client as the coordinator's callback, and the engines as what runs its turns."""

    def __init__(
        self,
        state: State,
        params: CoordinateParams,
        coordination_id: str,
        signal: CancelSignal,
        progress: Progress,
    ) -> None:
        self._state = state
        self._params = params
        self._id = coordination_id
        self._signal = signal
        self._progress = progress
        self._engine_id = params.engine_id
        self._shown = SILENT
        self._turns = 0
        self._result: WireResult | None = None

    async def next(self, turn: Turn, signal: CancelSignal) -> Action:
        """Asks the client, and delivers the result of the turn before.

        Raises:
            CallbackInvalid: it answered no action, or not in time.
            RpcError: it answered with this error.
        """
        asked = NextParams(
            coordination_id=self._id,
            exchange=reference(turn.exchange),
            remaining_turns=turn.remaining_turns,
            delivery_index=turn.delivery_index,
            result=self._result,
        )
        self._progress.report("waiting for the client")
        try:
            answered = await self._ask(asked, signal)
        except UnusableAnswer as unusable:
            raise CallbackInvalid(f"{_METHOD}: result: {unusable.message}") from None
        try:
            action = _read_action(answered)
        except FAILURES:
            raise CallbackInvalid(f"{_METHOD}: {told(answered, NextResult, 'result')}") from None
        match action:
            case ContinueAction() if turn.remaining_turns == 0:
                # It is not executed, so the groups that it names need not be there.
                return Continue(self._request(evolve(action.request, groups=None)))
            case ContinueAction():
                return Continue(self._request(action.request))
            case StopAction():
                return Stop()
            case _:
                raise CallbackInvalid(f"{_METHOD}: no action")

    async def _ask(self, asked: NextParams, signal: CancelSignal) -> object:
        limit = self._params.callback_timeout_ms
        asking = self._state.peer.request(_METHOD, unstructure(asked), signal)
        if limit is None:
            return await asking
        bound = asyncio.timeout(limit / 1000)
        try:
            async with bound:
                return await asking
        except TimeoutError:
            if not bound.expired():
                raise
            raise CallbackInvalid(
                f"{_METHOD} was not answered within {limit} ms (callbackTimeoutMs)"
            ) from None

    def _request(self, params: RunParams) -> RunRequest:
        if params.continue_from is not None:
            raise CallbackInvalid(
                f"{_METHOD}: result.request.continueFrom: a coordination continues its own branch;"
                " leave it out"
            )
        text, observe = params.partial_result_token, params.observe
        observers = () if observe == self._params.observe else self._state.observing(observe)
        shown = self._state.progress(params.work_done_token, params.prompt_id, cancellable=False)
        try:
            request = self._state.request(
                params,
                observers=(*observers, *shown.observers),
                text=self._params.partial_result_token if text is None else text,
            )
        except RequestInvalid as invalid:
            raise CallbackInvalid(f"{_METHOD}: result.request: {invalid.message}") from None
        self._engine_id = self._params.engine_id if params.engine_id is None else params.engine_id
        self._shown = shown
        return request

    async def run(self, request: RunRequest, _: CancelSignal) -> RunResult:
        """Runs a turn with the engine that its request names, else the coordination's."""
        engine = self._state.engines.get(self._engine_id)
        self._turns += 1
        self._progress.turn(self._turns)
        with self._state.running(), self._shown:
            result = await engine.run(request, self._signal)
        self._result = self._state.completed(result)
        return result

    def cancelled(self, undelivered: RunResult | None) -> CoordinateResult:
        """The end of a cancelled coordination, with what its callback never got."""
        return CoordinateResult(
            outcome=CoordinationOutcome.CANCELLED,
            undelivered=None if undelivered is None else self._result,
        )
