"""Reads definition text into a tree of nodes; the only module that knows the YAML library.

YAML 1.2 core meaning. Composes from the parser's events without recursion, so that every limit
holds while reading. Never raises: whatever the input, it gives `(node | None, problems)`.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from promptkit_rpc.definitions.problem import Problem, Problems, Span
from promptkit_rpc.definitions.scalars import NotCore, core_value
from promptkit_rpc.definitions.tree import Entry, ListNode, MapNode, Node, ScalarNode

MAX_TEXT = 4 * 1024 * 1024
"""Characters of one file."""
MAX_NODES = 100_000
"""Values in one file, each alias counted with all it stands for."""
MAX_DEPTH = 100
"""Levels of lists and mappings inside each other."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_REFUSED = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BREAKS_OF_YAML_1_1 = "\x85\u2028\u2029"
_TAG = "tag:yaml.org,2002:"
_TAGS = frozenset(_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))
_MERGE = "<<"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_BLOCKS = {
    "while parsing a block mapping": "mapping",
    "while parsing a block collection": "list",
}
_QUOTE_IT = 'text with {{ }} or {% %} must be quoted: "{{ name }}"'

Result = tuple[Node | None, tuple[Problem, ...]]


def read_bytes(file: str, data: bytes) -> Result:
    """Reads UTF-8, or UTF-16 with a byte-order mark; `file` is the name problems are given."""
    encoding = "utf-8"
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return None, (_at(file, 1, 1, "the file is UTF-32; save it as UTF-8", "encoding"),)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        good = data[: error.start].decode(encoding, "ignore")
        line, column = _end_of(good.removeprefix("\ufeff"))
        return None, (_at(file, line, column, f"the file is not {encoding.upper()}", "encoding"),)
    if encoding == "utf-8" and (data[:1] == b"\0") is not (data[1:2] == b"\0"):
        message = "the file is not UTF-8 but seems to be UTF-16; save it as UTF-8"
        return None, (_at(file, 1, 1, message, "encoding"),)
    return read_text(file, text)


def read_text(file: str, text: str) -> Result:
    """Reads text, such as an editor's unsaved buffer."""
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_TEXT:
        return None, (_at(file, 1, 1, f"the file is longer than {MAX_TEXT} characters", "size"),)
    refused = _REFUSED.search(text)
    if refused:
        line, column = _end_of(text[: refused.start()])
        message = f"the character U+{ord(refused[0]):04X} is not allowed"
        return None, (_at(file, line, column, message, "character"),)
    problems = Problems(file)
    node: Node | None = None
    try:
        node = _Composer(problems).compose(_events(text))
    except _Stop as stop:
        problems.add(stop.span, stop.message, code=stop.code)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problems.include(_syntax(file, text, error))
    return node, problems.all()


def _events(text: str) -> Iterator[Any]:
    """The parser's events; the line breaks that only YAML 1.1 knew are hidden from it."""
    present = [char for char in _BREAKS_OF_YAML_1_1 if char in text]
    return _events_without(present, text) if present else _parsed(text)


def _parsed(text: str) -> Iterator[Any]:
    """As `yaml.parse`, without looking at each event twice."""
    parser: Any = _LOADER(text)
    return iter(parser.get_event, None)


def _events_without(present: list[str], text: str) -> Iterator[Any]:
    unused = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    hidden = dict(zip(present, unused, strict=False))
    shown = str.maketrans({char: original for original, char in hidden.items()})
    for event in _parsed(text.translate(str.maketrans(hidden))):
        if isinstance(event, yaml.ScalarEvent):
            event.value = event.value.translate(shown)
        yield event


class _Stop(Exception):  # noqa: N818 - it ends a reading, and is no error of this program
    def __init__(self, span: Span, message: str, code: str) -> None:
        super().__init__(message)
        self.span = span
        self.message = message
        self.code = code


