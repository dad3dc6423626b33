"""JSON values kept as their text: immutable, detached on every read, exact to the digit.

The one place that decides how deep and how long a JSON value may be.
"""

from typing import Any, Self

import msgspec
from attrs import frozen

MAX_NESTING = 400
"""How many arrays and objects may stand inside each other, in messages and answers alike."""

_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")

encode = msgspec.json.encode
"""Encodes plain values to compact UTF-8 JSON."""


class JsonError(ValueError):
    """A text is no JSON, or is nested too deep or holds too long a number."""


def decode(text: bytes | str) -> Any:
    """Decodes JSON; the last of duplicate keys wins.

    Raises:
        JsonError: the text is no JSON value within the limits.
    """
    try:
        value = msgspec.json.decode(text)
    except RecursionError:
        raise JsonError(f"nested deeper than {MAX_NESTING} levels") from None
    except (msgspec.MsgspecError, UnicodeError, ValueError) as error:
        raise JsonError(str(error)) from None
    data = text.encode() if isinstance(text, str) else text
    if too_deep(data):
        raise JsonError(f"nested deeper than {MAX_NESTING} levels")
    return value


def too_deep(text: bytes | bytearray, limit: int = MAX_NESTING) -> bool:
    """Says whether valid JSON is nested deeper than the limit, at about the speed of a copy."""
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    # With strings gone only brackets are left, and each pass removes the innermost pairs.
    brackets = without_strings(text).translate(None, _BRACKETS)
    for _ in range(limit):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return bool(brackets)


def without_strings(text: bytes | bytearray) -> bytes:
    """What is left of valid JSON when its strings are taken out."""
    escapes_gone = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(escapes_gone.split(b'"')[::2])


@frozen
class Json:
    """An immutable JSON value; equality is that of its text."""

    text: bytes

    @classmethod
    def of(cls, value: Any) -> Self:
        """Keeps a copy of a plain value.

        Raises:
            JsonError: the value holds what JSON cannot say (NaN, a set, a lone surrogate).
        """
        try:
            return cls(bytes(memoryview(encode(value))))
        except (TypeError, ValueError, RecursionError, OverflowError) as error:
            raise JsonError(str(error)) from None

    def value(self) -> Any:
        """A fresh value; changing it changes nothing here."""
        return msgspec.json.decode(self.text)
