"""Loads ahead of the first run what that will take, while the client asks for nothing else.

What a workspace does not use is not loaded; nothing of what is read is kept.
"""

import asyncio
from pathlib import Path

from promptkit_rpc.definitions.reading import USUAL_CONFIG
from promptkit_rpc.engine import preload
from promptkit_rpc.services import Services

DELAY = 0.2
"""Seconds after the start: a request that is already there goes first."""


class Ahead:
    """Looks into the settings once, off the event loop, and imports what their backends need."""

    def __init__(self, root: Path, config: str | None, services: Services) -> None:
        self._place = (root, config or USUAL_CONFIG)
        self._timer = services.later(DELAY, self._start)
        self._task: asyncio.Task[None] | None = None

    async def done(self) -> None:
        """Waits for what is under way."""
        if self._task is not None:
            await self._task

    def close(self) -> None:
        """Loads nothing any more."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        loading = asyncio.to_thread(preload, *self._place)
        self._task = asyncio.get_running_loop().create_task(loading)
