"""What the session holds and how busy its engines are."""

from typing import Annotated

from attrs import frozen

from promptkit_rpc.rpc.protocol.base import Count, Doc


@frozen(kw_only=True)
class HeldExchanges:
    """Exchanges held for the client."""

    count: Annotated[Count, Doc("How many.")]
    bytes: Annotated[Count, Doc("Bytes of content and cache metadata; what is shared counts once.")]


@frozen(kw_only=True)
class Held:
    """Handles of one sort."""

    count: Annotated[Count, Doc("How many.")]


@frozen(kw_only=True)
class ActiveRuns:
    """Runs."""

    active: Annotated[Count, Doc("Executions that have not ended.")]


@frozen(kw_only=True)
class BackendLoad:
    """How busy a backend is."""

    name: Annotated[str, Doc("The backend.")]
    capacity: Annotated[Count | None, Doc("Runs admitted at a time; absent: unlimited.")] = None
    leases: Annotated[Count, Doc("Runs admitted now.")]
    waiting: Annotated[Count, Doc("Runs that wait to be admitted.")]
    permits: Annotated[Count | None, Doc("Calls in flight at a time; absent: unlimited.")] = None
    generating: Annotated[Count, Doc("Calls in flight now.")]


@frozen(kw_only=True)
class EngineLoad:
    """An open engine."""

    engine_id: Annotated[str, Doc("The engine.")]
    root: Annotated[str | None, Doc("Its folder.")] = None
    backends: Annotated[tuple[BackendLoad, ...], Doc("Those that a request has used so far.")]


@frozen(kw_only=True)
class SessionStatus:
    """Counts and bytes held, and per backend its load."""

    exchanges: Annotated[HeldExchanges, Doc("Held exchanges.")]
    groups: Annotated[Held, Doc("Groups.")]
    prepared: Annotated[Held, Doc("Prepared executions neither executed nor discarded.")]
    runs: Annotated[ActiveRuns, Doc("Runs.")]
    engines: Annotated[tuple[EngineLoad, ...], Doc("Open engines.")]
