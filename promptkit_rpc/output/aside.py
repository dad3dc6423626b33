"""Runs a long check in a process of its own, so that it never holds up the other runs.

The libraries that decode and validate hold the interpreter's lock, so a thread would not do. Knows
nothing of what is checked: bytes in, bytes out.
"""

import asyncio
import os
import sys
from weakref import WeakKeyDictionary

LIMIT = 60.0
"""The longest a check may take, in seconds; the process also ends itself after so much CPU time."""

AT_ONCE = 2
"""How many such processes run at a time in one event loop; further checks wait."""

_slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class AsideFailed(Exception):  # noqa: N818 - says what happened
    """The check gave no result; the message says why."""


async def aside(module: str, work: bytes, limit: float = LIMIT) -> bytes:
    """What the module writes to its output for the bytes at its input.

    Raises:
        AsideFailed: it took too long or came to a bad end.
        OSError: no process can be started here.
    """
    slot = _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))
    async with slot:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            # The working folder is a workspace: nothing is to be imported from there.
            "-P",
            "-m",
            module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        try:
            async with asyncio.timeout(limit):
                result, _ = await process.communicate(work)
        except TimeoutError:
            raise AsideFailed(f"it took more than {limit:g} s") from None
        finally:
            await _ended(process)
    if process.returncode != 0:
        raise AsideFailed(f"its process ended with status {process.returncode}")
    return result


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        # Not to be interrupted: a killed process is gone at once, and its pipes are to be closed.
        await asyncio.shield(process.communicate())
