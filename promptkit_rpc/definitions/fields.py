"""Takes typed values out of a mapping and reports every key that is wrong, unknown or missing.

Types are strict: `true` is no number, `5` is no text. A key with nothing after it counts as absent.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from promptkit_rpc.definitions.problem import Problems, Span
from promptkit_rpc.definitions.template import Sandbox, Template
from promptkit_rpc.definitions.tree import (
    Entry,
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    kind_of,
    plain,
)
from promptkit_rpc.errors import Location
from promptkit_rpc.jsontext import Json, JsonError

MOST = 2**53 - 1
"""The largest count: beyond it a JSON reader need not keep an integer as it is."""

_LISTED = 10

Choice = TypeVar("Choice", bound=StrEnum)

FREE = re.compile(r"_meta|x-.*", re.DOTALL)
"""Keys that may stand anywhere and hold anything."""


class Fields:
    """One mapping of a definition. Take what is known, then call `finish`."""

    def __init__(self, node: MapNode, problems: Problems, path: tuple[str, ...] = ()) -> None:
        self.node = node
        self.problems = problems
        self.path = path
        self._entries = {entry.key: entry for entry in node.entries}
        self._asked: list[str] = []

    @classmethod
    def of(
        cls, node: Node, problems: Problems, path: tuple[str, ...], what: str
    ) -> "Fields | None":
        """A node's fields, if it is a mapping; `what` names it in the problem it is otherwise."""
        if isinstance(node, MapNode):
            return cls(node, problems, path)
        problems.add(
            node.span, f"{what} must be a mapping, not {kind_of(node)}", code="type", path=path
        )
        return None

    @property
    def location(self) -> Location:
        """Where the mapping starts."""
        return Location(self.problems.file, self.node.span.line, self.node.span.column)

    def take(self, key: str) -> Node | None:
        """The value under a key, which from now on is known; None when absent or empty."""
        self._asked.append(key)
        entry = self._entries.get(key)
        if entry is None or (isinstance(entry.value, ScalarNode) and entry.value.value is None):
            return None
        return entry.value

    def has(self, key: str) -> bool:
        """Whether a key is written, be it with nothing after it."""
        return key in self._entries

    def key_span(self, key: str) -> Span:
        """Where a key stands, or the mapping when it has no such key."""
        entry = self._entries.get(key)
        return self.node.span if entry is None else entry.key_span

    def wrong(self, key: str, message: str, *, at: Node | None = None, code: str = "value") -> None:
        """Reports a problem of one key, at its value unless said otherwise."""
        node = at or self.node.get(key)
        span = self.node.span if node is None else node.span
        self.problems.add(span, message, code=code, path=(*self.path, key))

    def need(self, key: str) -> None:
        """Reports the key as missing unless it has a value."""
        if self.take(key) is None:
            span = self.key_span(key) if self.has(key) else _start(self.node.span)
            where = f" in {'.'.join(self.path)}" if self.path else ""
            self.problems.add(span, f"{key!r} is missing{where}", code="missing", path=self.path)

    def text(self, key: str, *, blank: bool = False) -> str | None:
        """Text, which may not be blank unless said so."""
        node = self.take(key)
        if node is None:
            return None
        found = self.text_of(key, node)
        if found is not None and not blank and not found.strip():
            self.wrong(key, f"{key!r} is blank")
            return None
        return found

    def text_of(self, key: str, node: Node) -> str | None:
        """The text of a node that stands under a key."""
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            return node.value
        hint = "; put it in quotes" if isinstance(node, ScalarNode) else ""
        self._type(key, node, f"text{hint}")
        return None

    def integer(self, key: str, least: int | None = None, most: int | None = None) -> int | None:
        """An integer within bounds, both included; a count has one above, too."""
        node = self.take(key)
        if node is None:
            return None
        if least is not None and most is None:
            most = MOST
        if isinstance(node, ScalarNode) and type(node.value) is int:
            return self._bounded(key, node.value, least, most)
        self._type(key, node, "an integer")
        return None

    def number(
        self,
        key: str,
        least: float | None = None,
        most: float | None = None,
        *,
        positive: bool = False,
    ) -> float | int | None:
        """A finite number within bounds, both included; its type stays as written."""
        node = self.take(key)
        if node is None:
            return None
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._type(key, node, "a number")
            return None
        if not _is_finite(value):
            self.wrong(key, f"{key!r} must be a finite number")
            return None
        if positive and value <= 0:
            self.wrong(key, f"{key!r} must be more than 0")
            return None
        return self._bounded(key, value, least, most)

    def _bounded(
        self,
        key: str,
        value: "Number",
        least: float | None,
        most: float | None,
    ) -> "Number | None":
        if least is not None and value < least:
            self.wrong(key, f"{key!r} must be {least} or more")
            return None
        if most is not None and value > most:
            self.wrong(key, f"{key!r} must be {most} or less")
            return None
        return value

    def choice(self, key: str, choices: type[Choice]) -> Choice | None:
        """One of an enumeration's words."""
        node = self.take(key)
        if node is None:
            return None
        words = [choice.value for choice in choices]
        if isinstance(node, ScalarNode) and node.value in words:
            return choices(node.value)
        written = node.text if isinstance(node, ScalarNode) else ""
        message = f"{key!r} must be one of {', '.join(words)}{suggestion(written, words)}"
        self.wrong(key, message)
        return None

    def items(self, key: str) -> tuple[Node, ...] | None:
        """A list's items."""
        node = self.take(key)
        if node is None:
            return None
        if isinstance(node, ListNode):
            return node.items
        self._type(key, node, "a list")
        return None

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts, none of them empty."""
        items = self.items(key)
        if items is None:
            return None
        found = [self.text_of(key, item) for item in items]
        for item, text in zip(items, found, strict=True):
            if text == "":
                self.wrong(key, f"an entry of {key!r} is empty", at=item)
        return tuple(text for text in found if text)

    def fields(self, key: str) -> "Fields | None":
        """A mapping of fixed keys."""
        node = self.take(key)
        return (
            None if node is None else Fields.of(node, self.problems, (*self.path, key), repr(key))
        )

    def named(self, key: str, *, free: bool = False) -> Iterator[Entry]:
        """A mapping's entries, where each key is a name; `free` leaves out keys that are free."""
        node = self.take(key)
        if node is None:
            return
        if not isinstance(node, MapNode):
            self._type(key, node, "a mapping of names")
            return
        for entry in node.entries:
            if free and FREE.fullmatch(entry.key):
                continue
            if not entry.key.strip() or not entry.key.isprintable():
                message = f"a name in {key!r} is blank or unprintable"
                self.problems.add(entry.key_span, message, code="name", path=(*self.path, key))
            else:
                yield entry

    def json(self, key: str, *, mapping: bool = False) -> Json | None:
        """Any JSON value; nothing after the key is JSON's null where any value may stand."""
        node = self.take(key)
        if node is None:
            return None if mapping or not self.has(key) else Json(b"null")
        if mapping and not isinstance(node, MapNode):
            self._type(key, node, "a mapping")
            return None
        return self.json_of(key, node)

    def json_of(self, key: str, node: Node) -> Json | None:
        """A node that stands under a key, as JSON."""
        infinite = next(_infinities(node), None)
        if infinite is not None:
            self.wrong(key, "JSON has no infinite numbers and no NaN", at=infinite)
            return None
        try:
            return Json.of(plain(node))
        except JsonError as error:
            self.wrong(key, f"{key!r} cannot be said in JSON: {error}")
            return None

    def template(self, key: str, sandbox: Sandbox) -> Template | None:
        """A template, its syntax checked; it may be empty."""
        node = self.take(key)
        if node is None:
            return None
        source = self.text_of(key, node)
        if source is None or not isinstance(node, ScalarNode):
            return None
        file, span = self.problems.file, node.span
        if node.block_line is None:
            template = Template(source, Location(file, span.line, span.column), sandbox=sandbox)
        else:
            location = Location(file, node.block_line, 1)
            template = Template(source, location, lined=True, sandbox=sandbox)
        problem = template.problem()
        if problem is not None:
            message, location = problem
            line, column = location.line or span.line, location.column or span.column
            end = (span.end_line, span.end_column) if node.block_line is None else (line + 1, 1)
            at = Span(line, column, *end)
            message = f"template of {key!r}: {message}"
            self.problems.add(at, message, code="template", path=(*self.path, key))
            return None
        return template

    def finish(self, instead: Mapping[str, str] = MappingProxyType({})) -> None:
        """Reports every key that nobody asked for; `instead` says what to write for some."""
        known = self._asked
        for key, entry in self._entries.items():
            if key not in known and not FREE.fullmatch(key):
                other = instead.get(_squeezed(key))
                hint = suggestion(key, known) if other is None else f"; {other}"
                message = f"{key!r} is not a key here{hint}"
                path = (*self.path, key)
                self.problems.add(entry.key_span, message, code="unknownKey", path=path)

    def _type(self, key: str, node: Node, wanted: str) -> None:
        message = f"{key!r} must be {wanted}; this is {kind_of(node)}"
        self.wrong(key, message, at=node, code="type")


