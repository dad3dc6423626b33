"""The events of a run, for the wire."""

from typing import assert_never

from promptkit_rpc.execution import observe as core
from promptkit_rpc.rpc.convert.values import counts_to, milliseconds, usage_to
from promptkit_rpc.rpc.protocol import observation as wire


def event_to(event: core.Event) -> wire.Event:  # noqa: PLR0911 - one return an event
    """An event's counterpart."""
    time = event.time
    match event:
        case core.RunStarted():
            return wire.RunStarted(
                time=time,
                prompt_id=event.prompt_id,
                profile=event.profile,
                backend=event.backend,
                model=event.model,
                parent_run_id=event.parent_run_id,
            )
        case core.Admitted():
            return wire.Admitted(time=time, waited_ms=milliseconds(event.waited))
        case core.AttemptStarted():
            return wire.AttemptStarted(time=time, attempt=event.attempt)
        case core.AttemptFinished():
            return wire.AttemptFinished(
                time=time,
                attempt=event.attempt,
                usage=counts_to(event.usage),
                finish_reason=event.finish_reason,
                error=_note(event.error),
            )
        case core.RetryScheduled():
            return wire.RetryScheduled(
                time=time, delay_ms=milliseconds(event.delay), reason=event.reason
            )
        case core.RepairStarted():
            return wire.RepairStarted(time=time, violations=event.violations)
        case core.RunFinished():
            return _finished(event)
        case _:
            assert_never(event)


def _finished(event: core.RunFinished) -> wire.RunFinished:
    return wire.RunFinished(
        time=event.time,
        outcome=event.outcome,
        attempts=event.attempts,
        transient_retries=event.transient_retries,
        repairs=event.repairs,
        usage=usage_to(event.usage),
        validation=event.validation,
        error=_note(event.error),
    )


def _note(error: core.ErrorNote | None) -> wire.ErrorNote | None:
    if error is None:
        return None
    return wire.ErrorNote(kind=error.kind, reason=error.reason, http_status=error.http_status)
