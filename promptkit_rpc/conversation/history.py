"""An immutable sequence of messages that shares everything it continues.

Knows no provider: a wire form is a name and a function that encodes one segment.
"""

from collections.abc import Callable, Iterator
from typing import Self, TypeVar

from promptkit_rpc.conversation.message import Message

T = TypeVar("T")


class History:
    """Messages in order, as a chain of segments; continuing one adds a segment and copies nothing.

    Args:
        added: the messages of the newest segment.
        parent: what they follow, or None at the start of a conversation.
    """

    __slots__ = ("_forms", "added", "parent", "size")

    def __init__(self, added: tuple[Message, ...], parent: Self | None = None) -> None:
        self.added = added
        self.parent = parent
        self.size = sum(_size(message) for message in added)
        self._forms: dict[str, object] = {}

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
        made = self._forms.get(name)
        if made is None:
            made = self._forms[name] = encode(self.added)
        return made  # type: ignore[return-value]  # a name stands for one type

    def forms(self, name: str, encode: Callable[[tuple[Message, ...]], T]) -> list[T]:
        """Every segment in a wire form, oldest first."""
        return [segment.form(name, encode) for segment in self.segments()]

    def __repr__(self) -> str:
        return f"<History of {sum(len(s.added) for s in self.segments())} messages>"


def _size(message: Message) -> int:
    cache = len(message.cache.text) if message.cache else 0
    content = message.content
    return cache + (len(content) if content.isascii() else len(content.encode()))
