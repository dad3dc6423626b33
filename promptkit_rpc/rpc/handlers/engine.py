"""`promptkit/engine/*`. Files are read in a thread: a large workspace delays no other request."""

import asyncio

from promptkit_rpc.definitions.problem import Problem as CoreProblem
from promptkit_rpc.rpc.convert.resources import problem_to
from promptkit_rpc.rpc.hello import local_path
from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.protocol.engine import (
    EngineOpened,
    EngineOpenParams,
    EngineParams,
    EngineReloaded,
    Problem,
)
from promptkit_rpc.rpc.state import State


async def open_(state: State, params: EngineOpenParams, _: Call) -> EngineOpened:
    """Opens another configuration."""
    root = None if params.root is None else local_path(params.root)
    engine_id, engine = state.engines.open(root, params.config)
    return EngineOpened(
        engine_id=engine_id, problems=_problems(await asyncio.to_thread(engine.problems))
    )


async def close(state: State, params: EngineParams, _: Call) -> None:
    """Closes one; its runs in flight finish."""
    await state.engines.close(params.engine_id)


async def reload(state: State, params: EngineParams, _: Call) -> EngineReloaded:
    """Reads changed files again."""
    engine = state.engines.get(params.engine_id)
    return EngineReloaded(problems=_problems(await engine.reload()))


def _problems(problems: tuple[CoreProblem, ...]) -> tuple[Problem, ...]:
    return tuple([problem_to(problem) for problem in problems])
