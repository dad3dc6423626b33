"""An immutable sequence of messages that shares everything it continues.

Knows no provider: a wire form is a name and a function that encodes one segment.
"""

from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

from promptkit_rpc.conversation.message import Message

T = TypeVar("T")


class History:
    """Messages in order, as a chain of segments; continuing one adds a segment and copies nothing.

    Args:
        added: the messages of the newest segment.
        parent: what they follow, or None at the start of a conversation.
    """

    __slots__ = ("added", "kept", "parent", "size")

    def __init__(self, added: tuple[Message, ...], parent: Self | None = None) -> None:
        self.added = added
        self.parent = parent
        self.size = sum(_size(message) for message in added)
        self.kept: dict[str, object] = {}
        """What was made of this segment, by name; only a history writes it."""

    def extended(self, *messages: Message) -> Self:
        """A longer history; this one stays as it is."""
        return type(self)(messages, self)

    def segments(self) -> list[Self]:
        """Every segment, oldest first."""
        chain: list[Self] = []
        segment: Self | None = self
        while segment is not None:
            chain.append(segment)
            segment = segment.parent
        chain.reverse()
        return chain

    def __iter__(self) -> Iterator[Message]:
        for segment in self.segments():
            yield from segment.added

    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return tuple(self)

    def form(self, name: str, encode: Callable[[tuple[Message, ...]], T]) -> T:
        """This segment alone in a wire form, made once and kept.

        `encode` must depend on nothing but the messages and must always be the same for a name.
        """
        made = self.kept.get(name)
        if made is None:
            made = self.kept[name] = encode(self.added)
        return made  # type: ignore[return-value]  # a name stands for one type

    def forms(self, name: str, encode: Callable[[tuple[Message, ...]], T]) -> list[T]:
        """Every segment in a wire form, oldest first."""
        return [segment.form(name, encode) for segment in self.segments()]

    def folded(self, name: str, step: Callable[[T, tuple[Message, ...]], T], start: T) -> T:
        """All segments taken into one value, oldest first; what continues this one goes on from it.

        `step` and `start` must always be the same for a name, and the values must not be changed.
        """
        new: list[Self] = []
        segment: Self | None = self
        while segment is not None and name not in segment.kept:
            new.append(segment)
            segment = segment.parent
        value: Any = start if segment is None else segment.kept[name]
        for one in reversed(new):
            value = one.kept[name] = step(value, one.added)
        return value

    def __repr__(self) -> str:
        return f"<History of {sum(len(s.added) for s in self.segments())} messages>"


def _size(message: Message) -> int:
    cache = len(message.cache.text) if message.cache else 0
    content = message.content
    return cache + (len(content) if content.isascii() else len(content.encode()))
