"""`promptkit/group/*`."""

from promptkit_rpc.rpc.convert.groups import group_snapshot
from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.protocol.base import Empty
from promptkit_rpc.rpc.protocol.group import GroupCreated, GroupParams, GroupSnapshot
from promptkit_rpc.rpc.state import State


def create(state: State, _params: Empty, _: Call) -> GroupCreated:
    """A new group."""
    return GroupCreated(group_id=state.groups.create())


def snapshot(state: State, params: GroupParams, _: Call) -> GroupSnapshot:
    """The group as it is now."""
    return group_snapshot(params.group_id, state.groups.get(params.group_id).snapshot())


def release(state: State, params: GroupParams, _: Call) -> None:
    """Lets go of it."""
    state.groups.release(params.group_id)
