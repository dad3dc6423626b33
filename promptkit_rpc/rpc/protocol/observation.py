"""The events of a run. They never carry message content. Times are seconds since the epoch."""

from typing import Annotated, Literal

from attrs import frozen

from promptkit_rpc.errors import Kind, Reason
from promptkit_rpc.execution.observe import RunOutcome
from promptkit_rpc.generation import FinishReason
from promptkit_rpc.output.contract import Status
from promptkit_rpc.rpc.protocol.base import Count, Doc, Positive, Tag, Token
from promptkit_rpc.rpc.protocol.usage import Usage


@frozen(kw_only=True)
class ErrorNote:
    """An error as an observation tells it: no message, for a provider's may quote content."""

    kind: Annotated[Kind, Doc("As in `data.kind` of an error.")]
    reason: Annotated[Reason | None, Doc("Why a generation failed.")] = None
    http_status: Annotated[Count | None, Doc("The provider's status.")] = None


@frozen(kw_only=True)
class Timed:
    """What every event has."""

    time: Annotated[float, Doc("Seconds since the epoch.")]


@frozen(kw_only=True)
class RunStarted(Timed):
    """A run began."""

    kind: Annotated[Literal["runStarted"], Doc("The event.")] = "runStarted"
    prompt_id: Annotated[str, Doc("The prompt.")]
    profile: Annotated[str, Doc("The profile.")]
    backend: Annotated[str, Doc("The backend.")]
    model: Annotated[str, Doc("The model.")]
    parent_run_id: Annotated[str | None, Doc("The run whose exchange is continued.")] = None


@frozen(kw_only=True)
class Admitted(Timed):
    """The run holds its lease."""

    kind: Annotated[Literal["admitted"], Doc("The event.")] = "admitted"
    waited_ms: Annotated[Count, Doc("Milliseconds it waited.")]


@frozen(kw_only=True)
class AttemptStarted(Timed):
    """A generation call starts."""

    kind: Annotated[Literal["attemptStarted"], Doc("The event.")] = "attemptStarted"
    attempt: Annotated[Positive, Doc("Counts from 1.")]


@frozen(kw_only=True)
class AttemptFinished(Timed):
    """A generation call ended."""

    kind: Annotated[Literal["attemptFinished"], Doc("The event.")] = "attemptFinished"
    attempt: Annotated[Positive, Doc("Counts from 1.")]
    usage: Annotated[Usage, Doc("What this call reported itself.")]
    finish_reason: Annotated[FinishReason | None, Doc("Why the answer ended.")] = None
    error: Annotated[ErrorNote | None, Doc("Why there is no answer.")] = None


@frozen(kw_only=True)
class RetryScheduled(Timed):
    """Another call follows because this one failed in a way that may pass."""

    kind: Annotated[Literal["retryScheduled"], Doc("The event.")] = "retryScheduled"
    delay_ms: Annotated[Count, Doc("Milliseconds until then.")]
    reason: Annotated[Reason, Doc("Why.")]


@frozen(kw_only=True)
class RepairStarted(Timed):
    """The model is asked again because the answer broke its contract."""

    kind: Annotated[Literal["repairStarted"], Doc("The event.")] = "repairStarted"
    violations: Annotated[Count, Doc("How many faults the answer has.")]


@frozen(kw_only=True)
class RunFinished(Timed):
    """The one terminal event; it sums up everything before it."""

    kind: Annotated[Literal["runFinished"], Doc("The event.")] = "runFinished"
    outcome: Annotated[RunOutcome, Doc("How the run ended.")]
    attempts: Annotated[Count, Doc("Generation calls.")]
    transient_retries: Annotated[Count, Doc("Calls repeated because something failed.")]
    repairs: Annotated[Count, Doc("Calls repeated because the answer broke the contract.")]
    usage: Annotated[Usage, Doc("Over all attempts.")]
    validation: Annotated[Status | None, Doc("The verdict on the answer, if there is one.")] = None
    error: Annotated[ErrorNote | None, Doc("Why there is no answer.")] = None


Event = Annotated[
    RunStarted
    | Admitted
    | AttemptStarted
    | AttemptFinished
    | RetryScheduled
    | RepairStarted
    | RunFinished,
    Tag("kind", "Event"),
]


@frozen(kw_only=True)
class Observation:
    """One event of one run; all of a run's come before its response."""

    token: Annotated[Token, Doc("The request's `observe`.")]
    run_id: Annotated[str, Doc("The run.")]
    seq: Annotated[Count, Doc("Counts the run's events from 0.")]
    event: Annotated[Event, Doc("What happened.")]
