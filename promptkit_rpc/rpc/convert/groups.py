"""What a group answers, for the wire."""

from promptkit_rpc.groups import GroupSnapshot
from promptkit_rpc.rpc.convert.values import usage_to
from promptkit_rpc.rpc.protocol import group


def group_snapshot(group_id: str, snapshot: GroupSnapshot) -> group.GroupSnapshot:
    """A group at one moment."""
    return group.GroupSnapshot(
        group_id=group_id,
        runs=tuple(
            [
                group.GroupMember(run_id=run_id, terminal=terminal)
                for run_id, terminal in snapshot.runs
            ]
        ),
        complete=snapshot.complete,
        attempts=snapshot.attempts,
        transient_retries=snapshot.transient_retries,
        repairs=snapshot.repairs,
        usage=usage_to(snapshot.usage),
    )
