"""Undoes a content coding piece by piece, and never makes more than is asked for.

Only gzip and deflate are known; PromptKit asks for neither, but some servers compress unasked.
"""

import zlib
from collections.abc import Iterator

import httpx

_PIECE = 256 * 1024
_GZIP = zlib.MAX_WBITS | 16


class Inflater:
    """Decodes one body in a coding named by `Content-Encoding`.

    Raises:
        httpx.DecodingError: the coding is not known, or the body is not in it.
    """

    def __init__(self, coding: str) -> None:
        if coding not in ("gzip", "x-gzip", "deflate"):
            raise httpx.DecodingError("it is in a content coding that was not asked for")
        self._coding = coding
        self._inflate = zlib.decompressobj(zlib.MAX_WBITS if coding == "deflate" else _GZIP)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What some more bytes decode to, in pieces of bounded size."""
        while True:
            piece = self._decode(data)
            self._begun = True
            if piece:
                yield piece
            data = self._inflate.unconsumed_tail
            if not data and len(piece) < _PIECE:
                return

    def end(self) -> None:
        """Makes sure that the coded body was complete."""
        if self._begun and not self._inflate.eof:
            raise httpx.DecodingError("the compressed body is cut off")

    def _decode(self, data: bytes) -> bytes:
        try:
            return self._inflate.decompress(data, _PIECE)
        except zlib.error:
            if self._begun or self._coding != "deflate":
                raise httpx.DecodingError("the body is not compressed as it says") from None
        # Some servers mean the bare format; RFC 9110, section 8.4.1.2 warns of it.
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._begun = True
        return self._decode(data)
