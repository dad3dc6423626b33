"""Templates that are text, or text and dotted names: most of them, rendered without the engine.

Gives exactly what the engine would, or nothing: whatever is out of the ordinary is left to it.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from promptkit_rpc.definitions.sandbox.budget import MAX_BITS, MAX_TEXT
from promptkit_rpc.definitions.sandbox.methods import method_of
from promptkit_rpc.definitions.sandbox.values import type_of

_OPENING = re.compile(r"\{[{%#]")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_DOTTED = re.compile(r"\{\{[ \t\n]*(" + _NAME + r"(?:\." + _NAME + r")*)[ \t\n]*\}\}")
_SPECIAL = frozenset(
    (
        *("true", "false", "True", "False", "none", "None", "and", "or", "not", "in", "is"),
        *("if", "else", "elif", "loop", "self", "super", "caller", "varargs", "kwargs"),
        *("range", "dict", "namespace", "cycler", "joiner"),
    )
)

Plan = tuple[str | tuple[str, ...], ...]
"""Text, and names that lead to a value."""


def plan_of(source: str) -> Plan | None:
    """The parts of a simple template, or None when it takes the engine."""
    if not _OPENING.search(source):
        return (source,)
    parts = _DOTTED.split(source)
    if any(_OPENING.search(literal) or literal.endswith("{") for literal in parts[::2]):
        return None
    names = [tuple(name.split(".")) for name in parts[1::2]]
    if any(name[0] in _SPECIAL for name in names):
        return None
    plan: list[str | tuple[str, ...]] = [parts[0]]
    for name, literal in zip(names, parts[2::2], strict=True):
        plan += [name, literal]
    return tuple(part for part in plan if part)


def fill(plan: Plan, variables: Mapping[str, Any]) -> str | None:
    """The rendered text, or None when a value is missing or is not plainly text."""
    pieces: list[str] = []
    for part in plan:
        piece = part if isinstance(part, str) else _value(part, variables)
        if piece is None:
            return None
        pieces.append(piece)
    return "".join(pieces) if sum(map(len, pieces)) <= MAX_TEXT else None


def names_of(plan: Plan) -> frozenset[str]:
    """The variables that a plan takes."""
    return frozenset(part[0] for part in plan if not isinstance(part, str))


def members_of(plan: Plan, variable: str) -> tuple[str, ...]:
    """What a plan takes of one variable, by name."""
    parts = (part for part in plan if not isinstance(part, str) and part[0] == variable)
    return tuple(part[1] for part in parts if len(part) > 1)


def _value(name: tuple[str, ...], variables: Mapping[str, Any]) -> str | None:
    value: Any = variables
    for key in name:
        if value is not variables and (type(value) is not dict or method_of(value, key)):
            return None
        found = cast("Mapping[str, Any]", value)
        if key not in found:
            return None
        value = found[key]
    kind = type_of(value)
    if kind is str:
        return value
    if kind is int and value.bit_length() <= MAX_BITS:
        return str(value)
    return str(value) if kind in {float, bool, type(None)} else None
