"""Well-formed text: lone surrogates become U+FFFD once, as a whole or piece by piece. Pure."""

_HIGH_FIRST, _HIGH_LAST = "\ud800", "\udbff"


def well_formed(text: str) -> str:
    """The text with surrogate pairs joined and each lone surrogate replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class WellFormed:
    """Does the same to a text in pieces; the halves of a pair may come in two of them."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """What is certain after one more piece."""
        if not self._half and piece.isascii():
            return piece
        text = self._half + piece
        self._half = text[-1] if text and _HIGH_FIRST <= text[-1] <= _HIGH_LAST else ""
        return well_formed(text[: len(text) - len(self._half)])

    def flush(self) -> str:
        """The rest; no more pieces follow."""
        half, self._half = self._half, ""
        return well_formed(half)
