"""A daemon whose client is another program, so that its client can be killed."""

import asyncio
import os
import select
import sys
from pathlib import Path
from typing import Any

from tests.support.daemon import BOUND, Daemon

WRAPPER = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
print(child.pid, flush=True)
while data := sys.stdin.buffer.raw.read(65536):
    child.stdin.write(data); child.stdin.flush()
"""


class Wrapped(Daemon):
    """Driven like any other; between it and the test stands a program that passes all through.

    Args:
        named: `initialize` names that program as the one to watch, and not the test itself.
    """

    def __init__(self, root: Path | None = None, *, named: bool = False, **more: Any) -> None:
        super().__init__(root, **more)
        self._named = named

    async def initialize(self, **more: Any) -> Any:
        """`initialize` and `initialized`; answers the initialize result."""
        named = {"processId": self.process.pid} if self._named else {}
        return await super().initialize(**named, **more)

    async def launch(self) -> None:
        self.command = [sys.executable, "-c", WRAPPER, *self.command]
        await super().launch()
        self.child = int(await self.read_until(b"\n"))
        self.handle = os.pidfd_open(self.child)

    async def outlive(self) -> None:
        """Kills the program hard; the daemon follows within seconds, and waits for it idly."""
        before = _cpu(self.child)
        self.process.kill()  # to wait for it is to wait for the end of the daemon's output too
        if not (await asyncio.to_thread(select.select, [self.handle], [], [], 2))[0]:
            assert _cpu(self.child) - before < 0.3
        assert (await asyncio.to_thread(select.select, [self.handle], [], [], BOUND))[0]
        os.close(self.handle)


def _cpu(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
