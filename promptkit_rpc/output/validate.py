r"""Whether an answer meets its contract. Knows no provider and no run.

Meanings that are ours: `format` is an assertion, and unknown formats say nothing; patterns are
those of ECMA 262 (`\d` is 0-9, `$` the very end, `\Z` an error); `multipleOf` counts in decimal.
"""

# What a contract needs is loaded with the first one: a start must not pay for it.
# ruff: noqa: PLC0415

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import msgspec

from promptkit_rpc.jsontext import Json, JsonError, encode, too_deep
from promptkit_rpc.output.contract import (
    UNCHECKED,
    Contract,
    Format,
    Status,
    Validation,
    Violation,
)

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

CHECKED_HERE = 256 << 10
"""Largest answer that is checked in this process, in bytes; a larger one gets one of its own."""

LISTED_HERE = 16 << 10
"""Likewise for one with violations to list: each may copy the part of the answer it is about."""

_WEIGHT_HERE = 128 << 10  # bytes times levels: an error inside an error copies its part again
_BACKTRACKED_HERE = 4 << 10
_BACKTRACKS_HERE, _BACKTRACKS_OF_VALUES = 10_000, 1_000_000
_BACKTRACKS = 100_000_000  # some seconds for one text
_HIDING = re.compile(rb'"(?:if|anyOf|oneOf|contains|unevaluated\w+)"')

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_SHOWN = 100

_WORKER = "promptkit_rpc.output.worker"
_STOPPED = {
    "refusal": "the model refused to answer",
    "contentFilter": "the provider filtered the answer",
    "length": "the answer was cut off at the token limit",
}


class Compiled(msgspec.Struct, frozen=True):
    """A schema ready for use; `backtracks` where a pattern's cost may grow out of proportion.

    Then it may give up on a text. `hides` says that this need not show in its errors.
    """

    validator: "Draft202012Validator"
    backtracks: bool
    hides: bool


class Checked(msgspec.Struct, frozen=True):
    """What is wrong with an answer; `decoded` where it is strict JSON."""

    violations: tuple[Violation, ...]
    decoded: bool = False


async def validate(
    contract: Contract, content: str, finish_reason: str, refusal: str | None
) -> Validation:
    """The verdict on a completed answer; what the provider cut, filtered or refused is not valid.

    A schema must have passed `check_schema`. A large answer is checked in a process of its own.
    """
    if contract.format is Format.TEXT:
        return Validation(status=Status.NOT_REQUIRED)
    reason = "refusal" if refusal else finish_reason
    stopped = _stopped(reason)
    if stopped and reason != "length":
        return Validation(status=Status.INVALID, violations=stopped)
    from promptkit_rpc.output import strict

    checked = await _checked(contract.schema, content)
    violations = (*stopped, *checked.violations)
    inside = strict.unfenced(content).text.strip(strict.SPACE)
    return Validation(
        status=Status.INVALID if violations else Status.VALID,
        violations=violations,
        structured=Json(inside.encode(errors="replace")) if checked.decoded else None,
    )


def _stopped(reason: str) -> tuple[Violation, ...]:
    """The violation of an answer that did not end by itself; its keyword is the finish reason."""
    message = _STOPPED.get(reason)
    return (Violation(path="", keyword=reason, message=message),) if message else ()


async def _checked(schema: Json | None, content: str) -> Checked:
    try:
        return check(schema, content, at_once=True)
    except _TooLong:
        data = content.encode(errors="replace")
        work = msgspec.msgpack.encode((schema and schema.text, data))
    import asyncio

    from promptkit_rpc.output import aside

    try:
        return msgspec.msgpack.decode(await aside.aside(_WORKER, work), type=Checked)
    except OSError:  # no process to be had: better late than never
        return await asyncio.to_thread(check, schema, content)
    except aside.AsideFailed as failed:
        message = f"the answer could not be checked: {failed}"
        return Checked((Violation(path="", keyword=UNCHECKED, message=message),))


def check_packed(work: bytes) -> bytes:
    """The worker's part: schema and answer in, what `check` says out."""
    schema, data = msgspec.msgpack.decode(work, type=tuple[bytes | None, bytes])
    return msgspec.msgpack.encode(check(None if schema is None else Json(schema), data.decode()))


class _TooLong(Exception):  # noqa: N818 - an outcome
    """The verdict would hold up everything else in the process."""


def check(schema: Json | None, content: str, *, at_once: bool = False) -> Checked:
    """Reads an answer and holds it against a schema; without one any JSON will do.

    Raises:
        _TooLong: `at_once` was asked, and it cannot be done.
    """
    if at_once and len(content) > CHECKED_HERE:
        raise _TooLong
    from promptkit_rpc.output import strict

    inside = strict.unfenced(content)
    data = inside.text.encode(errors="replace")
    try:
        value, twice = strict.read(data)
    except JsonError as error:
        return Checked((strict.fault(error, content, inside),))
    if twice is not None:
        if at_once and len(data) > LISTED_HERE:
            raise _TooLong
        from promptkit_rpc.output.listing import bounded

        return Checked(bounded(twice))
    if schema is None:
        return Checked((), decoded=True)
    return Checked(_held_against(schema, value, data, at_once=at_once), decoded=True)