Number = TypeVar("Number", int, float, "float | int")


def _start(span: Span) -> Span:
    return Span(span.line, span.column, span.line, span.column + 1)


def _infinities(node: Node) -> Iterator[Node]:
    match node:
        case ScalarNode(value=float(value)) if not math.isfinite(value):
            yield node
        case ScalarNode():
            return
        case ListNode():
            for item in node.items:
                yield from _infinities(item)
        case MapNode():
            for entry in node.entries:
                yield from _infinities(entry.value)


def suggestion(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` where one of the known words is close, else nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    squeezed: dict[str, str] = {_squeezed(one): one for one in known}
    close = get_close_matches(_squeezed(word), squeezed, n=1, cutoff=0.7)
    return f"; did you mean {squeezed[close[0]]!r}?" if close else ""


def choices(word: str, known: Sequence[str]) -> str:
    """A suggestion, and what there is to choose from."""
    hint = suggestion(word, known)
    return f"{hint} T{listing(known)[1:]}" if hint else f"; {listing(known)}"


def listing(known: Sequence[str]) -> str:
    """The first of the names there are, and how many more."""
    if not known:
        return "there are none yet"
    more = len(known) - _LISTED
    return f"there are: {', '.join(known[:_LISTED])}" + (f" and {more} more" if more > 0 else "")


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond every float
        return False


def _squeezed(word: str) -> str:
    return re.sub(r"[-_ ]", "", word).lower()
