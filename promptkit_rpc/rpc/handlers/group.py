"""`promptkit/group/*`."""

import asyncio
from typing import Any

from promptkit_rpc.rpc.convert.groups import group_snapshot, members
from promptkit_rpc.rpc.convert.values import array
from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.protocol.base import Empty
from promptkit_rpc.rpc.protocol.group import GroupCreated, GroupParams
from promptkit_rpc.rpc.state import State

_STRIDE = 2000
"""After so many members encoded, others get their turn."""


def create(state: State, _params: Empty, _: Call) -> GroupCreated:
    """A new group."""
    return GroupCreated(group_id=state.groups.create())


async def snapshot(state: State, params: GroupParams, _: Call) -> dict[str, Any]:
    """The group as it is now, as `GroupSnapshot`; the members are encoded here."""
    taken = state.groups.get(params.group_id).snapshot()
    parts: list[bytes] = []
    for start in range(0, len(taken.runs), _STRIDE):
        if start:
            await asyncio.sleep(0)
        parts.append(members(taken.runs[start : start + _STRIDE]))
    return group_snapshot(params.group_id, taken, array(parts))


def release(state: State, params: GroupParams, _: Call) -> None:
    """Lets go of it."""
    state.groups.release(params.group_id)
