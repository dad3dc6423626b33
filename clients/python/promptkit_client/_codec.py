"""Values of the protocol to JSON and back: snake case here, camel case there."""

import dataclasses
import re
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, TypeVar, cast

T = TypeVar("T")

_JSON: dict[Any, tuple[type, ...]] = {float: (int, float), int: (int,), str: (str,), bool: (bool,)}
_NONE = type(None)


def encode(value: Any) -> Any:
    """The JSON of values, mappings and sequences; a None field of a value is left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = ((name, getattr(value, name)) for name, *_ in _fields(type(value)))
        return {camel(name): encode(member) for name, member in members if member is not None}
    if isinstance(value, Mapping):
        return {k: encode(member) for k, member in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [encode(member) for member in cast("list[Any]", value)]
    return value


def decode(kind: type[T], value: Any) -> T:
    """A value of the protocol's; fields that are not known are let pass.

    Raises:
        ValueError: it is none, and where.
    """
    return cast("T", _decode(kind, value, kind.__name__))


def camel(name: str) -> str:
    """`run_id` is `runId` on the wire."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def _decode(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind):
        return _object(kind, value, where)
    origin = typing.get_origin(kind)
    if origin is not None:
        return _BY_ORIGIN[origin](typing.get_args(kind), value, where)
    right = isinstance(value, _JSON[kind]) and (kind is bool or not isinstance(value, bool))
    return _checked(right, value, where, kind.__name__)


def _union(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and _NONE in kinds:
        return None
    faults: list[str] = []
    for kind in kinds:
        if kind is not _NONE:
            try:
                return _decode(kind, value, where)
            except ValueError as fault:
                faults.append(str(fault))
    raise ValueError("; ".join(faults))


def _word(words: tuple[Any, ...], value: Any, where: str) -> Any:
    """Words may become more; a constant tells types apart and must be right."""
    right = isinstance(value, str) if len(words) > 1 else value in words
    return _checked(right, value, where, " or ".join(map(repr, words)))


def _array(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    items = cast("list[Any]", _checked(isinstance(value, list), value, where, "a list"))
    return tuple([_decode(kinds[0], item, f"{where}[{n}]") for n, item in enumerate(items)])


def _mapping(_: Any, value: Any, where: str) -> Any:
    return _checked(isinstance(value, dict), value, where, "an object")


_BY_ORIGIN: dict[Any, Callable[[tuple[Any, ...], Any, str], Any]] = {
    types.UnionType: _union,
    typing.Union: _union,
    Literal: _word,
    tuple: _array,
    dict: _mapping,
}


def _object(kind: Any, value: Any, where: str) -> Any:
    _checked(isinstance(value, dict), value, where, "an object")
    members = cast("dict[str, Any]", value)
    made: dict[str, Any] = {}
    for name, wire, inner, required in _fields(kind):
        if wire in members:
            made[name] = _decode(inner, members[wire], f"{where}.{wire}")
        elif required:
            raise ValueError(f"{where}.{wire} is missing")
    return kind(**made)


@cache
def _fields(kind: Any) -> tuple[tuple[str, str, Any, bool], ...]:
    """Name here, name there, type, and whether it must be there, of each field.

    A constant with a default must be there: it tells the types of a union apart.
    """
    hints = typing.get_type_hints(kind)
    return tuple(
        (
            field.name,
            camel(field.name),
            hints[field.name],
            field.default is not None and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
    )


def _checked(right: bool, value: Any, where: str, what: str) -> Any:  # noqa: FBT001 - a verdict
    if not right:
        raise ValueError(f"{where} must be {what}, not {type(value).__name__}")
    return value
