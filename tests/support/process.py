"""The daemon's process: its pipes as bytes, its end, its stderr. Knows no message."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from tests.support.frames import read_frame

ROOT = Path(__file__).parents[2]
BOUND = 60.0
"""Seconds that a read or the process's end may take."""


class RawDaemon:
    """`promptkit-rpc serve` on pipes, started when the block is entered and killed when it ends.

    Args:
        root: the workspace, also the working directory unless `cwd` is given.
        command: another command line to start.
        args: words after `serve`.
        flags: words between the interpreter and `-m`.
        env: changes to the environment; None takes a variable away.
    """

    def __init__(
        self,
        root: Path | None = None,
        *,
        command: Sequence[str] | None = None,
        args: Sequence[str] = (),
        flags: Sequence[str] = (),
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.root = root
        self.command = command or [sys.executable, *flags, "-m", "promptkit_rpc", "serve", *args]
        self._environment = environment(env or {})
        self._cwd = cwd or root
        self._stderr = bytearray()
        self._drain: asyncio.Task[None] | None = None
        self.process: asyncio.subprocess.Process
        self.received = bytearray()
        """Every byte read from stdout so far."""

    async def __aenter__(self) -> Self:
        await self.launch()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    async def launch(self) -> None:
        """Starts the process; `__aenter__` does so."""
        self.process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment,
            cwd=self._cwd,
            limit=1 << 20,
        )
        self._drain = asyncio.create_task(self._read_stderr())

    async def _read_stderr(self) -> None:
        assert self.process.stderr
        while chunk := await self.process.stderr.read(1 << 16):
            self._stderr += chunk

    # Bytes

    def put(self, data: bytes) -> None:
        """Hands bytes to the daemon's stdin without waiting until they are taken."""
        assert self.process.stdin
        self.process.stdin.write(data)

    async def write(self, data: bytes) -> None:
        """Writes to the daemon's stdin; once it is gone the bytes are lost, as in life."""
        assert self.process.stdin
        with suppress(ConnectionError):
            self.put(data)
            await self.process.stdin.drain()

    def close_stdin(self) -> None:
        """Ends the daemon's input."""
        assert self.process.stdin
        self.process.stdin.close()

    async def stop_listening(self) -> None:
        """Closes the daemon's output at this end."""
        process: Any = self.process
        process._transport.get_pipe_transport(1).close()  # asyncio has no public way
        await asyncio.sleep(0)

    async def read_until(self, mark: bytes) -> bytes:
        """Bytes up to and with the mark; empty at the end of the output."""
        assert self.process.stdout
        try:
            data = await self.process.stdout.readuntil(mark)
        except asyncio.IncompleteReadError as error:
            if error.partial:
                self.received += error.partial
                raise
            return b""
        self.received += data
        return data

    async def read_exactly(self, size: int) -> bytes:
        """Exactly so many bytes."""
        assert self.process.stdout
        data = await self.process.stdout.readexactly(size)
        self.received += data
        return data

    async def read_frame(self) -> bytes | None:
        """The next frame's body, or None at the end; not while a `Daemon` reads for itself."""
        async with asyncio.timeout(BOUND):
            return await read_frame(self)

    async def read_rest(self) -> bytes:
        """Everything up to the end of the output."""
        assert self.process.stdout
        async with asyncio.timeout(BOUND):
            data = await self.process.stdout.read()
        self.received += data
        return data

    @property
    def stderr(self) -> str:
        """What the daemon wrote to stderr so far; all of it after `wait` or `kill`."""
        return self._stderr.decode(errors="replace")

    # The end

    @property
    def running(self) -> bool:
        """Whether the process has not ended, as far as is known."""
        return self.process.returncode is None

    async def wait(self, bound: float = BOUND) -> int:
        """Waits for the process's own end, at most so many seconds; answers its exit code."""
        async with asyncio.timeout(bound):
            code = await self.process.wait()
            if self._drain is not None:
                await self._drain
        return code

    async def kill(self) -> None:
        """Kills the process at once, whatever it does, and collects what it left on stderr."""
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        self.close_stdin()
        await self.wait()


def environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """This process's environment with changes; None takes a variable away.

    Python in it finds the package of this checkout first, wherever it is started.
    """
    merged: dict[str, str | None] = {**os.environ, "PYTHONPATH": str(ROOT), **changes}
    return {name: value for name, value in merged.items() if value is not None}
