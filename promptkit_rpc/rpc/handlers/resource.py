"""`promptkit/prompt/*`, `promptkit/profile/*`, `promptkit/backend/*`.

Listing prompts reads every file of the workspace, in a thread: it delays no other request.
"""

import asyncio

from promptkit_rpc.rpc.convert import resources as convert
from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.protocol import resources as wire
from promptkit_rpc.rpc.protocol.engine import EngineParams
from promptkit_rpc.rpc.state import State


async def list_prompts(state: State, params: EngineParams, _: Call) -> wire.PromptList:
    """Every valid prompt."""
    prompts = await asyncio.to_thread(state.engines.get(params.engine_id).prompts)
    return wire.PromptList(items=tuple([convert.prompt_item(prompt) for prompt in prompts]))


def list_profiles(state: State, params: EngineParams, _: Call) -> wire.ProfileList:
    """Every profile."""
    profiles = state.engines.get(params.engine_id).profiles()
    return wire.ProfileList(items=tuple([convert.profile_item(profile) for profile in profiles]))


def list_backends(state: State, params: EngineParams, _: Call) -> wire.BackendList:
    """Every backend."""
    backends = state.engines.get(params.engine_id).backends()
    return wire.BackendList(items=tuple([convert.backend_item(backend) for backend in backends]))


def inspect_prompt(state: State, params: wire.PromptParams, _: Call) -> wire.PromptInspection:
    """A prompt as authored."""
    engine = state.engines.get(params.engine_id)
    return convert.prompt_inspection(engine.inspect_prompt(params.prompt_id))


def inspect_profile(state: State, params: wire.ProfileParams, _: Call) -> wire.ProfileInspection:
    """A profile."""
    engine = state.engines.get(params.engine_id)
    return convert.profile_inspection(engine.inspect_profile(params.profile))


def inspect_backend(state: State, params: wire.BackendParams, _: Call) -> wire.BackendInspection:
    """A backend, without its keys."""
    engine = state.engines.get(params.engine_id)
    return convert.backend_inspection(engine.inspect_backend(params.backend))
