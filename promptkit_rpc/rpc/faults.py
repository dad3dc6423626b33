"""What is wrong with a value that does not fit its wire type: every fault, with its path."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, cast, get_args, get_origin

import attrs

from promptkit_rpc.rpc.codec import (
    Mismatch,
    as_object,
    choices_of,
    is_array,
    is_optional,
    present,
    structure,
    tagged_members,
)
from promptkit_rpc.rpc.protocol.base import (
    Bounds,
    Either,
    JsonObject,
    Opaque,
    Range,
    Tag,
    wire_name,
)

MAX_FAULTS = 20
"""How many faults are told of one value."""
_SHOWN = 60


@attrs.frozen
class Fault:
    """A field that cannot be used: where, and what is wrong. Values are never quoted."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def faults(value: Any, wire_type: Any, name: str) -> tuple[Fault, ...]:
    """The faults of a value in the order of its type's fields; `name` starts the paths."""
    return tuple(islice(_invalid(value, wire_type, name), MAX_FAULTS))


def told(value: Any, wire_type: Any, name: str) -> str:
    """The faults of a value in one sentence."""
    return "; ".join(map(str, faults(value, wire_type, name)))


def _invalid(value: Any, wire_type: Any, path: str) -> Iterator[Fault]:
    """Every fault of a value, in the order of the type's fields."""
    plain, tag = wire_type, None
    while get_origin(plain) is Annotated:
        marks = get_args(plain)[1:]
        if any(isinstance(mark, Bounds | Range | Either | Opaque) for mark in marks):
            break
        tag = next((mark.field for mark in marks if isinstance(mark, Tag)), tag)
        plain = get_args(plain)[0]
    if tag is not None:
        yield from _invalid_tagged(value, plain, tag, path)
    elif is_optional(plain):
        if value is not None:
            yield from _invalid(value, present(plain), path)
    elif is_array(plain) and type(value) is list:
        for index, element in enumerate(cast("list[Any]", value)):
            yield from _invalid(element, get_args(plain)[0], f"{path}[{index}]")
    elif attrs.has(plain) and (type(value) is dict or value == []):
        yield from _invalid_fields(as_object(value), plain, path)
    else:
        yield from _invalid_leaf(value, plain, path)


def _invalid_leaf(value: Any, wire_type: Any, path: str) -> Iterator[Fault]:
    try:
        structure(value, wire_type)
    except Mismatch as mismatch:
        yield Fault(path, str(mismatch))


def _invalid_tagged(value: Any, union: Any, tag: str, path: str) -> Iterator[Fault]:
    members = tagged_members(union, tag)
    if type(value) is not dict and value != []:
        yield from _invalid_leaf(value, JsonObject, path)
        return
    chosen = as_object(value).get(tag)
    member = members.get(chosen) if type(chosen) is str else None
    if member is None:
        wrong = f"not one of {choices_of(members)}" if tag in as_object(value) else "is required"
        yield Fault(f"{path}.{wire_name(tag)}", wrong)
    else:
        yield from _invalid(value, member, path)


def _invalid_fields(value: dict[str, Any], cls: Any, path: str) -> Iterator[Fault]:
    fields = {wire_name(field.name): field for field in attrs.fields(cls)}
    for key in value:
        if key not in fields:
            yield Fault(f"{path}.{_shown(key)}", f"unknown field{_hint(key, fields)}")
    for name, field in fields.items():
        if name in value:
            yield from _invalid(value[name], field.type, f"{path}.{name}")
        elif field.default is attrs.NOTHING:
            yield Fault(f"{path}.{name}", "is required")


def _hint(key: str, fields: dict[str, Any]) -> str:
    import difflib  # noqa: PLC0415 - a start does without it

    close = difflib.get_close_matches(key, fields, n=1)
    return f", did you mean {close[0]}" if close else ""


def _shown(key: str) -> str:
    return key if len(key) <= _SHOWN else key[:_SHOWN] + "…"
