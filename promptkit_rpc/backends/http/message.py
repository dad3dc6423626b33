"""The text of HTTP/1.1: the head of a request, and a response as its bytes come. Does no I/O.

llhttp reads it, through httptools. What is wrong is never quoted: it may hold a key.
"""

from collections.abc import Iterable

import httptools
import httpx

LONGEST_HEAD = 100 * 1024
"""Bytes of a response's head, or between two pieces of its body."""

_FINAL = 200


def head_of(method: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A request's head.

    Raises:
        httpx.LocalProtocolError: a part of it holds what would end its line.
    """
    lines = [b"%b %b HTTP/1.1" % (method, target), *(b"%b: %b" % pair for pair in headers)]
    head = b"\r\n".join(lines)
    ends = len(lines) - 1
    if head.count(b"\r") != ends or head.count(b"\n") != ends or b"\0" in head:
        raise httpx.LocalProtocolError("the request is no valid HTTP")
    return head + b"\r\n\r\n"


class Response:
    """One response: `feed` it, wait for `begun`, read with `take` until `complete` or `broken`."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.begun = False
        """The head is there."""
        self.complete = False
        self.broken = False
        """It is no valid HTTP; what was read before that stays."""
        self.why = "it is no valid HTTP"
        self.reusable = False
        """Its connection may carry another one."""
        # The two hold each other, until `drop`.
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._barren = 0
        self._pieces: list[bytes] = []

    def feed(self, data: memoryview) -> None:
        """Reads what has come."""
        if self._parser is None:
            self.reusable = False
            return
        had = len(self._pieces)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.reusable = False
            self.broken = not self.complete
        self._barren = 0 if len(self._pieces) > had else self._barren + len(data)
        if self._barren > LONGEST_HEAD and not self.complete and not self.broken:
            self.broken = True
            what = "what parts its body" if self.begun else "its head"
            self.why = f"{what} is longer than {LONGEST_HEAD} bytes"
        if self.complete or self.broken:
            self.drop()

    def end(self) -> None:
        """The connection has ended, which completes a body that nothing else does."""
        self.complete = self.complete or (
            self.begun and not self.broken and not _tells_its_end(self.headers)
        )
        self.drop()

    def drop(self) -> None:
        """Reads no more."""
        self._parser = None

    def take(self) -> bytes:
        """What has come of the body and was not taken; empty if nothing has."""
        pieces = self._pieces
        if not pieces:
            return b""
        self._pieces = []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    # What the parser calls, for whatever may follow the response too.

    def on_message_begin(self) -> None:
        """A message begins; after the response that is one too many."""
        self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, of which nothing is made."""
        if not self.begun:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """The head of the response itself, or of one that only informs."""
        status = 0 if self._parser is None else self._parser.get_status_code()
        if self.begun:
            return
        if status >= _FINAL:
            self.status, self.begun = status, True
        else:
            self.headers.clear()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        if not self.complete:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """The end, as the response itself tells it."""
        if self.begun and not self.complete and self._parser is not None:
            self.complete = True
            self.reusable = self._parser.should_keep_alive()


def _tells_its_end(headers: list[tuple[bytes, bytes]]) -> bool:
    codings = [value for name, value in headers if name.lower() == b"transfer-encoding"]
    if codings:
        return codings[-1].lower().rstrip().endswith(b"chunked")
    return any(name.lower() == b"content-length" for name, _ in headers)
