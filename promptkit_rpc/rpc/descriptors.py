"""The process's own standard streams: moved aside, so that only frames travel on them.

Imports only what a bare interpreter loads.
"""

from __future__ import annotations

import os
import sys

CHUNK = 65536
"""How much is read at once, in bytes: what a pipe holds."""


def claim() -> tuple[int, int]:
    """Moves standard input and output to descriptors that no child inherits; returns those.

    What prints goes to stderr from then on, what reads standard input finds its end.
    """
    source = _moved(0, os.O_RDONLY)
    try:
        sink = os.dup(1)
    except OSError:
        say("standard output is closed, so nothing could be answered")
        sys.exit(1)
    try:
        os.dup2(2, 1)
    except OSError:  # started without stderr
        _moved(1, os.O_WRONLY)
    sys.stdout = sys.stderr
    return source, sink


def read(source: int) -> bytes | None:
    """The next bytes, empty at the end, None if there are none yet on a non-blocking descriptor."""
    try:
        return os.read(source, CHUNK)
    except BlockingIOError:
        return None
    except OSError:  # a connection reset is an end too
        return b""


def write(sink: int, data: bytes | bytearray) -> None:
    """Writes everything, however long it takes.

    Raises:
        OSError: nobody reads any more.
    """
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(sink, left) :]
        except BlockingIOError:
            wait(sink, writable=True)


def say(line: str) -> None:
    """Writes a line to stderr, if anybody reads there: it is never waited for."""
    if ready(2):
        try:  # noqa: SIM105 - contextlib is not loaded for this
            os.write(2, f"promptkit-rpc: {line}\n".encode())
        except OSError:
            pass


def wait(descriptor: int, *, writable: bool = False) -> None:
    """Waits until a non-blocking descriptor can be used."""
    _poll(descriptor, writable=writable, timeout=None)


def ready(descriptor: int) -> bool:
    """Whether a descriptor takes a line at once."""
    return _poll(descriptor, writable=True, timeout=0)


def _poll(descriptor: int, *, writable: bool, timeout: int | None) -> bool:
    import select  # noqa: PLC0415 - hardly ever needed, and not at all at start

    poll = select.poll()
    poll.register(descriptor, select.POLLOUT if writable else select.POLLIN)
    return bool(poll.poll(timeout))


def _moved(standard: int, flags: int) -> int:
    """A copy of a standard descriptor that children do not get, with nothing in its place."""
    nothing = os.open(os.devnull, flags)
    try:
        copy = os.dup(standard)
    except OSError:  # it was closed from the start, and `open` may have taken its place
        copy = os.open(os.devnull, flags)
    if nothing != standard:
        os.dup2(nothing, standard)
        os.close(nothing)
    return copy
