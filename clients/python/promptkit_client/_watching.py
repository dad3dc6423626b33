"""What a request wants to be told: its tokens, and the functions that get what comes under them."""

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Any, TypedDict

from promptkit_client._codec import decode
from promptkit_client.types import (
    Observation,
    TextDelta,
    TextReset,
    WorkDoneBegin,
    WorkDoneEnd,
    WorkDoneReport,
)

Listener = Callable[[dict[str, Any]], None]
Progress = WorkDoneBegin | WorkDoneReport | WorkDoneEnd

_log = logging.getLogger("promptkit_client")
_numbers = itertools.count(1)
_STEPS = {"begin": WorkDoneBegin, "report": WorkDoneReport, "end": WorkDoneEnd}


class Watched(TypedDict, total=False):
    """What is told while it goes on, in order and before the result; and a way to cancel.

    What a function raises ends the request and is raised by it. `cancel` cancels the request when
    it is set, and lets it return what the server answers.
    """

    on_event: Callable[[Observation], None]
    on_text: Callable[[TextDelta | TextReset], None]
    on_progress: Callable[[Progress], None]
    cancel: asyncio.Event


class Watching:
    """The tokens of one request."""

    def __init__(self, watched: Watched) -> None:
        if unknown := set(watched) - Watched.__annotations__.keys():
            raise TypeError(f"there is no option {', '.join(sorted(unknown))}")
        self._watched = watched
        self._failed = asyncio.Event()
        self.failure: Exception | None = None
        self.tokens: dict[str, str] = {}
        self.listeners: dict[Any, Listener] = {}
        number = next(_numbers)
        for option, name, listener in (
            ("on_event", "observe", self._event),
            ("on_text", "partialResultToken", self._text),
            ("on_progress", "workDoneToken", self._progress),
        ):
            if option in watched:
                self.tokens[name] = f"{name}-{number}"
                self.listeners[self.tokens[name]] = self._guarded(listener)

    @property
    def cancels(self) -> list[asyncio.Event]:
        """Each of them cancels the request when it is set."""
        events = [self._failed] if self.listeners else []
        return [*events, self._watched["cancel"]] if "cancel" in self._watched else events

    def _guarded(self, function: Listener) -> Listener:
        """What it raises ends the request; what is not known of a newer server is let pass."""

        def listener(params: dict[str, Any]) -> None:
            if self.failure is not None:
                return
            try:
                function(params)
            except Exception as raised:  # noqa: BLE001 - it is raised where the request was made
                self.failure = raised
                self._failed.set()

        return listener

    def _event(self, params: dict[str, Any]) -> None:
        observation = _known(Observation, params)
        if observation and "on_event" in self._watched:
            self._watched["on_event"](observation)

    def _text(self, params: dict[str, Any]) -> None:
        value = params["value"]
        piece = _known(TextReset if "reset" in value else TextDelta, value)
        if piece and "on_text" in self._watched:
            self._watched["on_text"](piece)

    def _progress(self, params: dict[str, Any]) -> None:
        kind = _STEPS.get(params["value"].get("kind"))
        step = kind and _known(kind, params["value"])
        if step and "on_progress" in self._watched:
            self._watched["on_progress"](step)


def _known(kind: Any, value: Any) -> Any:
    try:
        return decode(kind, value)
    except ValueError as fault:
        _log.debug("let pass: %s", fault)
        return None
