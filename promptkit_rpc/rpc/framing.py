"""The LSP base protocol's frames: bytes in, bodies out. Does no I/O and knows no JSON.

Header names in any case, LF line ends and unknown headers are accepted; a body has a limit.
"""

from __future__ import annotations

MAX_BODY = 64 * 1024 * 1024
"""The largest body that is read unless configured, in bytes."""

MAX_HEADER = 1024 * 1024
"""The largest header block that is read, in bytes."""

HEAD = 4096
"""How much of a refused body is kept, in bytes: its id usually stands there."""

_LENGTH_DIGITS = 20
_USUAL = b"Content-Length: "
_TOKEN = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What a header's name is made of, RFC 9110, section 5.6.2."""


class Refused:
    """A body that is skipped: its first bytes, and why."""

    __slots__ = ("head", "reason")

    def __init__(self, head: bytes, reason: str) -> None:
        self.head = head
        self.reason = reason


class Lost:
    """The stream is out of step for good; nothing after this is read."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


Event = bytes | bytearray | Refused | Lost
"""What comes out of a stream: a body, or why there is none."""


class _OutOfStep(Exception):  # noqa: N818 - never leaves this module
    """Where the next frame starts cannot be known."""


class Framer:
    """Cuts a stream into bodies however it is split; holds one body at most."""

    def __init__(self, max_body: int = MAX_BODY) -> None:
        self._max_body = max_body
        self._lost = False
        self._line = bytearray()
        self._header_size = 0
        self._length: int | None = None
        self._reason: str | None = None
        self._body = bytearray()
        self._missing: int | None = None
        self._skip = 0

    @property
    def inside(self) -> bool:
        """Whether the stream stands in the middle of a frame."""
        return bool(self._header_size or self._skip) or self._missing is not None

    def feed(self, data: bytes) -> list[Event]:
        """The bodies that these bytes complete, in order; after `Lost` there are no more."""
        events: list[Event] = []
        at, end = 0, len(data)
        try:
            while at < end and not self._lost:
                if self._missing is not None:
                    at = self._read_body(data, at, self._missing, events)
                elif self._skip:
                    skipped = min(self._skip, end - at)
                    self._skip -= skipped
                    at += skipped
                else:
                    at = self._read_whole(data, at, events) or self._read_line(data, at, events)
        except _OutOfStep as error:
            self._lost = True
            events.append(Lost(str(error)))
        return events

    def _read_whole(self, data: bytes, at: int, events: list[Event]) -> int:
        """Where the next frame ends if it is whole and has the usual header, else 0."""
        if self._header_size or not data.startswith(_USUAL, at):
            return 0
        digits = at + len(_USUAL)
        blank = data.find(b"\r\n\r\n", digits, digits + _LENGTH_DIGITS)
        length = data[digits:blank]
        if blank < 0 or not length.isdigit():
            return 0
        start = blank + 4
        stop = start + int(length)
        if stop > len(data) or stop - start > self._max_body:
            return 0
        events.append(data[start:stop])
        return stop

    def _read_line(self, data: bytes, at: int, events: list[Event]) -> int:
        end = data.find(b"\n", at)
        stop = len(data) if end < 0 else end + 1
        self._header_size += stop - at
        if self._header_size > MAX_HEADER:
            raise _OutOfStep(f"a header block is longer than {MAX_HEADER} bytes")
        if end < 0:
            self._line += data[at:]
            return stop
        line = data[at:end]
        if self._line:
            line = bytes(self._line) + line
            self._line.clear()
        if line not in (b"", b"\r"):
            self._read_field(line)
        else:
            self._begin_body()
            if self._missing == 0:
                self._complete(b"", events)
        return stop

    def _read_field(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        name = name.strip()
        if not colon or not name or name.translate(None, _TOKEN):
            # JSON sent line by line, or the rest of a body that is longer than was said: it may
            # hold anything, so it is not quoted.
            raise _OutOfStep(
                "a line is no header; each message needs a Content-Length, which counts bytes"
            )
        match name.lower():
            case b"content-length":
                length = _length(value.strip())
                if self._length not in (None, length):
                    raise _OutOfStep(f"Content-Length is given as {self._length} and as {length}")
                self._length = length
            case b"content-type":
                charset = _charset(value)
                if charset not in ("utf-8", "utf8"):
                    self._reason = f"charset {charset!r} is not supported; send UTF-8"
            case _:
                pass

    def _begin_body(self) -> None:
        if self._length is None:
            raise _OutOfStep("a header block has no Content-Length")
        if self._length > self._max_body:
            self._reason = f"the body has {self._length} bytes; the limit is {self._max_body}"
        self._missing = self._length if self._reason is None else min(self._length, HEAD)
        self._skip = self._length - self._missing
        self._header_size, self._length = 0, None

    def _read_body(self, data: bytes, at: int, missing: int, events: list[Event]) -> int:
        end = at + missing
        if not self._body and end <= len(data):
            self._complete(data[at:end], events)
            return end
        part = memoryview(data)[at:end]
        self._body += part
        self._missing = missing - len(part)
        if not self._missing:
            body, self._body = self._body, bytearray()
            self._complete(body, events)
        return at + len(part)

    def _complete(self, body: bytes | bytearray, events: list[Event]) -> None:
        events.append(body if self._reason is None else Refused(bytes(body), self._reason))
        self._missing = self._reason = None


def header(size: int) -> bytes:
    """The header of a body of so many bytes."""
    return b"Content-Length: %d\r\n\r\n" % size


def _length(value: bytes) -> int:
    if not value.isdigit() or len(value) > _LENGTH_DIGITS:
        raise _OutOfStep(f"Content-Length is unreadable: {_shown(value)}")
    return int(value)


def _charset(content_type: bytes) -> str:
    for parameter in content_type.lower().split(b";")[1:]:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"charset":
            return value.strip(b" \t\r\"'")[:40].decode("latin-1")
    return "utf-8"


def _shown(text: bytes) -> str:
    return ascii(text[:60].decode("latin-1"))
