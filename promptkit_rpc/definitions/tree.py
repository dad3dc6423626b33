"""A definition file as a tree of nodes with spans. Knows neither YAML nor what any key means."""

from typing import Any, TypeAlias

from attrs import field, frozen

from promptkit_rpc.definitions.problem import Span


@frozen
class ScalarNode:
    """One value, with its text as written.

    `block_line` is the file's line that holds the first line of a literal block, where each line
    of the value is a line of the file.
    """

    value: str | int | float | bool | None
    text: str
    span: Span
    block_line: int | None = None

    size = 1
    height = 0


@frozen
class ListNode:
    """Items in order. `size` counts nodes with aliases followed, `height` levels below."""

    items: "tuple[Node, ...]"
    span: Span
    size: int = field(default=1, eq=False)
    height: int = field(default=1, eq=False)


@frozen
class Entry:
    """A key, which is its text as written, and its value."""

    key: str
    key_span: Span
    value: "Node"


@frozen
class MapNode:
    """Entries in the order written, each key once."""

    entries: tuple[Entry, ...]
    span: Span
    size: int = field(default=1, eq=False)
    height: int = field(default=1, eq=False)

    def get(self, key: str) -> "Node | None":
        """The value under a key."""
        return next((entry.value for entry in self.entries if entry.key == key), None)


Node: TypeAlias = ScalarNode | ListNode | MapNode


def plain(node: Node) -> Any:
    """The value as plain data; infinities and NaN are kept as floats."""
    match node:
        case ScalarNode():
            return node.value
        case ListNode():
            return [plain(item) for item in node.items]
        case MapNode():
            return {entry.key: plain(entry.value) for entry in node.entries}


def kind_of(node: Node) -> str:
    """What a node is, in the words of an error message; never its value."""
    match node:
        case ListNode():
            return "a list"
        case MapNode():
            return "a mapping"
        case ScalarNode(value=bool()):
            return "true or false"
        case ScalarNode(value=str()):
            return "text"
        case ScalarNode(value=None):
            return "nothing"
        case ScalarNode():
            return "a number"
