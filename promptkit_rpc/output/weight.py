"""How much a validator may have to say of a value, at most, told before it is asked. Pure.

A schema that refers to itself inside a choice can say exponentially much of one deep value, and a
long choice as much again of each item of a long one.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Any, cast

from promptkit_rpc.jsontext import Json, brackets_of

LIMIT = 32 << 10
"""Errors that may be listed in this process; it takes a second or so."""

_HERE_ONE = frozenset(("else", "if", "not", "then"))
_HERE_MANY = frozenset(("allOf", "anyOf", "dependentSchemas", "oneOf"))
_INSIDE_ONE = frozenset(
    (
        "additionalProperties",
        "contains",
        "items",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
_INSIDE_MANY = frozenset(("patternProperties", "prefixItems", "properties"))
_REFERENCES = ("$ref", "$dynamicRef")


def heavy(schema: Json, data: bytes) -> bool:
    """Whether the errors of this JSON text under the schema may be more than `LIMIT`."""
    places = 1 + data.count(b",") + data.count(b"[") + data.count(b"{")
    allowed = LIMIT // places
    if allowed == 0:
        return True
    steps = (1 if bracket == _OPEN else -1 for bracket in brackets_of(data))
    return _unrolled(schema, max(accumulate(steps), default=0)) > allowed


_OPEN = ord("[")


@lru_cache(maxsize=256)
def _unrolled(schema: Json, levels: int) -> int:
    """How many subschemas may be applied along so many levels of a value, up to `LIMIT` + 1."""
    try:
        return _Unrolling(schema.value()).count(levels)
    except RecursionError:
        return LIMIT + 1


class _Unrolling:
    """Counts with every reference followed; a part is counted once for each number of levels."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[tuple[int, int], int] = {}

    def count(self, levels: int) -> int:
        return self._count(self._root, levels)

    def _count(self, part: Any, levels: int) -> int:
        if not isinstance(part, dict):
            return 1
        whole = cast("dict[str, Any]", part)
        key = (id(whole), levels)
        known = self._known.get(key)
        if known is not None:
            return known
        self._known[key] = LIMIT + 1  # one that comes back to itself has no end
        total = 1
        for inner, deeper in self._applied(whole):
            if deeper <= levels:
                total += self._count(inner, levels - deeper)
            if total > LIMIT:
                break
        self._known[key] = total = min(total, LIMIT + 1)
        return total

    def _applied(self, part: dict[str, Any]) -> Iterator[tuple[Any, int]]:
        """The schemas that a part applies, each with how many levels deeper its value is."""
        for keyword, value in part.items():
            if keyword in _HERE_ONE:
                yield value, 0
            elif keyword in _HERE_MANY:
                yield from ((one, 0) for one in _members(value))
            elif keyword in _INSIDE_ONE:
                yield value, 1
            elif keyword in _INSIDE_MANY:
                yield from ((one, 1) for one in _members(value))
            elif keyword in _REFERENCES:
                yield self._target(value), 0

    def _target(self, reference: Any) -> Any:
        """What a reference leads to; the whole schema, the heaviest part, for any but a pointer."""
        value = self._root
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return value
        for step in reference.split("/")[1:]:
            value = _member(value, step.replace("~1", "/").replace("~0", "~"))
        return self._root if value is None else value


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def _member(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(step)
    if isinstance(value, list) and step.isdecimal():
        items = cast("list[Any]", value)
        return items[int(step)] if int(step) < len(items) else None
    return None
