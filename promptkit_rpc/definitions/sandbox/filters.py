"""The filters and tests of templates: a list of what is there, each within the budget.

Left out are those that make markup, that are random, or that print Python's internals. `tojson`
gives plain JSON, keys in their order, nothing escaped for HTML.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from typing import Any, cast

from promptkit_rpc.definitions.sandbox.arithmetic import binary, percent
from promptkit_rpc.definitions.sandbox.budget import (
    LimitReached,
    make_items,
    make_text,
    read_text,
    tick,
)
from promptkit_rpc.definitions.sandbox.methods import replace
from promptkit_rpc.definitions.sandbox.values import (
    Absent,
    compare,
    counted,
    items_of,
    text,
    weigh,
)

Function = Callable[..., Any]

_MAX_PRECISION = 300
_MAX_INDENT = 100
_MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "'": "&#39;", '"': "&#34;"}


def made_of(originals: Mapping[str, Function]) -> dict[str, Function]:
    """Every filter by name; `originals` are the template library's own, for those it does best."""
    guards: dict[str, Callable[[Function], Function]] = {
        **dict.fromkeys(("title", "wordcount", "truncate", "capitalize"), _of_text),
        **dict.fromkeys(("first", "last"), _of_items),
        **dict.fromkeys(("map", "select", "selectattr", "reject", "rejectattr"), _of_items),
        **dict.fromkeys(("unique", "groupby", "dictsort", "sort", "min", "max"), _of_leaves),
        "batch": _sized,
        "slice": _sized,
        "float": _of_scalar,
        "int": _of_scalar,
        "filesizeformat": _of_scalar,
        "urlencode": _urlencode,
        "indent": _indent,
        "wordwrap": _wordwrap,
        "round": _round,
    }
    guarded = {name: guard(originals[name]) for name, guard in guards.items()}
    return {**guarded, **_OWN, "default": originals["default"], "d": originals["default"]}


def tests_made_of(originals: Mapping[str, Function]) -> dict[str, Function]:
    """Every test by name; all but `defined` and `undefined` fail on what is not there."""
    kept = "boolean false true none float integer number string mapping sequence iterable callable"
    guarded = {name: _of_present(originals[name]) for name in f"{kept} sameas".split()}
    named = {name: originals[name] for name in ("defined", "undefined", "filter", "test")}
    compared = {
        name: functools.partial(_compare, op) for op, names in _COMPARED.items() for name in names
    }
    return {**guarded, **named, **compared, **_OWN_TESTS}


def _own_place(function: Function) -> int:
    """Where the value stands among the arguments of one of the library's filters."""
    return 1 if hasattr(function, "jinja_pass_arg") else 0