def _held_against(schema: Json, value: Any, data: bytes, *, at_once: bool) -> tuple[Violation, ...]:
    from promptkit_rpc.output import weight

    made = _compiled(schema, _BACKTRACKS_HERE if at_once else _BACKTRACKS)
    if isinstance(made, str):
        return (Violation(path="", keyword="schema", message=made),)
    if at_once and made.backtracks and (made.hides or len(data) > _BACKTRACKED_HERE):
        raise _TooLong
    if _is_valid(made, value):
        return ()
    if at_once and (
        len(data) > LISTED_HERE
        or too_deep(data, _WEIGHT_HERE // len(data))
        or weight.heavy(schema, data)
    ):
        raise _TooLong
    violations = _violations(made, value)
    if at_once and any(one.keyword == UNCHECKED for one in violations):
        raise _TooLong
    return violations


def _is_valid(made: Compiled, value: Any) -> bool:
    try:
        return made.validator.is_valid(value)
    except ValueError:  # too deep for the validator to compare
        return False


def _violations(made: Compiled, value: Any) -> tuple[Violation, ...]:
    from promptkit_rpc.output.listing import listed

    try:
        return listed(made.validator.iter_errors(value))
    except ValueError:  # the validator shows no value of more than 255 levels
        message = "something nested very deep breaks the schema, too deep to say what"
        return (Violation(path="", keyword="depth", message=message),)


def check_schema(schema: Json) -> str | None:
    """Why a schema cannot be used (it does not compile, or refers outside itself), or None."""
    made = _compiled(schema, _BACKTRACKS_HERE)
    return made if isinstance(made, str) else None


def validate_value(schema: Json, value: Any) -> list[str]:
    """What is wrong with a plain value, each text with its place; empty where nothing is."""
    made = _compiled(schema, _BACKTRACKS_OF_VALUES)
    if isinstance(made, str):
        return [made]
    try:
        if made.validator.is_valid(value):
            return []
    except (ValueError, TypeError) as error:
        return [f"it cannot be checked: {error}"]
    if _is_heavy(schema, value):
        return ["it breaks its schema in more ways than can be listed"]
    return [
        f"{one.message} (at {one.path})" if one.path else one.message
        for one in _violations(made, value)
    ]


def _is_heavy(schema: Json, value: Any) -> bool:
    from promptkit_rpc.output import weight

    try:
        return weight.heavy(schema, encode(value))
    except (TypeError, ValueError, OverflowError, RecursionError):  # not JSON, and never much
        return False


def _no_type(value: Any) -> str | None:
    """What to say of a `type` that JSON Schema does not have."""
    from difflib import get_close_matches

    names = cast("list[Any]", value) if isinstance(value, list) else [value]
    name = next((name for name in names if isinstance(name, str) and name not in _TYPES), None)
    if name is None:
        return None
    close = get_close_matches(name[:_SHOWN].lower(), _TYPES, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else f"; there are: {', '.join(_TYPES)}"
    return f"{name[:_SHOWN]!r} is no type of JSON Schema{hint}"


@lru_cache(maxsize=64)
def _compiled(schema: Json, backtracks: int) -> Compiled | str:
    """The schema ready for use, or what is wrong with it; `backtracks` bound each match."""
    import jsonschema_rs

    from promptkit_rpc.output import references
    from promptkit_rpc.output.listing import short
    from promptkit_rpc.output.pointer import pointer

    value = schema.value()
    wrong = references.problem(value)
    if wrong is not None:
        return wrong

    def compiled(patterns: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions) -> Any:
        return jsonschema_rs.Draft202012Validator(
            value, offline=True, validate_formats=True, pattern_options=patterns
        )

    try:
        return Compiled(compiled(jsonschema_rs.RegexOptions()), backtracks=False, hides=False)
    except ValueError:
        # Look-around and back-references need the other engine, whose cost is not linear.
        pass
    try:
        fancy = compiled(jsonschema_rs.FancyRegexOptions(backtrack_limit=backtracks))
        return Compiled(fancy, backtracks=True, hides=_HIDING.search(schema.text) is not None)
    except jsonschema_rs.ValidationError as error:
        is_type = error.instance_path[-1:] == ["type"]
        if is_type and not isinstance(error.kind, jsonschema_rs.ValidationErrorKind.AnyOf):
            is_type = False  # a property of that name
        words = _no_type(error.instance) if is_type else None
        return f"{words or short(error.message)} (at {pointer(error.instance_path) or 'its root'})"
    except ValueError as error:
        return f"it cannot be used: {error}"
