"""`promptkit/session/status`: asked often, so it is made as plain data at once."""

from typing import Any

from promptkit_rpc.engine import BackendLoad
from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.protocol.base import Empty
from promptkit_rpc.rpc.state import State


def status(state: State, _params: Empty, _: Call) -> dict[str, Any]:
    """Counts, bytes and load as they are now, in the shape of `protocol.status.SessionStatus`.

    Its cost does not grow with what is held.
    """
    return {
        "exchanges": {"count": len(state.exchanges), "bytes": state.exchanges.bytes},
        "groups": {"count": len(state.groups)},
        "prepared": {"count": len(state.prepared)},
        "runs": {"active": state.active},
        "engines": [
            {
                "engineId": engine_id,
                "root": str(root),
                "backends": [] if engine is None else [_load(load) for load in engine.load()],
            }
            for engine_id, root, engine in state.engines
        ],
    }


def _load(load: BackendLoad) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": load.name,
        "leases": load.leases,
        "waiting": load.waiting,
        "generating": load.generating,
    }
    if load.capacity is not None:
        shown["capacity"] = load.capacity
    if load.permits is not None:
        shown["permits"] = load.permits
    return shown
