"""JSON values kept as their text: immutable, detached on every read, exact to the digit.

The one place that decides how deep and how long a JSON value may be.
"""

import json
import math
import re
from itertools import accumulate
from typing import Any, Self

import msgspec
from attrs import frozen

MAX_NESTING = 400
"""How many arrays and objects may stand inside each other, in answers and all that is kept."""

MAX_INTEGER = 4300
"""The longest integer, in characters; a minus sign counts."""

_EXPLAINED = 1 << 20
"""Largest text that is searched for the place of a bad number, in bytes."""

_DEEP = f"nested deeper than {MAX_NESTING} levels"
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_SIGNED = bytes.maketrans(b"[]", b"\x01\xff")
_SHALLOW = 4

# Patterns for the places of faults; compiled when there is one to be told about.
_ESCAPES = (
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|(?P<bad>\\u(?![0-9a-fA-F]{4}))|\\."
)
_NUMBERS = rb'(?s)"(?:[^"\\]++|\\.)*+"|(?P<number>-?\d[\d.eE+-]*+)'
_BRACKETS = rb'(?s)"(?:[^"\\]++|\\.)*+"|(?P<open>[\[{])|(?P<close>[\]}])'
_LONG_NEGATIVE = rb"-\d{%d}" % MAX_INTEGER
_BYTE = r" \(byte (\d+)\)$"

encode = msgspec.json.encode
"""Encodes plain values to compact UTF-8 JSON."""


class JsonError(ValueError):
    """A text is no JSON, or is nested too deep or holds too long a number.

    `offset` is the place of the fault in bytes where it is known.
    """

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message if offset is None else f"{message} (byte {offset})")
        self.reason = message
        self.offset = offset


def decode(text: bytes | str) -> Any:
    """Decodes JSON; the last of duplicate keys wins.

    Raises:
        JsonError: the text is no JSON value within the limits.
    """
    data = _utf8(text) if isinstance(text, str) else text
    try:
        value = msgspec.json.decode(data)
    except RecursionError:
        raise _nested(data) from None
    except msgspec.ValidationError as error:
        raise _number(data, str(error)) from None
    except msgspec.MsgspecError as error:
        raise _malformed(data, str(error)) from None
    if too_deep(data):
        raise _nested(data)
    return value


def too_deep(text: bytes | bytearray, limit: int = MAX_NESTING) -> bool:
    """Says whether valid JSON is nested deeper than the limit, at about the speed of a copy."""
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    # Each pass removes the innermost pairs, one level exactly because all are of one kind. Real
    # data is gone after a few; what is left is summed up, so that no text costs a pass a level.
    brackets = brackets_of(text)
    shallow = min(_SHALLOW, limit)
    for _ in range(shallow):
        brackets = brackets.replace(b"[]", b"")
    if len(brackets) <= 2 * (limit - shallow):
        return False
    steps = memoryview(brackets.translate(_SIGNED)).cast("b")
    return max(accumulate(steps)) > limit - shallow


def brackets_of(text: bytes | bytearray) -> bytes:
    """The brackets of valid JSON outside its strings, in order, braces as square brackets."""
    return outside_strings(text, b"[]{}").translate(_ONE_KIND)


def outside_strings(text: bytes | bytearray, kept: bytes) -> bytes:
    """The bytes of valid JSON that stand outside its strings and are among those kept."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    others = bytes(byte for byte in range(256) if byte not in kept + b'"')
    left = bytes(text.translate(None, others)).replace(b'""', b"")
    # Taking out pairs of quotes leaves the count before each byte odd or even as it was.
    return b"".join(left.split(b'"')[::2]) if b'"' in left else left


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise JsonError("a lone surrogate") from None


def _nested(data: bytes = b"") -> JsonError:
    level = 0
    for token in re.finditer(_BRACKETS, data) if len(data) <= _EXPLAINED else ():
        level += bool(token["open"]) - bool(token["close"])
        if level > MAX_NESTING:
            return JsonError(_DEEP, token.start())
    return JsonError(_DEEP)


def _malformed(data: bytes, message: str) -> JsonError:
    # The decoder calls a bad escape near the end of a text a truncation.
    for escape in re.finditer(_ESCAPES, data) if b"\\u" in data else ():
        if escape["lone"]:
            return JsonError(f"a lone surrogate {escape['lone'].decode()}", escape.start())
        if escape["bad"]:
            return JsonError("an invalid escape", escape.start())
    if "truncated" in message:
        return JsonError("the text ends too early", len(data))
    if "UTF-8" in message:
        return JsonError("invalid UTF-8", _first_bad_byte(data))
    place = re.search(_BYTE, message)
    reason = re.sub(_BYTE, "", message.removeprefix("JSON is malformed: "))
    if place is None:
        return JsonError(reason)
    # Of characters after the value the decoder names the second one.
    return JsonError(reason, int(place[1]) - (reason == "trailing characters"))


def _first_bad_byte(data: bytes) -> int | None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def out_of_range(message: str) -> str:
    """What the decoder's message says of a number that it does not take."""
    if message.startswith("Integer"):
        return f"an integer of more than {MAX_INTEGER} characters"
    return "a number beyond the largest that a double can hold"


def _number(data: bytes, message: str) -> JsonError:
    reason = out_of_range(message)
    for token in re.finditer(_NUMBERS, data) if len(data) <= _EXPLAINED else ():
        if token["number"] and _out_of_range(token["number"]):
            return JsonError(reason, token.start())
    return JsonError(reason)


def _out_of_range(number: bytes) -> bool:
    if number.lstrip(b"-").isdigit():
        return len(number) > MAX_INTEGER
    return math.isinf(float(number))


_STRICT = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))
"""Refuses what msgspec would take: NaN as null, and sets, dates and bytes."""


@frozen
class Json:
    """An immutable JSON value; equality is that of its text."""

    text: bytes

    @classmethod
    def of(cls, value: Any) -> Self:
        """Keeps a copy of a plain value.

        Raises:
            JsonError: the value holds what JSON cannot say (NaN, a set, a lone surrogate), or is
                nested too deep.
        """
        try:
            text = _STRICT.encode(value)
        except RecursionError:
            raise _nested() from None
        except (TypeError, ValueError) as error:
            raise JsonError(str(error)) from None
        data = _utf8(text)
        if too_deep(data):
            raise _nested()
        if len(data) > MAX_INTEGER and re.search(_LONG_NEGATIVE, data):
            decode(data)
        return cls(data)

    def value(self) -> Any:
        """A fresh value; changing it changes nothing here."""
        return msgspec.json.decode(self.text)
