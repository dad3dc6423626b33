"""Between plain JSON values and wire types: strict, exact, and silent about values in its errors.

Says only yes or no; `rpc/faults.py` tells what is wrong.
"""

import types
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import attrs
from cattrs import Converter, override
from cattrs.errors import ForbiddenExtraKeysError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from promptkit_rpc.rpc.protocol.base import Bounds, Either, Opaque, Range, Tag, wire_name

Hook = Callable[[Any, Any], Any]
Sent = Callable[[Any], Any]

_JSON_TYPES: dict[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    type(None): "null",
}


class Mismatch(ValueError):  # noqa: N818 - named for what it tells, as the core's errors are
    """A value is not of the type; the message never quotes it."""


FAILURES = (Mismatch, KeyError, ForbiddenExtraKeysError)
"""What `structure` raises for a value that does not fit."""


def structure(value: Any, wire_type: Any) -> Any:
    """A wire value from plain JSON.

    Raises:
        Mismatch, KeyError, ForbiddenExtraKeysError: it does not fit.
    """
    return _CONVERTER.structure(value, wire_type)


def structuring(wire_type: Any) -> Callable[[Any], Any]:
    """`structure` for one type, looked up once."""
    hook = _CONVERTER.get_structure_hook(wire_type)
    return lambda value: hook(value, wire_type)


def unstructure(value: Any) -> Any:
    """Plain JSON from a wire value; optional fields that are None are left out."""
    return _CONVERTER.unstructure(value)


# Types -------------------------------------------------------------------------------------------


def is_optional(wire_type: Any) -> bool:
    """Whether it may be null."""
    return is_union(wire_type) and type(None) in get_args(wire_type)


def is_union(wire_type: Any) -> bool:
    """Whether it is one of several."""
    return get_origin(wire_type) in (Union, types.UnionType)


def is_array(wire_type: Any) -> bool:
    """Whether it is an array of one type."""
    return get_origin(wire_type) is tuple


def is_enum(wire_type: Any) -> bool:
    """Whether it is a set of words."""
    return isinstance(wire_type, type) and issubclass(wire_type, StrEnum)


def present(wire_type: Any) -> Any:
    """The type without its null."""
    members = tuple(member for member in get_args(wire_type) if member is not type(None))
    return members[0] if len(members) == 1 else Union[members]  # noqa: UP007 - made at run time


def tagged_members(union: Any, tag: str) -> dict[str, Any]:
    """The members of a tagged union by their constant."""
    members = get_args(union)
    return {cast("str", attrs.fields_dict(member)[tag].default): member for member in members}


def choices_of(values: Iterable[object]) -> str:
    """Values as a message lists them."""
    return ", ".join(map(str, values))


# What is accepted --------------------------------------------------------------------------------


def as_object(value: Any, _: object = None) -> dict[str, Any]:
    """A JSON object as it is; an empty array stands for an empty one.

    Raises:
        Mismatch: it is neither.
    """
    if type(value) is dict:
        return cast("dict[str, Any]", value)
    if value == [] and type(value) is list:
        return {}
    raise _expected("an object", value)


def _expected(what: str, value: Any) -> Mismatch:
    got = next((name for kind, name in _JSON_TYPES.items() if type(value) is kind), "another value")
    return Mismatch(f"expected {what}, got {got}")


def _exactly(kind: type) -> Hook:
    what = _JSON_TYPES[kind]

    def hook(value: Any, _: Any) -> Any:
        if type(value) is kind:
            return value
        raise _expected(what, value)

    return hook


def _number(value: Any, _: Any) -> float | int:
    if type(value) is float or type(value) is int:
        return value
    raise _expected("a number", value)


def _untouched(value: Any, _: Any) -> Any:
    return value


@cache
def _by_value(enum: type[StrEnum]) -> dict[str, StrEnum]:
    return {member.value: member for member in enum}


def _enum(value: Any, enum: type[StrEnum]) -> StrEnum:
    if type(value) is not str:
        raise _expected("a string", value)
    member = _by_value(enum).get(value)
    if member is None:
        raise Mismatch(f"not one of {choices_of(enum)}")
    return member


def _constant(wire_type: Any) -> Hook:
    (constant,) = get_args(wire_type)

    def hook(value: Any, _: Any) -> Any:
        if type(value) is type(constant) and value == constant:
            return constant
        raise Mismatch(f"must be {constant}")

    return hook


def _bounded(bounds: Bounds) -> Hook:
    low, high = bounds.minimum, bounds.maximum

    def hook(value: Any, _: Any) -> int:
        if type(value) is not int:
            raise _expected("an integer", value)
        if low <= value <= high:
            return value
        raise Mismatch(f"must be at least {low}" if value < low else f"must be at most {high}")

    return hook


def _within(limits: Range) -> Hook:
    low, high = limits.minimum, limits.maximum

    def hook(value: Any, _: Any) -> float | int:
        if _number(value, None) < low:
            raise Mismatch(f"must be at least {low}")
        if high is not None and value > high:
            raise Mismatch(f"must be at most {high}")
        return value

    return hook


