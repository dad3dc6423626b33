"""JSON in an answer, read strictly: out of its fence, no key twice, faults with their place.

The fence rule is CommonMark's (0.31, section 4.5) for three or more backticks: the first line opens
it, with at most one word after it; the last line closes it, or the end of the text does.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias, cast

from attrs import frozen

from promptkit_rpc.jsontext import JsonError, decode, encode, outside_strings
from promptkit_rpc.output.contract import Violation
from promptkit_rpc.output.pointer import pointer

JSON_KEYWORD = "json"
"""Stands for a schema's keyword where an answer is no strict JSON."""

SPACE = " \t\r\n"
"""What JSON takes for white space."""

_OPENING = re.compile(r"[ \t\r\n]*+(?P<fence>`{3,})[ \t]*+[\w+.-]*+[ \t]*+\r?\n")
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")

Link: TypeAlias = "tuple[Link, str | int] | None"


@frozen
class Inside:
    """The part of an answer that is to be JSON, and where it starts, in characters."""

    text: str
    start: int


def unfenced(content: str) -> Inside:
    """The answer without the code fence around the whole of it, if there is one."""
    opening = _OPENING.match(content)
    if opening is None:
        return Inside(content, 0)
    start, end = opening.end(), len(content.rstrip(SPACE))
    last = content.rfind("\n", 0, end) + 1
    closing = content[last:end].strip(SPACE)
    if last >= start and len(closing) >= len(opening["fence"]) and not closing.strip("`"):
        end = last
    return Inside(content[start:end], start)


def fault(error: JsonError, content: str, inside: Inside) -> Violation:
    """The violation for text that is no JSON, placed by line and column of the whole answer."""
    message = f"the answer is not JSON: {error.reason}"
    if error.offset is not None:
        before = inside.text.encode(errors="replace")[: error.offset].decode(errors="ignore")
        place = inside.start + len(before)
        line = content.count("\n", 0, place) + 1
        column = place - content.rfind("\n", 0, place)
        message = f"{message} at line {line}, column {column}"
    return Violation(path="", keyword=JSON_KEYWORD, message=message)


def read(data: bytes) -> tuple[Any, Iterator[Violation] | None]:
    """The value, and if there are any, a violation for each key that stands twice in one object.

    Raises:
        JsonError: the text is no JSON within the limits.
    """
    value = decode(data)
    return value, _twice(data) if _keys_lost(data, value) else None


def _keys_lost(data: bytes, value: Any) -> bool:
    # A key that is repeated goes missing, and its colon with it, when the value is written again.
    # Colons in strings are the same in both, unless one was written as an escape.
    kept = encode(value)
    if _ESCAPED_COLON.search(data):
        return outside_strings(data, b":") != outside_strings(kept, b":")
    return data.count(b":") != kept.count(b":")


class _Twice(dict[str, Any]):
    """An object with repeated keys."""

    __slots__ = ("names",)
    names: list[str]


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    marked = _Twice(members)
    seen = set[str]()
    repeated = [name for name, _ in pairs if name in seen or seen.add(name)]
    marked.names = list(dict.fromkeys(repeated))
    return marked


def _twice(data: bytes) -> Iterator[Violation]:
    # Slow, and only for answers that are known to be wrong. Numbers are of no interest here.
    value = json.loads(data, object_pairs_hook=_members, parse_int=len, parse_float=len)
    waiting: list[tuple[Link, Any]] = [(None, value)]
    while waiting:
        link, part = waiting.pop()
        inner: list[tuple[str | int, Any]] = []
        if isinstance(part, _Twice):
            for name in part.names:
                yield _repeated((link, name))
        if isinstance(part, dict):
            inner = list(cast("dict[str, Any]", part).items())
        elif isinstance(part, list):
            inner = list(enumerate(cast("list[Any]", part)))
        waiting.extend(((link, step), one) for step, one in reversed(inner))


def _repeated(link: Link) -> Violation:
    steps: list[str | int] = []
    while link is not None:
        link, step = link
        steps.append(step)
    message = "the answer is not strict JSON: this key stands more than once in its object"
    return Violation(path=pointer(reversed(steps)), keyword=JSON_KEYWORD, message=message)
