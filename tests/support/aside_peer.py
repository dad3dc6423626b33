"""A process for `aside` to run: it reports to a port, waits to be let go, then does as told."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.fakes import BOUND

MODULE = "tests.support.aside_peer"


class Yard:
    """Hears of the processes that have started, and lets them go."""

    def __init__(self) -> None:
        self.pids: asyncio.Queue[int] = asyncio.Queue()
        self._doors: list[asyncio.StreamWriter] = []
        self._port = 0

    def work(self, **then: Any) -> bytes:
        """The input for a process: `echo` a text, or end with a `status`."""
        return json.dumps({"port": self._port, **then}).encode()

    async def started(self) -> int:
        """The next process's id."""
        async with asyncio.timeout(BOUND):
            return await self.pids.get()

    def let_go(self) -> None:
        """Lets everyone go who has reported so far."""
        for door in self._doors:
            door.write(b".")
        self._doors.clear()

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pids.put_nowait(int(await reader.readline()))
        self._doors.append(writer)
        await reader.read()
        writer.close()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator["Yard", None]:
        """Listens until the block is left."""
        server = await asyncio.start_server(self._met, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        async with server:
            yield self


def alive(pid: int) -> bool:
    """Whether the process is still there, be it as a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    told = json.loads(sys.stdin.buffer.read())
    with socket.create_connection(("127.0.0.1", told["port"])) as door:
        door.sendall(b"%d\n" % os.getpid())
        door.recv(1)
    sys.stdout.write(told.get("echo", ""))
    sys.exit(told.get("status", 0))


if __name__ == "__main__":
    main()
