"""What a plain word of a definition file means: the YAML 1.2 core schema, digit for digit."""

import re

MAX_DIGITS = 4300
"""Digits of an integer; more can be neither decoded nor sent."""

_START = frozenset("-+.0123456789tTfFnN~")
_ANY_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_DECIMAL = 10
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NOT_A_NUMBER = frozenset((".nan", ".NaN", ".NAN"))
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "null": (type(None),),
}

Value = str | int | float | bool | None


class NotCore(ValueError):  # noqa: N818 - says what the word is not
    """A word is not what its tag says, or is a number too long to keep."""


def core_value(text: str, tag: str | None = None) -> Value:
    """The value of a plain word, or of a word under one of the core schema's tags.

    Raises:
        NotCore: the tag does not fit, or the integer has too many digits.
    """
    value = _resolved(text)
    if tag is None:
        return value
    if type(value) not in _KINDS.get(tag, ()):
        raise NotCore(f"this is no value for the tag !!{tag}")
    return float(value) if tag == "float" and isinstance(value, int) else value


def _resolved(text: str) -> Value:
    if text and text[0] not in _START:
        return text
    if text in _WORDS:
        return _WORDS[text]
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    if len(text) > MAX_DIGITS and _ANY_INTEGER.fullmatch(text):
        raise NotCore(f"an integer may have {MAX_DIGITS} digits at most")
    if _ANY_INTEGER.fullmatch(text):
        base = {"o": 8, "x": 16}.get(text[1:2], 10)
        return int(text if base == _DECIMAL else text[2:], base)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return float("nan") if text in _NOT_A_NUMBER else None
