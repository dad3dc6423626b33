"""`promptkit/prepare` and `promptkit/prepared/*`."""

import asyncio
from typing import Any

from promptkit_rpc.execution.prepare import Prepared
from promptkit_rpc.rpc.convert.prepared import prepared_details
from promptkit_rpc.rpc.convert.values import array, encoded
from promptkit_rpc.rpc.handles import Plan
from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.protocol.prepared import ExecuteParams, PreparedParams
from promptkit_rpc.rpc.protocol.run import RunParams, RunResult
from promptkit_rpc.rpc.state import State

_STRIDE = 1 << 18
"""After so many bytes encoded, others get their turn."""


async def prepare(state: State, params: RunParams, call: Call) -> dict[str, Any]:
    """Resolves and renders, and answers a `PrepareResult`.

    The request's tokens are kept for the execution.
    """
    engine = state.engines.get(params.engine_id)
    request = state.request(params)
    with state.progress(params.work_done_token, f"preparing {params.prompt_id}"):
        prepared = await engine.prepare(request, call.signal)
    details = await _details(prepared)
    plan = Plan(
        prepared=prepared,
        engine=engine,
        observe=params.observe,
        partial_result_token=params.partial_result_token,
    )
    return {"preparedId": state.prepared.hold(plan), "details": details}


async def details(state: State, params: PreparedParams, _: Call) -> dict[str, Any]:
    """What it will send, as `PreparedDetails`."""
    return await _details(state.prepared.get(params.prepared_id).prepared)


async def _details(prepared: Prepared) -> dict[str, Any]:
    plan = prepared.plan
    parts: list[bytes] = []
    size = 0
    for segment in plan.history.segments():
        parts.append(encoded(segment.added))
        size += len(parts[-1])
        if size > _STRIDE:
            size = 0
            await asyncio.sleep(0)
    return prepared_details(plan, array(parts))


async def execute(state: State, params: ExecuteParams, call: Call) -> RunResult:
    """Sends it, once; what is observed and streamed is said here or was at `prepare`."""
    state.prepared.get(params.prepared_id).engine.check_open()  # it is not used up by that
    plan = state.prepared.take(params.prepared_id)
    progress = state.progress(params.work_done_token, plan.prepared.plan.prompt_id)
    observe, text = params.observe, params.partial_result_token
    observers = state.observing(plan.observe if observe is None else observe)
    with state.running(), progress:
        result = await plan.engine.execute(
            plan.prepared,
            call.signal,
            observers=(*observers, *progress.observers),
            stream=state.stream(plan.partial_result_token if text is None else text),
        )
    return state.completed(result)


def discard(state: State, params: PreparedParams, _: Call) -> None:
    """Gives it up."""
    state.prepared.take(params.prepared_id).prepared.claim()
