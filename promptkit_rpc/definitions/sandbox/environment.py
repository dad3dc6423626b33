"""What compiled templates call back: names, lookups, operators and calls, each under our rules."""

from collections.abc import Mapping, Sized
from types import MethodType
from typing import Any, NoReturn

import jinja2
from jinja2 import runtime, utils
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from promptkit_rpc.definitions.sandbox import arithmetic, values
from promptkit_rpc.definitions.sandbox.budget import (
    LimitReached,
    MissingValue,
    MissingVariable,
    Refused,
    make_items,
    tick,
)
from promptkit_rpc.definitions.sandbox.generator import Generator
from promptkit_rpc.definitions.sandbox.methods import Method, attribute, is_data
from promptkit_rpc.definitions.sandbox.values import Absent, Blank, is_a

MAX_RANGE = 100_000
"""Numbers in one `range()`."""

_SHOWN = 100


class Undefined(Absent, jinja2.StrictUndefined):
    """A value that is not there: whatever is done with it fails, with its name."""

    __slots__ = ()

    def fail(self) -> NoReturn:
        """Raises with the name, and with what to do about it."""
        if self._undefined_exception is SecurityError:
            raise Refused(self._undefined_message)
        if self._undefined_hint:
            raise MissingValue(self._undefined_hint)
        if self._undefined_obj is utils.missing:
            raise MissingVariable(str(self._undefined_name))
        kind, name = type(self._undefined_obj).__name__, self._undefined_name
        shown = repr(name)[:_SHOWN] if is_a(name, str | int | float | None) else "such key"
        raise MissingValue(f"there is no {shown} in this {kind}")

    def _failing(self, *_: Any) -> Any:
        self.fail()

    __bool__ = __iter__ = __len__ = __str__ = __neg__ = __pos__ = _failing
    __eq__ = __ne__ = __hash__ = __contains__ = __lt__ = __gt__ = _failing


class _NoElse(Blank, jinja2.Undefined):
    """What a conditional without an else gives when its condition does not hold."""

    __slots__ = ()


class Environment(ImmutableSandboxedEnvironment):
    """What compiled templates call back; see `values` for what it lets them do."""

    code_generator_class = Generator
    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "**", "%"))
    concat: Any = staticmethod(values.concatenate)
    compare = staticmethod(values.compare)
    compare_chain = staticmethod(values.compare_chain)
    cut = staticmethod(values.cut)
    key = staticmethod(values.key)
    no_else = _NoElse

    @staticmethod
    def step(steps: int = 1) -> bool:
        """Pays, and holds as a condition."""
        tick(steps)
        return True

    def call_binop(self, context: runtime.Context, operator: str, left: Any, right: Any) -> Any:
        """Every operator between two values comes here."""
        del context
        return arithmetic.binary(operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`: of plain data a method, else a key."""
        if isinstance(obj, Absent):
            obj.fail()
        return self._part(obj, attribute) if is_data(obj) else super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`: of plain data a key or index, else a method."""
        if isinstance(obj, Absent):
            obj.fail()
        values.key(argument)
        if not is_data(obj):
            return super().getitem(obj, argument)
        try:
            if not is_a(obj, Mapping) or argument in obj:
                return obj[argument]
        except (TypeError, LookupError):
            pass
        if isinstance(argument, str):
            return self._part(obj, argument)
        return self.undefined(obj=obj, name=argument)

    def _part(self, obj: Any, name: str) -> Any:
        try:
            return attribute(obj, name)
        except MissingValue:
            return self.undefined(obj=obj, name=name)

    def call(self, context: runtime.Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`obj(...)`: what is ours to call, and nothing that a caller's data brings along."""
        tick(1 + len(args) + len(kwargs))
        if isinstance(obj, Absent):
            obj.fail()
        if id(obj) in _FUNCTIONS:
            for value in args:
                make_items(len(value) if isinstance(value, Sized) else 1)
        elif isinstance(obj, MethodType):
            if (type(obj.__self__), obj.__name__) not in _BOUND:
                raise Refused(f"{obj.__name__!r} may not be called in a template")
            for value in args:
                values.weigh_leaves(value)
        elif not isinstance(obj, _CALLABLE):
            raise Refused(f"a value of type {type(obj).__name__} may not be called")
        return context.call(obj, *args, **kwargs)


def _range(*numbers: int) -> range:
    made = range(*numbers)
    if made and (made[-1] - made[0]) // made.step >= MAX_RANGE:
        raise LimitReached(f"a range may hold {MAX_RANGE} numbers at most")
    return made


_range.__name__ = "range"


def _dict(*args: Any, **kwargs: Any) -> dict[Any, Any]:
    return dict(*args, **kwargs)


_dict.__name__ = "dict"

GLOBALS: dict[str, Any] = {
    "range": _range,
    "dict": _dict,
    "namespace": utils.Namespace,
    "cycler": utils.Cycler,
    "joiner": utils.Joiner,
}
_FUNCTIONS = frozenset(map(id, (*GLOBALS.values(), Environment.step)))
_CALLABLE = (
    Method,
    runtime.Macro,
    runtime.LoopContext,
    runtime.BlockReference,
    utils.Joiner,
)
_BOUND = {
    (runtime.LoopContext, "cycle"),
    (runtime.LoopContext, "changed"),
    (utils.Cycler, "next"),
    (utils.Cycler, "reset"),
    (runtime.BlockReference, "super"),
}
