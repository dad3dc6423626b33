"""What a template may do with values, each operation paid for before it is done.

Values built by a template can stand for far more than they hold (a list of one list twice, again
and again), so whatever walks a value to its leaves weighs it first.
"""

import operator
from collections import deque
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sized,
    ValuesView,
)
from typing import Any, NoReturn, cast

from promptkit_rpc.definitions.sandbox.budget import (
    MAX_BITS,
    LimitReached,
    Refused,
    make_items,
    make_text,
    read_text,
    tick,
)

is_a: Callable[[Any, Any], bool] = isinstance
"""`isinstance`, for values of which nothing is known."""

type_of: Callable[[Any], Any] = type

NUMBERS = frozenset((int, float, bool, type(None)))
_COLLECTIONS = (list, tuple, set, frozenset, deque, KeysView, ValuesView)
_CONTAINERS = (*_COLLECTIONS, Mapping, ItemsView)
_OTHER_CHARACTERS = 64


class Absent:
    """Marks the class of values that are not there; any use of one fails."""

    __slots__ = ()

    def fail(self) -> NoReturn:
        """Raises `MissingValue` with the name."""
        raise NotImplementedError


class Blank:
    """Marks the class of the value that a conditional without its else gives: it prints nothing."""

    __slots__ = ()


def digits(value: int) -> int:
    """About how many characters an integer takes.

    Raises:
        LimitReached: too many.
    """
    bits = value.bit_length()
    if bits > MAX_BITS:
        raise LimitReached(f"an integer of the template has more than {MAX_BITS} bits")
    return bits // 3 + 2


def weigh(*values: Any) -> int:
    """About how many characters values take when written out, whatever they share; pays for it.

    Raises:
        TemplateFault: too large, or something in them is not there or is no data.
    """
    stack: list[Any] = list(values)
    characters = 0
    while stack:
        value = stack.pop()
        kind = type_of(value)
        if kind is str:
            characters += len(value) + 4
        elif kind in NUMBERS:
            characters += digits(value) if kind is int else 24
        elif is_a(value, Mapping | ItemsView):
            pairs = cast("Mapping[Any, Any]", value)
            tick(1 + len(pairs))
            for pair in pairs.items() if is_a(pairs, Mapping) else pairs:
                stack.extend(pair)
        elif is_a(value, _COLLECTIONS):
            items = cast("Iterable[Any]", value)
            tick(1 + len(cast("Sized", value)))
            stack.extend(items)
        else:
            characters += _weigh_other(value)
    read_text(characters)
    return characters


def _weigh_other(value: Any) -> int:
    if isinstance(value, Absent):
        value.fail()
    if is_a(value, str | bytes | bytearray):
        return len(value) + 4
    if is_a(value, Blank):
        return 0
    _check_data(value)
    return _OTHER_CHARACTERS


def _check_data(value: Any) -> None:
    """Refuses what has no text of its own: functions, generators, the engine's own objects."""
    kind = type_of(value)
    if callable(value):
        name = getattr(value, "__name__", None) or kind.__name__
        raise Refused(f"{name!r} is a function or method here, not a value; call it, or use [...]")
    if is_a(value, Iterator) or kind.__module__.startswith("jinja2"):
        raise Refused(f"a {kind.__name__} has no text")


def text(value: Any) -> str:
    """A value as it stands in rendered text.

    Raises:
        TemplateFault: it is not there, is no data, or is too large.
    """
    kind = type_of(value)
    if kind is str:
        return value
    if kind in NUMBERS:
        if kind is int:
            digits(value)
        return str(value)
    if is_a(value, str):
        return str.__str__(value)
    if isinstance(value, Absent):
        value.fail()
    if is_a(value, Blank):
        return ""
    if is_a(value, _CONTAINERS):
        make_text(weigh(value))
    else:
        _check_data(value)
    return str(value)


def concatenate(parts: Iterable[Any]) -> str:
    """The texts of values, joined."""
    texts = [text(part) for part in parts]
    make_text(sum(map(len, texts)))
    return "".join(texts)


def items_of(value: Any) -> Any:
    """A value that is about to be gone through; what can be read only once becomes a list."""
    if isinstance(value, Absent):
        value.fail()
    if is_a(value, str):
        tick(len(value))
        return value
    if is_a(value, Iterator):
        return list(counted(cast("Iterator[Any]", value)))
    if is_a(value, Sized):
        make_items(len(value))
    return value


def counted(values: Iterable[Any]) -> Iterator[Any]:
    """The same values, each paid for."""
    for value in values:
        tick()
        yield value


def _contains(left: Any, right: Any) -> bool:
    return left in right


def _lacks(left: Any, right: Any) -> bool:
    return left not in right


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "gteq": operator.ge,
    "lt": operator.lt,
    "lteq": operator.le,
    "in": _contains,
    "notin": _lacks,
}


def compare(op: str, left: Any, right: Any) -> Any:
    """One comparison, by the name the template language has for it."""
    if not (type(left) in NUMBERS and type(right) in NUMBERS):
        if op in {"in", "notin"}:
            right = _pay_search(left, right)
        else:
            pay_compare(left, right)
    return _COMPARISONS[op](left, right)


def compare_chain(left: Any, *rest: tuple[str, Callable[[], Any]]) -> Any:
    """`a < b < c`: each operand is made once, and none after the first comparison that fails."""
    result: Any = True
    for op, make in rest:
        right = make()
        result = compare(op, left, right)
        if not result:
            return result
        left = right
    return result


def pay_compare(left: Any, right: Any) -> None:
    """Pays for comparing two values to their leaves."""
    if type(left) is str and type(right) is str:
        read_text(min(len(left), len(right)))
    else:
        weigh_leaves(left)
        weigh_leaves(right)


def weigh_leaves(value: Any) -> None:
    """Pays for going through a value; functions may be compared too, by identity."""
    if is_a(value, _CONTAINERS):
        weigh(value)
    elif isinstance(value, Absent):
        value.fail()
    elif is_a(value, str | bytes):
        read_text(len(value))


def _pay_search(left: Any, right: Any) -> Any:
    """Pays for looking for one value in another, which is returned ready to be searched."""
    if isinstance(left, Absent):
        left.fail()
    if is_a(right, str):
        read_text(len(right))
        return right
    right = items_of(right)
    if is_a(right, Mapping):
        key(left)
    elif is_a(right, Sized):
        each = 1 if type(left) in NUMBERS else weigh(left)
        read_text(len(right) * each)
        if is_a(right, range) and type(left) is not int:
            tick(len(right))
    return right


def key(value: Any) -> Any:
    """A value that is about to be looked up by its hash."""
    if isinstance(value, Absent):
        value.fail()
    if is_a(value, tuple | frozenset):
        weigh(value)
    elif is_a(value, str):
        read_text(len(value))
    return value


def cut(value: Any, start: Any, stop: Any, step: Any) -> Any:
    """A slice."""
    if isinstance(value, Absent):
        value.fail()
    part = slice(start, stop, step)
    if is_a(value, str):
        make_text(len(value))
    elif is_a(value, Sized) and not is_a(value, range):
        make_items(len(value))
    return value[part]
