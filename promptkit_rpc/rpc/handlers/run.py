"""`promptkit/run`."""

from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.protocol.run import RunParams, RunResult
from promptkit_rpc.rpc.state import State


async def run(state: State, params: RunParams, call: Call) -> RunResult:
    """Prepares and executes one request."""
    engine = state.engines.get(params.engine_id)
    progress = state.progress(params.work_done_token, params.prompt_id)
    observers = (*state.observing(params.observe), *progress.observers)
    request = state.request(params, observers=observers, text=params.partial_result_token)
    with state.running(), progress:
        result = await engine.run(request, call.signal)
    return state.completed(result)
