"""The methods of plain data that a template may call, and the only way to reach them.

Nothing that changes data is among them, and none can make more than the budget allows.
"""

import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any, cast

from promptkit_rpc.definitions.sandbox.arithmetic import check_width
from promptkit_rpc.definitions.sandbox.budget import (
    MissingValue,
    Refused,
    make_items,
    make_text,
    read_text,
    tick,
)
from promptkit_rpc.definitions.sandbox.values import (
    NUMBERS,
    Absent,
    items_of,
    key,
    text,
    weigh,
)

Function = Callable[..., Any]

_MAX_INDEX_DIGITS = 10


class Method:
    """A method bound to its value; prints nothing of either."""

    __slots__ = ("__name__", "_function", "_owner")

    def __init__(self, name: str, function: Function, owner: Any) -> None:
        self.__name__ = name
        self._function = function
        self._owner = owner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it, unless an argument is not there."""
        for value in (*args, *kwargs.values()):
            if isinstance(value, Absent):
                value.fail()
        return self._function(self._owner, *args, **kwargs)


def _same_size(name: str) -> Function:
    """A method of text that reads it once and makes little more than it read."""
    function: Function = getattr(str, name)

    def call(owner: str, *args: Any, **kwargs: Any) -> Any:
        read_text(len(owner) + sum(len(arg) for arg in args if isinstance(arg, str)))
        result = function(owner, *args, **kwargs)
        if isinstance(result, str):
            make_text(len(result))
        return result

    return call


def _pieces(name: str) -> Function:
    """A method of text that makes a list of its pieces."""
    function: Function = getattr(str, name)

    def call(owner: str, *args: Any, **kwargs: Any) -> Any:
        make_text(len(owner))
        tick(len(owner) // 4)
        return function(owner, *args, **kwargs)

    return call


def _padded(name: str) -> Function:
    function: Function = getattr(str, name)

    def call(owner: str, width: Any, *fill: Any) -> str:
        make_text(max(len(owner), width if isinstance(width, int) else 0))
        return function(owner, width, *fill)

    return call


def _expandtabs(owner: str, tabsize: Any = 8) -> str:
    make_text(len(owner) + owner.count("\t") * max(0, tabsize))
    return owner.expandtabs(tabsize)


def join(owner: str, parts: Any) -> str:
    """Joins texts; anything else among them is an error, as in Python."""
    pieces = list(items_of(parts))
    make_text(sum(len(piece) + len(owner) for piece in pieces if isinstance(piece, str)))
    return owner.join(pieces)


def replace(owner: str, old: Any, new: Any, count: Any = -1) -> str:
    """Puts one text in place of another, everywhere or so many times."""
    times = owner.count(old)
    if isinstance(count, int) and count >= 0:
        times = min(times, count)
    make_text(len(owner) + times * len(new))
    return owner.replace(old, new, -1 if count is None else count)


class _Formatter(Formatter):
    """`str.format`, with lookups and widths under the same rules as everything else."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, int | str]:
        tick()
        names = re.split(r"[.\[]", field_name)
        first: int | str = int(names[0]) if names[0].isdecimal() else names[0]
        value = self.get_value(first, args, kwargs)
        for name in names[1:]:
            value = lookup(value, name.removesuffix("]"))
        return value, first

    def format_field(self, value: Any, format_spec: str) -> str:
        size = sum(check_width(number) for number in re.findall(r"\d+", format_spec))
        if type(value) not in NUMBERS:
            size += weigh(value)
        make_text(size)
        return format(value, format_spec) if format_spec else text(value)

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion is not None:
            make_text(weigh(value))
        return super().convert_field(value, conversion)  # type: ignore[arg-type]


def lookup(value: Any, name: str) -> Any:
    """A part of plain data: a mapping's value or a list's item."""
    if isinstance(value, Mapping) and name in value:
        return cast("Mapping[str, Any]", value)[name]
    if isinstance(value, list | tuple) and name.isdecimal() and len(name) < _MAX_INDEX_DIGITS:
        items = cast("list[Any]", value)
        if int(name) < len(items):
            return items[int(name)]
    raise MissingValue(f"{name!r} is not there, or may not be reached by format()")


def _format(owner: str, *args: Any, **kwargs: Any) -> str:
    read_text(len(owner))
    return _Formatter().vformat(owner, args, kwargs)


def _format_map(owner: str, values: Any) -> str:
    read_text(len(owner))
    return _Formatter().vformat(owner, (), values)


def _get(owner: Any, name: Any, default: Any = None) -> Any:
    return owner.get(key(name), default)


def _whole(name: str) -> Function:
    def call(owner: Any) -> Any:
        make_items(len(owner))
        return getattr(owner, name)()

    return call


def _search(name: str) -> Function:
    def call(owner: Any, value: Any, *where: Any) -> int:
        each = 1 if type(value) in NUMBERS else weigh(value)
        read_text(len(owner) * each)
        return getattr(owner, name)(value, *where)

    return call


def _plain(name: str) -> Function:
    def call(owner: Any) -> Any:
        return getattr(owner, name)()

    return call


_SAME_SIZE = (
    "capitalize casefold lower upper swapcase title strip lstrip rstrip removeprefix removesuffix "
    "startswith endswith find rfind index rindex count partition rpartition isalnum isalpha "
    "isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper"
)
_TEXT: dict[str, Function] = {
    **{name: _same_size(name) for name in _SAME_SIZE.split()},
    **{name: _pieces(name) for name in ("split", "rsplit", "splitlines")},
    **{name: _padded(name) for name in ("center", "ljust", "rjust", "zfill")},
    "expandtabs": _expandtabs,
    "join": join,
    "replace": replace,
    "format": _format,
    "format_map": _format_map,
}
_MAPPING: dict[str, Function] = {
    "get": _get,
    "items": _plain("items"),
    "keys": _plain("keys"),
    "values": _plain("values"),
    "copy": _whole("copy"),
}
_LIST: dict[str, Function] = {name: _search(name) for name in ("index", "count")}
_METHODS: tuple[tuple[type[Any], dict[str, Function]], ...] = (
    (Mapping, _MAPPING),
    (list, {**_LIST, "copy": _whole("copy")}),
    (tuple, _LIST),
    (int, {"bit_length": _plain("bit_length")}),
    (float, {"is_integer": _plain("is_integer")}),
    (type(None), {}),
)
_DATA = (str, *(kind for kind, _ in _METHODS))


def is_data(value: Any) -> bool:
    """Whether a value's attributes are those below and no others."""
    return isinstance(value, _DATA)


def method_of(value: Any, name: str) -> Method | None:
    """A method of plain data, or None."""
    if isinstance(value, str):
        functions = _TEXT
    else:
        functions = next(table for kind, table in _METHODS if isinstance(value, kind))
    function = functions.get(name)
    return None if function is None else Method(name, function, value)


def attribute(value: Any, name: str) -> Any:
    """`value.name` of plain data: a method, a key, or a field of a named tuple.

    Raises:
        MissingValue: there is none.
        Refused: it is a name of Python's own.
    """
    found = method_of(value, name)
    if found is not None:
        return found
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        if name in mapping:
            return mapping[name]
    elif isinstance(value, tuple) and name in getattr(cast("object", value), "_fields", ()):
        return getattr(cast("object", value), name)
    raise _no_attribute(value, name)


def _no_attribute(value: Any, name: str) -> MissingValue | Refused:
    kind: str = type(value).__name__
    if not isinstance(value, Mapping) and hasattr(value, name):
        return Refused(f"{name!r} of {kind} values may not be used in a template")
    return MissingValue(f"there is no {name!r} in this {kind}")