class _Open:
    """A list or mapping whose end has not come."""

    __slots__ = ("anchor", "children", "is_map", "start")

    def __init__(self, event: Any) -> None:
        self.is_map = isinstance(event, yaml.MappingStartEvent)
        self.anchor = event.anchor
        self.start = event.start_mark
        self.children: list[Node] = []


class _Composer:
    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._open: list[_Open] = []
        self._anchors: dict[str, Node | None] = {}
        self._nodes = 0
        self._root: Node | None = None

    def compose(self, events: Iterator[Any]) -> Node | None:
        documents = 0
        handlers: dict[type[Any], Callable[[Any], None]] = {
            yaml.ScalarEvent: self._word,
            yaml.MappingStartEvent: self._start,
            yaml.SequenceStartEvent: self._start,
            yaml.MappingEndEvent: self._finish,
            yaml.SequenceEndEvent: self._finish,
            yaml.AliasEvent: self._alias,
        }
        for event in events:
            handle = handlers.get(event.__class__)
            if handle is not None:
                handle(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _Stop(_span(event), "a file holds one document only", "documents")
        return self._root

    def _word(self, event: Any) -> None:
        self._place(self._scalar(event), event.anchor)

    def _start(self, event: Any) -> None:
        self._check_tag(event)
        if len(self._open) >= MAX_DEPTH:
            raise _Stop(_span(event), f"nested deeper than {MAX_DEPTH} levels", "depth")
        if event.anchor:
            self._anchors[event.anchor] = None
        self._open.append(_Open(event))

    def _finish(self, event: Any) -> None:
        done = self._open.pop()
        span = _between(done.start, event.end_mark)
        node: Node
        if done.is_map:
            node = self._mapping(done.children, span)
        else:
            size, height = _extent(done.children)
            node = ListNode(tuple(done.children), span, size, height)
        self._check_extent(node)
        self._place(node, done.anchor)

    def _place(self, node: Node, anchor: str | None) -> None:
        self._count(1, node.span)
        if anchor:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node

    def _count(self, nodes: int, span: Span) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise _Stop(span, f"the file holds more than {MAX_NODES} values", "size")

    def _alias(self, event: Any) -> None:
        span = _span(event)
        if event.anchor not in self._anchors:
            raise _Stop(span, f"no anchor &{event.anchor} stands before this", "alias")
        node = self._anchors[event.anchor]
        if node is None:
            raise _Stop(span, f"*{event.anchor} stands inside what it names", "alias")
        self._place(node, None)

    def _check_extent(self, node: Node) -> None:
        if node.size > MAX_NODES:
            message = f"the aliases in here stand for more than {MAX_NODES} values"
            raise _Stop(node.span, message, "size")
        if len(self._open) + node.height > MAX_DEPTH:
            raise _Stop(node.span, f"nested deeper than {MAX_DEPTH} levels", "depth")

    def _check_tag(self, event: Any) -> None:
        if event.tag not in (None, "!") and event.tag not in _TAGS:
            span = _span(event)
            self._problems.add(span, f"the tag {event.tag} is not supported", code="tag")

    def _scalar(self, event: Any) -> ScalarNode:
        text: str = event.value
        span = _span(event)
        value: str | int | float | bool | None = text
        tag = event.tag
        if (tag is None and event.implicit[0]) or (tag in _TAGS and tag != _TAG + "str"):
            try:
                value = core_value(text, tag.removeprefix(_TAG) if tag else None)
            except NotCore as error:
                self._problems.add(span, str(error), code="value")
        else:
            self._check_tag(event)
        block_line = span.line + 1 if event.style == "|" else None
        return ScalarNode(value, text, span, block_line)

    def _mapping(self, children: list[Node], span: Span) -> MapNode | ScalarNode:
        entries: dict[str, Entry] = {}
        merges: list[Node] = []
        for key, value in zip(children[::2], children[1::2], strict=True):
            if _is_bare_template(key, span):
                self._problems.add(span, _QUOTE_IT, code="template")
                return ScalarNode("-", "-", span)
            if not isinstance(key, ScalarNode):
                self._problems.add(key.span, "a key must be text", code="key")
                continue
            name = key.text
            if name == _MERGE and _is_plain(key):
                name = "\0" + _MERGE
                if name not in entries:
                    merges.append(value)
            first = entries.get(name)
            if first is not None:
                shown = name.removeprefix("\0")
                message = f"{shown!r} is there twice; it was given first on line "
                message += str(first.key_span.line)
                self._problems.add(key.span, message, code="duplicate", path=(shown,))
                continue
            entries[name] = Entry(name, key.span, value)
        entries.pop("\0" + _MERGE, None)
        for value in merges:
            self._merge(entries, value)
        size, height = _extent([entry.value for entry in entries.values()])
        return MapNode(tuple(entries.values()), span, size + len(entries), height)

    def _merge(self, entries: dict[str, Entry], value: Node) -> None:
        """YAML's merge: what stands in the mapping wins, then what is merged first."""
        parts = value.items if isinstance(value, ListNode) else (value,)
        for part in parts:
            if not isinstance(part, MapNode):
                self._problems.add(part.span, "<< takes a mapping or a list of them", code="merge")
                continue
            self._count(len(part.entries), part.span)
            for entry in part.entries:
                entries.setdefault(entry.key, entry)


def _is_bare_template(key: Node, span: Span) -> bool:
    """`{{ x }}` without quotes is a mapping with a mapping for its key."""
    return isinstance(key, MapNode) and (key.span.line, key.span.column - 1) == (
        span.line,
        span.column,
    )


def _is_plain(key: ScalarNode) -> bool:
    return key.span.end_column - key.span.column == len(key.text)


def _extent(children: list[Node]) -> tuple[int, int]:
    size = height = 0
    for child in children:
        size += child.size
        height = max(height, child.height)
    return size + 1, height + 1


def _span(event: Any) -> Span:
    return _between(event.start_mark, event.end_mark)


def _between(start: Any, end: Any) -> Span:
    return Span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _end_of(text: str) -> tuple[int, int]:
    """Line and column, from 1, right after a text."""
    lines = re.split("\r\n|\r|\n", text)
    return len(lines), len(lines[-1]) + 1


def _at(file: str, line: int, column: int, message: str, code: str) -> Problem:
    problems = Problems(file)
    problems.add(Span(line, column, line, column + 1), message, code=code)
    return problems.found[0]


def _syntax(file: str, text: str, error: Exception) -> Problem:
    """The parser's error, in words that say what to do where the cause is a common one."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if _is_unclosed(error) and (start := getattr(error, "context_mark", None)):
        return _at(file, start.line + 1, start.column + 1, "this quote is not closed", "syntax")
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    lines = re.split("\r\n|\r|\n", text)
    if line > len(lines):
        line, column = len(lines), len(lines[-1]) + 1
    here = lines[line - 1]
    bare = _QUOTED.sub("", here)
    if here[column - 1 : column] == "\t":
        message = "a tab cannot stand here; indent with spaces"
    elif "{{" in bare or "{%" in bare or _bare_template_above(lines, line):
        message = _QUOTE_IT
    else:
        message = _parser_words(error)
    return _at(file, line, column, message, "syntax")


def _is_unclosed(error: Exception) -> bool:
    scalar = "quoted scalar" in (getattr(error, "context", None) or "")
    return scalar and "end of stream" in (getattr(error, "problem", None) or "")


def _bare_template_above(lines: list[str], line: int) -> bool:
    above = next((text for text in reversed(lines[: line - 1]) if text.strip()), "")
    return re.search(r"(:|-) +\{[{%]", above) is not None


def _parser_words(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        if error.context in _BLOCKS and error.context_mark is not None:
            begun = (
                f"the {_BLOCKS[error.context]} that begins on line {error.context_mark.line + 1}"
            )
            return f"not YAML: this does not go on with {begun}; look at the indentation"
        words = [part for part in (error.context, error.problem) if part]
        return "not YAML: " + ", ".join(words)
    return f"not YAML: {str(error).splitlines()[0]}"
