"""Runs as log lines, for `--log-level info`: names, numbers and reasons, never content."""

import logging

from promptkit_rpc.execution.observe import (
    AttemptFinished,
    Event,
    RepairStarted,
    RetryScheduled,
    RunFinished,
    RunStarted,
)

_log = logging.getLogger(__name__)


def logged(event: Event) -> None:
    """An observer that says what a run is doing."""
    match event:
        case RunStarted():
            words = f"{event.prompt_id} on {event.backend}, model {event.model}"
        case AttemptFinished() if event.error is not None:
            reason = event.error.reason or event.error.kind
            words = f"attempt {event.attempt} failed: {reason.value}"
        case RetryScheduled():
            words = f"trying again in {event.delay:.1f} s"
        case RepairStarted():
            words = f"asking again, {_counted(event.violations, 'violation')}"
        case RunFinished():
            words = f"{event.outcome.value} after {_counted(event.attempts, 'attempt')}"
            if event.error is not None:
                words += f": {event.error.kind.value}"
        case _:
            return
    _log.info("%s: %s", event.run_id, words)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