def _either(wire_type: Any) -> Hook:
    kinds = frozenset(get_origin(member) or member for member in get_args(wire_type))
    what = " or ".join(name for kind, name in _JSON_TYPES.items() if kind in kinds)

    def hook(value: Any, _: Any) -> Any:
        if type(value) in kinds:
            return value
        if dict in kinds and type(value) is list and not value:
            return {}
        raise _expected(what, value)

    return hook


def _tagged(wire_type: Any, tag: str) -> Hook:
    members = tagged_members(wire_type, tag)
    choices = choices_of(members)
    readers = {constant: structuring(member) for constant, member in members.items()}

    def hook(value: Any, _: Any) -> Any:
        chosen = as_object(value)[tag]
        reader = readers.get(chosen) if type(chosen) is str else None
        if reader is None:
            raise Mismatch(f"not one of {choices}")
        return reader(value)

    return hook


def _array(wire_type: Any) -> Hook:
    item, _ = get_args(wire_type)
    hook = _CONVERTER.get_structure_hook(item)

    def array(value: Any, _: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            raise _expected("an array", value)
        return tuple([hook(element, item) for element in cast("list[Any]", value)])

    return array


def _class(cls: Any) -> Hook:
    renamed: Any = {name: override(rename=wire_name(name)) for name in attrs.fields_dict(cls)}
    generated: Hook = make_dict_structure_fn(
        cls,
        _CONVERTER,
        _cattrs_forbid_extra_keys=True,
        _cattrs_detailed_validation=False,
        **renamed,
    )

    def hook(value: Any, wire_type: Any) -> Any:
        return generated(as_object(value), wire_type)

    return hook


def _annotated(wire_type: Any) -> Hook:
    plain, *marks = get_args(wire_type)
    for mark in marks:
        match mark:
            case Bounds() | Range():
                return _bounded(mark) if isinstance(mark, Bounds) else _within(mark)
            case Either():
                return _either(plain)
            case Tag():
                return _tagged(plain, mark.field)
            case Opaque():
                return as_object
            case _:
                continue
    if is_enum(plain):
        return lambda value, _: _enum(value, plain)
    return _CONVERTER.get_structure_hook(plain)


def _optional(wire_type: Any) -> Hook:
    inner = present(wire_type)
    hook = _CONVERTER.get_structure_hook(inner)

    def optional(value: Any, _: Any) -> Any:
        return None if value is None else hook(value, inner)

    return optional


# What is sent ------------------------------------------------------------------------------------


def _same(value: Any) -> Any:
    return value


def _sent_as_is(_: Any) -> Sent:
    return _same


def _sent_class(cls: Any) -> Sent:
    renamed: Any = {
        field.name: override(rename=wire_name(field.name), omit_if_default=field.default is None)
        for field in attrs.fields(cls)
    }
    return make_dict_unstructure_fn(cls, _CONVERTER, **renamed)


def _sent_array(wire_type: Any) -> Sent:
    hook = _CONVERTER.get_unstructure_hook(get_args(wire_type)[0])
    return lambda value: [hook(element) for element in value]


def _sent_union(_: Any) -> Sent:
    return lambda value: _CONVERTER.unstructure(value, type(value))


def _sent_marked(wire_type: Any) -> Sent:
    plain, *marks = get_args(wire_type)
    if any(isinstance(mark, Either | Opaque) for mark in marks):
        return _same
    return _CONVERTER.get_unstructure_hook(plain)


def _sent_optional(wire_type: Any) -> Sent:
    hook = _CONVERTER.get_unstructure_hook(present(wire_type))
    return hook if hook is _same else lambda value: None if value is None else hook(value)


# Together ----------------------------------------------------------------------------------------


def _is_literal(wire_type: Any) -> bool:
    return get_origin(wire_type) is Literal


def _is_annotated(wire_type: Any) -> bool:
    return get_origin(wire_type) is Annotated


def _is_plain(wire_type: Any) -> bool:
    return wire_type in (Any, object, str, int, bool, float) or is_enum(wire_type)


def _converter() -> Converter:
    converter = Converter(detailed_validation=False)
    converter.register_structure_hook_func(lambda t: t is Any or t is object, _untouched)
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _exactly(kind))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(StrEnum, _enum)
    return converter


_Rule = tuple[Callable[[Any], bool], Callable[[Any], Hook] | None, Callable[[Any], Sent]]

_RULES: tuple[_Rule, ...] = (
    (_is_plain, None, _sent_as_is),
    (attrs.has, _class, _sent_class),
    (is_array, _array, _sent_array),
    (_is_literal, _constant, _sent_as_is),
    (is_union, _either, _sent_union),
    (is_optional, _optional, _sent_optional),
    (_is_annotated, _annotated, _sent_marked),
)
"""Which types, how they are read, how they are sent; of two that apply the later one wins."""

_CONVERTER = _converter()
for _applies, _read, _send in _RULES:
    if _read is not None:
        _CONVERTER.register_structure_hook_factory(_applies, _read)
    _CONVERTER.register_unstructure_hook_factory(_applies, _send)
