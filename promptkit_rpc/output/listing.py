"""A validator's errors as violations, each short and all of them bounded. Knows no validator."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from promptkit_rpc.output.contract import UNCHECKED, Violation
from promptkit_rpc.output.pointer import pointer

MAX_VIOLATIONS = 100
"""How many are listed; one more then says how many are not."""

MAX_MESSAGE = 300
"""The longest message, in characters; the middle of a longer one is left out."""

_MAX_TOTAL = 128 << 10  # characters of a whole list; names in an answer may be of any length
_NAMED = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
_CHOICES = frozenset(("anyOf", "oneOf"))
_GIVEN_UP = frozenset(("BacktrackLimitExceeded", "RegexEngineFailure"))
_TOO_LONG = "the schema's pattern takes too long to be tried on this text"


class SchemaError(Protocol):
    """One error of a validator: places are paths of names and indexes."""

    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def instance_path(self) -> list[str | int]: ...  # noqa: D102
    @property
    def schema_path(self) -> list[str | int]: ...  # noqa: D102
    @property
    def kind(self) -> Any: ...  # noqa: D102


def listed(errors: Iterable[SchemaError]) -> tuple[Violation, ...]:
    """Every error, and where no alternative of a choice fits, what is wrong inside of each."""
    return bounded(one for error in errors for one in _told(error))


def bounded(violations: Iterable[Violation]) -> tuple[Violation, ...]:
    """The first hundred different ones, and one more that says how many there are besides."""
    found: dict[Violation, None] = {}
    room, more = _MAX_TOTAL, 0
    for violation in violations:
        if violation in found:
            continue
        room -= len(violation.path) + len(violation.schema_path or "")
        if len(found) < MAX_VIOLATIONS and room >= 0:
            found[violation] = None
        else:
            more += 1
    if more:
        message = f"{more} more {'violation is' if more == 1 else 'violations are'} not listed"
        found[Violation(path="", keyword="more", message=message)] = None
    return tuple(found)


def short(message: str, limit: int = MAX_MESSAGE) -> str:
    """The text, or its two ends: what is wrong stands at the end, after a value of any length."""
    if len(message) <= limit:
        return message
    half = (limit - 1) // 2
    return f"{message[:half]}…{message[-half:]}"


def _told(error: SchemaError) -> Iterator[Violation]:
    given_up = type(error.kind).__name__ in _GIVEN_UP
    yield Violation(
        path=pointer(error.instance_path),
        keyword=UNCHECKED if given_up else _keyword(error),
        message=_TOO_LONG if given_up else short(error.message),
        schema_path=pointer(error.schema_path),
    )
    if error.kind.name in _CHOICES:
        # An alternative of another type says nothing new; one that fits on top says a lot inside.
        for inner in (one for branch in _branches(error) for one in branch):
            if len(inner.instance_path) > len(error.instance_path):
                yield from _told(inner)


def _branches(error: SchemaError) -> list[list[SchemaError]]:
    fits_too_often = "more than one" in error.message
    return [] if fits_too_often else error.kind.context


def _keyword(error: SchemaError) -> str:
    """The last keyword on the way; a name in `properties` and the like is none."""
    path = error.schema_path
    for place in range(len(path) - 1, -1, -1):
        step = path[place]
        if isinstance(step, int) or (place and path[place - 1] in _NAMED):
            continue
        return step
    return str(error.kind.name)