def _before(function: Function, prepare: Callable[..., Any]) -> Function:
    """The function, with its value replaced by what `prepare` makes of it and the arguments."""
    place = _own_place(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for value in (*args[place + 1 :], *kwargs.values()):
            if isinstance(value, Absent):
                value.fail()
        value = prepare(args[place], *args[place + 1 :], **kwargs)
        result = function(*args[:place], value, *args[place + 1 :], **kwargs)
        if isinstance(result, str):
            return text(result)
        return list(counted(cast("Iterator[Any]", result))) if _is_lazy(result) else result

    return call


def _is_lazy(result: Any) -> bool:
    return isinstance(result, Iterator)


def _of_text(function: Function) -> Function:
    def prepare(value: Any, *_: Any, **__: Any) -> str:
        return _read(value)

    return _before(function, prepare)


def _read(value: Any) -> str:
    found = text(value)
    make_text(len(found))
    return found


def _of_items(function: Function) -> Function:
    def prepare(value: Any, *_: Any, **__: Any) -> Any:
        return items_of(value)

    return _before(function, prepare)


def _sized(function: Function) -> Function:
    """For filters whose first argument says how many items to make."""

    def prepare(value: Any, count: Any = 0, *_: Any, **named: Any) -> Any:
        for number in (count, *named.values()):
            if isinstance(number, int):
                tick(abs(number))
        return items_of(value)

    return _before(function, prepare)


def _of_leaves(function: Function) -> Function:
    """For filters that compare or hash items down to their leaves."""

    def prepare(value: Any, *_: Any, **__: Any) -> Any:
        items = items_of(value)
        weight = weigh(items)
        count = len(items) if isinstance(items, Sized) else 1
        rounds = count.bit_length()
        read_text(weight * rounds)
        make_items(count * rounds)
        return items

    return _before(function, prepare)


def _of_scalar(function: Function) -> Function:
    def prepare(value: Any, *_: Any, **__: Any) -> Any:
        if isinstance(value, Absent):
            value.fail()
        if isinstance(value, str):
            read_text(len(value))
        return value

    return _before(function, prepare)


def _urlencode(function: Function) -> Function:
    def prepare(value: Any) -> Any:
        make_text(3 * (len(_read(value)) if isinstance(value, str) else weigh(value)))
        return value

    return _before(function, prepare)


def _indent(function: Function) -> Function:
    def prepare(value: Any, width: Any = 4, *_: Any, **__: Any) -> str:
        found = _read(value)
        each = len(width) if isinstance(width, str) else int(width)
        if each > _MAX_INDENT:
            raise LimitReached(f"an indentation may be {_MAX_INDENT} wide at most")
        make_text(len(found) + len(found.splitlines()) * each)
        return found

    return _before(function, prepare)


def _wordwrap(function: Function) -> Function:
    def prepare(
        value: Any, width: Any = 79, _: Any = None, wrapstring: Any = "\n", *__: Any, **___: Any
    ) -> str:
        found = _read(value)
        longest = max(map(len, found.split()), default=0)
        turns = longest // max(1, width) + 1
        make_text(len(found) * (1 + len(wrapstring or "\n")))
        tick(len(found) // 4)
        read_text(longest * turns)
        return found

    return _before(function, prepare)


def _round(function: Function) -> Function:
    def prepare(value: Any, precision: Any = 0, *_: Any) -> Any:
        if isinstance(value, Absent):
            value.fail()
        if not -_MAX_PRECISION <= precision <= _MAX_PRECISION:
            raise LimitReached(f"a precision may be {_MAX_PRECISION} at most")
        return value

    return _before(function, prepare)


def _lower(value: Any) -> str:
    return _read(value).lower()


def _upper(value: Any) -> str:
    return _read(value).upper()


def _trim(value: Any, chars: str | None = None) -> str:
    return _read(value).strip(chars)


def _center(value: Any, width: int = 80) -> str:
    found = text(value)
    make_text(max(len(found), width))
    return found.center(width)


def _replace(value: Any, old: Any, new: Any, count: Any = None) -> str:
    return replace(text(value), text(old), text(new), count)


def _format(pattern: Any, *args: Any, **kwargs: Any) -> str:
    return percent(text(pattern), kwargs or args)


def _escape(value: Any) -> str:
    found = text(value)
    make_text(len(found) + sum(4 * found.count(char) for char in _MARKUP))
    return found.translate(str.maketrans(_MARKUP))


def _tojson(value: Any, indent: int | None = None) -> str:
    size = weigh(value)
    if indent is not None:
        if not 0 <= indent <= _MAX_INDENT // 10:
            raise LimitReached(f"an indentation of JSON may be {_MAX_INDENT // 10} at most")
        size *= 1 + indent
    make_text(size)
    made = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    make_text(len(made))
    return made


def _length(value: Any) -> int:
    return len(items_of(value) if isinstance(value, Absent | Iterator) else value)


def _list(value: Any) -> list[Any]:
    return list(items_of(value))


def _reverse(value: Any) -> Any:
    items = items_of(value)
    if isinstance(items, str):
        return items[::-1]
    return list(reversed(cast("Sequence[Any]", items if isinstance(items, Sized) else list(items))))


def _items(value: Any) -> list[tuple[Any, Any]]:
    mapping = items_of(value)
    if not isinstance(mapping, Mapping):
        raise TypeError("the filter 'items' takes a mapping")
    return list(cast("Mapping[Any, Any]", mapping).items())


def _abs(value: Any) -> Any:
    if isinstance(value, Absent):
        value.fail()
    return abs(value)


def join(environment: Any, value: Any, d: Any = "", attribute: Any = None) -> str:
    """The items' texts with `d` between them; with an attribute, that of each item."""
    items = items_of(value)
    if attribute is not None:
        items = [part_of(environment, item, attribute) for item in items]
    texts = [text(item) for item in counted(items)]
    between = text(d)
    make_text(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def total(environment: Any, value: Any, attribute: Any = None, start: Any = 0) -> Any:
    """The sum of the items, or of an attribute of each."""
    found = start
    for item in counted(items_of(value)):
        part = item if attribute is None else part_of(environment, item, attribute)
        found = binary("+", found, part)
    return found


def part_of(environment: Any, item: Any, attribute: Any) -> Any:
    """What a dotted path of keys, attributes and indexes leads to."""
    names: list[Any] = [attribute]
    if isinstance(attribute, str):
        names = [int(name) if name.isdecimal() else name for name in attribute.split(".")]
    for name in names:
        item = environment.getitem(item, name)
    return item


WITH_ENVIRONMENT: Mapping[str, Function] = {"join": join, "sum": total}
"""Filters that are handed the environment first."""

_OWN: dict[str, Function] = {
    "abs": _abs,
    "center": _center,
    "count": _length,
    "e": _escape,
    "escape": _escape,
    "forceescape": _escape,
    "format": _format,
    "items": _items,
    "length": _length,
    "list": _list,
    "lower": _lower,
    "replace": _replace,
    "reverse": _reverse,
    "safe": text,
    "string": text,
    "tojson": _tojson,
    "trim": _trim,
    "upper": _upper,
}

_COMPARED = {
    "eq": ("eq", "==", "equalto"),
    "ne": ("ne", "!="),
    "gt": ("gt", ">", "greaterthan"),
    "gteq": ("ge", ">="),
    "lt": ("lt", "<", "lessthan"),
    "lteq": ("le", "<="),
    "in": ("in",),
}


def _compare(op: str, left: Any, right: Any) -> Any:
    return compare(op, left, right)


def _of_present(function: Function) -> Function:
    @functools.wraps(function)
    def call(value: Any, *args: Any) -> Any:
        if isinstance(value, Absent):
            value.fail()
        return function(value, *args)

    return call


def _is_divisible(value: Any, by: Any) -> bool:
    return binary("%", value, by) == 0


def _is_even(value: Any) -> bool:
    return _is_divisible(value, 2)


def _is_odd(value: Any) -> bool:
    return not _is_divisible(value, 2)


def _is_lower(value: Any) -> bool:
    return text(value).islower()


def _is_upper(value: Any) -> bool:
    return text(value).isupper()


_OWN_TESTS: dict[str, Function] = {
    "divisibleby": _is_divisible,
    "even": _is_even,
    "odd": _is_odd,
    "lower": _is_lower,
    "upper": _is_upper,
}
