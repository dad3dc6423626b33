"""Operators and percent-formatting of templates, with what they make paid for first."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from promptkit_rpc.definitions.sandbox.budget import (
    MAX_BITS,
    LimitReached,
    make_items,
    make_text,
)
from promptkit_rpc.definitions.sandbox.values import Absent, digits, is_a, weigh

MAX_WIDTH = 10_000
"""The largest width or precision that a format may ask for."""

_SPECIFIER = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(\*|\d+)?(?:\.(\*|\d+))?[hlL]?.", re.DOTALL)

_OPERATORS: Any = operator
_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "-": _OPERATORS.sub,
    "/": _OPERATORS.truediv,
    "//": _OPERATORS.floordiv,
}


def binary(op: str, left: Any, right: Any) -> Any:
    """One operator between two values.

    Raises:
        TemplateFault: the result would be too large, or a value is not there.
    """
    for value in (left, right):
        if isinstance(value, Absent):
            value.fail()
    match op:
        case "+":
            result = _sum(left, right)
        case "*":
            result = _product(left, right)
        case "**":
            result = _power(left, right)
        case "%":
            result = percent(left, right) if isinstance(left, str) else left % right
        case _:
            result = _PLAIN[op](left, right)
    if type(result) is int:
        digits(result)
    return result


def _sum(left: Any, right: Any) -> Any:
    if is_a(left, str) and is_a(right, str):
        make_text(len(left) + len(right))
    elif is_a(left, list | tuple) and is_a(right, list | tuple):
        make_items(len(left) + len(right))
    return left + right


def _product(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    elif isinstance(left, int):
        _pay_repeat(right, left)
    elif isinstance(right, int):
        _pay_repeat(left, right)
    return left * right


def _pay_repeat(value: Any, times: int) -> None:
    if isinstance(value, str | bytes):
        make_text(len(value) * max(times, 0))
    elif isinstance(value, list | tuple):
        make_items(len(cast("list[Any]", value)) * max(times, 0))


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and right > 0 and abs(left) > 1:
        _check_bits(left.bit_length() * right)
    return left**right


def _check_bits(bits: int) -> None:
    if bits > MAX_BITS + 1:
        raise LimitReached(f"an integer of the template has more than {MAX_BITS} bits")


def percent(pattern: str, values: Any) -> str:
    """`"%05.2f" % value`: widths are bounded, `*` as a width is not taken."""
    size = len(pattern)
    specifiers = 0
    for found in _SPECIFIER.finditer(pattern):
        specifiers += 1
        for number in found.groups():
            if number is not None:
                size += check_width(number)
    weight = weigh(values)
    make_text(size + (weight * specifiers if isinstance(values, Mapping) else weight))
    return pattern % values


def check_width(number: str) -> int:
    """A width or precision as a number.

    Raises:
        LimitReached: it is too large, or `*`.
    """
    if not number.isdecimal() or len(number) > len(str(MAX_WIDTH)) or int(number) > MAX_WIDTH:
        raise LimitReached(f"a width or precision in a format is more than {MAX_WIDTH}")
    return int(number)
