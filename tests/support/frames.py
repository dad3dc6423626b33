"""Frames of the base protocol, written and read to the letter."""

import json
import re
from typing import Any, Protocol

Json = Any

NOTHING: Any = object()
"""Stands for a member that is left out, where None would be null."""

_HEADER = re.compile(rb"Content-Length: (0|[1-9][0-9]*)\r\n")


class Bytes(Protocol):
    """Where frames are read from; what ends early raises `asyncio.IncompleteReadError`."""

    async def read_until(self, mark: bytes) -> bytes: ...
    async def read_exactly(self, size: int) -> bytes: ...


def frame(message: Json) -> bytes:
    """One frame around a JSON value, or around bytes as they are."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def read_frame(source: Bytes) -> bytes | None:
    """The body of the next frame, or None at a clean end; anything else on the pipe fails."""
    header = await source.read_until(b"\n")
    if not header:
        return None
    match = _HEADER.fullmatch(header)
    assert match, f"no header: {header[:500]!r}"
    end = await source.read_exactly(2)
    assert end == b"\r\n", f"more than one header: {header + end!r}"
    body = await source.read_exactly(int(match[1]))
    body.decode()  # UTF-8, whatever the locale
    return body
