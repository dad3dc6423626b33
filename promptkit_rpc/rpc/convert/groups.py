"""What a group answers, for the wire."""

from typing import Any

from msgspec import Raw
from msgspec.json import encode

from promptkit_rpc.groups import GroupSnapshot
from promptkit_rpc.rpc.codec import unstructure
from promptkit_rpc.rpc.convert.values import usage_to
from promptkit_rpc.rpc.protocol import group


def group_snapshot(group_id: str, snapshot: GroupSnapshot, runs: Raw) -> dict[str, Any]:
    """A group at one moment, as `GroupSnapshot`; its members are encoded already."""
    told = group.GroupSnapshot(
        group_id=group_id,
        runs=(),
        complete=snapshot.complete,
        attempts=snapshot.attempts,
        transient_retries=snapshot.transient_retries,
        repairs=snapshot.repairs,
        usage=usage_to(snapshot.usage),
    )
    return unstructure(told) | {"runs": runs}


def members(runs: tuple[tuple[str, bool], ...]) -> bytes:
    """Members as JSON objects with commas between them."""
    told = [group.GroupMember(run_id=run_id, terminal=terminal) for run_id, terminal in runs]
    return encode([unstructure(member) for member in told])[1:-1]
