"""`promptkit/session/status`."""

from promptkit_rpc.engine import BackendLoad
from promptkit_rpc.rpc.peer import Call
from promptkit_rpc.rpc.protocol import status as wire
from promptkit_rpc.rpc.protocol.base import Empty
from promptkit_rpc.rpc.state import State


def status(state: State, _params: Empty, _: Call) -> wire.SessionStatus:
    """Counts, bytes and load as they are now; its cost does not grow with what is held."""
    return wire.SessionStatus(
        exchanges=wire.HeldExchanges(count=len(state.exchanges), bytes=state.exchanges.bytes),
        groups=wire.Held(count=len(state.groups)),
        prepared=wire.Held(count=len(state.prepared)),
        runs=wire.ActiveRuns(active=state.active),
        engines=tuple(
            [
                wire.EngineLoad(
                    engine_id=engine_id,
                    root=str(root),
                    backends=() if engine is None else tuple(map(_load, engine.load())),
                )
                for engine_id, root, engine in state.engines
            ]
        ),
    )


def _load(load: BackendLoad) -> wire.BackendLoad:
    return wire.BackendLoad(
        name=load.name,
        capacity=load.capacity,
        leases=load.leases,
        waiting=load.waiting,
        permits=load.permits,
        generating=load.generating,
    )
