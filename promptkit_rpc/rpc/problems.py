"""Tells a client without text documents what is wrong in its workspace: once, as a line to log."""

import asyncio
from typing import Any, Protocol

from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.engine import Engine
from promptkit_rpc.secret import known
from promptkit_rpc.services import Services, Timer

DELAY = 0.5
"""Seconds after the workspace was first asked for something: the answer to that goes first."""

SHOWN = 5
"""How many problems are named."""

_WARNING = 2


class Client(Protocol):
    """Where the line goes."""

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification."""
        ...


class ProblemLog:
    """Looks at the whole workspace when its engine has been opened, off the event loop."""

    def __init__(self, client: Client, services: Services) -> None:
        self._client = client
        self._services = services
        self._timer: Timer | None = None
        self._task: asyncio.Task[None] | None = None

    def opened(self, engine: Engine) -> None:
        """The default engine has been opened."""
        self._timer = self._services.later(DELAY, lambda: self._start(engine))

    async def told(self) -> None:
        """Waits for a look that is under way."""
        if self._task is not None:
            await self._task

    def close(self) -> None:
        """Says nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _start(self, engine: Engine) -> None:
        self._task = asyncio.get_running_loop().create_task(self._tell(engine))

    async def _tell(self, engine: Engine) -> None:
        problems = await asyncio.to_thread(engine.problems)
        if problems:
            line = {"type": _WARNING, "message": summary(problems)}
            self._client.notify("window/logMessage", line)


def summary(problems: tuple[Problem, ...]) -> str:
    """The first problems with their places, and how many there are; free of credentials."""
    count = len(problems)
    told = [f"the workspace has {count} problem{'' if count == 1 else 's'}"]
    told += [f"  {problem}" for problem in problems[:SHOWN]]
    if count > SHOWN:
        told.append(f"  and {count - SHOWN} more; `promptkit/engine/reload` answers them all")
    return known().text("\n".join(told)).encode(errors="replace").decode()
