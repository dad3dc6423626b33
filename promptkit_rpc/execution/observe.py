"""The events of a run and their synchronous delivery. Events never carry message content."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from attrs import frozen

from promptkit_rpc.errors import Kind, Reason
from promptkit_rpc.generation import FinishReason
from promptkit_rpc.output.contract import Status
from promptkit_rpc.usage import TokenCounts, Usage


class RunOutcome(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@frozen(kw_only=True)
class ErrorNote:
    """An error as an observation tells it: no message, since a provider's may quote content."""

    kind: Kind
    reason: Reason | None = None
    http_status: int | None = None


@frozen(kw_only=True)
class RunStarted:
    """A run began; `time` is in seconds since the epoch, here and in every event."""

    run_id: str
    time: float
    prompt_id: str
    profile: str
    backend: str
    model: str
    parent_run_id: str | None


@frozen(kw_only=True)
class Admitted:
    """The run holds its lease after waiting so many seconds."""

    run_id: str
    time: float
    waited: float


@frozen(kw_only=True)
class AttemptStarted:
    """A generation call starts; attempts count from 1."""

    run_id: str
    time: float
    attempt: int


@frozen(kw_only=True)
class AttemptFinished:
    """A generation call ended, with what usage it reported itself."""

    run_id: str
    time: float
    attempt: int
    usage: TokenCounts
    finish_reason: FinishReason | None = None
    error: ErrorNote | None = None


@frozen(kw_only=True)
class RetryScheduled:
    """Another attempt follows after a delay in seconds, for this reason."""

    run_id: str
    time: float
    delay: float
    reason: Reason


@frozen(kw_only=True)
class RepairStarted:
    """The model is asked again; `violations` is their count."""

    run_id: str
    time: float
    violations: int


@frozen(kw_only=True)
class RunFinished:
    """The one terminal event of a run; it sums up everything before it."""

    run_id: str
    time: float
    outcome: RunOutcome
    attempts: int
    transient_retries: int
    repairs: int
    usage: Usage
    validation: Status | None = None
    error: ErrorNote | None = None


Event: TypeAlias = (
    RunStarted
    | Admitted
    | AttemptStarted
    | AttemptFinished
    | RetryScheduled
    | RepairStarted
    | RunFinished
)
Observer: TypeAlias = Callable[[Event], None]


def compose(*observers: Observer) -> Observer:
    """One observer that calls each in order; what one raises goes to the caller at once."""
    match observers:
        case (single,):
            return single
        case _:

            def observer(event: Event) -> None:
                for one in observers:
                    one(event)

            return observer
