"""Events of a run in words for people; names, numbers and reasons, never content."""

from promptkit_rpc.execution.observe import (
    AttemptFinished,
    Event,
    RepairStarted,
    RetryScheduled,
    RunStarted,
)


def words_of(event: Event) -> str | None:
    """What an event means to somebody who waits for the run's end; None where it is nothing."""
    match event:
        case RunStarted():
            return f"{event.prompt_id} on {event.backend}, model {event.model}"
        case AttemptFinished() if event.error is not None:
            reason = event.error.reason or event.error.kind
            return f"attempt {event.attempt} failed: {reason.value}"
        case RetryScheduled():
            return f"trying again in {event.delay:.1f} s"
        case RepairStarted():
            many = "" if event.violations == 1 else "s"
            return (
                f"the answer breaks its contract ({event.violations} violation{many}); asking again"
            )
        case _:
            return None
