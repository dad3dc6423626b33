"""Runs as log lines, for `--log-level info`: names, numbers and reasons, never content."""

import logging

from promptkit_rpc.execution.observe import Event, RunFinished
from promptkit_rpc.execution.words import words_of

_log = logging.getLogger(__name__)


def logged(event: Event) -> None:
    """An observer that says what a run is doing."""
    words = words_of(event)
    if isinstance(event, RunFinished):
        words = f"{event.outcome.value}, attempts: {event.attempts}"
        if event.error is not None:
            words += f", {event.error.kind.value}"
    if words is not None:
        _log.info("%s: %s", event.run_id, words)
