"""A server's process on two pipes. Its end is noticed though a child of its own holds them open."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, cast

_LIMIT = 1 << 20


class Process(asyncio.SubprocessProtocol):
    """`output` is what it writes; `ended` is set when it has."""

    def __init__(self) -> None:
        self.output = asyncio.StreamReader(limit=_LIMIT)
        self.ended = asyncio.Event()
        self._transport: asyncio.SubprocessTransport

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str]) -> Self:
        """Starts it; its standard error is this process's.

        Raises:
            FileNotFoundError: there is no such program.
        """
        loop = asyncio.get_running_loop()
        try:
            _, process = await loop.subprocess_exec(cls, *command, stderr=None, env=env)
        except FileNotFoundError as error:
            program = command[0]
            raise FileNotFoundError(
                f"cannot start {program}: {error.strerror}; install promptkit-rpc, or set"
                " PROMPTKIT_COMMAND or `command`"
            ) from error
        return process

    @property
    def code(self) -> int | None:
        """Its exit code, as far as it has ended."""
        return self._transport.get_returncode()

    def write(self, data: bytes) -> None:
        """Writes to its input."""
        self._input().write(data)

    def close_input(self) -> None:
        """Ends its input."""
        self._input().close()

    def kill(self) -> None:
        """Kills it, if it has not ended."""
        with suppress(ProcessLookupError):
            self._transport.kill()

    def close(self) -> None:
        """Lets go of its pipes."""
        self._transport.close()

    def _input(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It runs."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        output: Any = self._transport.get_pipe_transport(1)
        self.output.set_transport(output)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something."""
        if fd == 1:
            self.output.feed_data(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """It closed a pipe."""
        if fd == 1:
            if exc is not None:
                self.output.set_exception(exc)
            self.output.feed_eof()

    def process_exited(self) -> None:
        """It ended."""
        self.ended.set()
