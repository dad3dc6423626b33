"""Histories as Messages has them: blocks encoded once for each segment, put together in one pass.

Pure. The rules are stated at `anthropic.py`.
"""

import msgspec
from attrs import frozen

from promptkit_rpc.backends.request import encoded
from promptkit_rpc.conversation.message import Message, Role

MOST_MARKS = 4
"""How many cache marks the provider takes in one request."""

_SYSTEM, _USER, _ASSISTANT = b"system", b"user", b"assistant"
_ROLES = {
    Role.SYSTEM: _SYSTEM,
    Role.DEVELOPER: _SYSTEM,
    Role.USER: _USER,
    Role.ASSISTANT: _ASSISTANT,
}
_LIFETIMES = ("5m", "1h")


@frozen
class Block:
    """One text block: its role, its bytes without the closing brace, its cache mark if any."""

    role: bytes
    text: bytes
    mark: bytes = b""


@frozen
class Segment:
    """The blocks of one segment, how many are marked, and the last message that is in them."""

    blocks: tuple[Block, ...]
    marks: int
    last: Message | None


def segment(messages: tuple[Message, ...]) -> Segment:
    """The wire form of some messages, whatever stands before and after them."""
    sent = [message for message in messages if message.content.strip()]
    blocks = tuple(
        Block(
            _ROLES[message.role],
            encoded({"type": "text", "text": message.content})[:-1],
            _mark(message),
        )
        for message in sent
    )
    marks = sum(1 for block in blocks if block.mark)
    return Segment(blocks, marks, sent[-1] if sent else None)


class Body:
    """Puts a request's body together: the beginning as given, then system prompt and messages."""

    def __init__(self, head: bytes, segments: list[Segment]) -> None:
        self._parts = [head]
        self._blocks = [block for segment in segments for block in segment.blocks]
        self._unsent_marks = sum(segment.marks for segment in segments) - MOST_MARKS
        ends = [segment.last for segment in segments if segment.last is not None]
        self._last = ends[-1] if ends else None

    def parts(self) -> list[bytes]:
        """The whole body; ask once."""
        blocks, self._blocks = self._blocks, []
        if self._last is not None and self._last.role is Role.ASSISTANT:
            stripped = {"type": "text", "text": self._last.content.rstrip()}
            blocks[-1] = Block(_ASSISTANT, encoded(stripped)[:-1], blocks[-1].mark)
        leading = 0
        while leading < len(blocks) and blocks[leading].role is _SYSTEM:
            leading += 1
        if leading:
            self._parts.append(b',"system":[')
            self._list(blocks[:leading])
            self._parts.append(b"]")
        self._parts.append(b',"messages":[')
        self._messages(blocks[leading:])
        self._parts.append(b"]}")
        return self._parts

    def _messages(self, blocks: list[Block]) -> None:
        speaking = b""
        for block in blocks:
            role = _USER if block.role is _SYSTEM else block.role
            if role is speaking:
                self._parts.append(b",")
            else:
                self._parts.append(b"]}," if speaking else b"")
                self._parts += (b'{"role":"', role, b'","content":[')
                speaking = role
            self._block(block)
        if speaking:
            self._parts.append(b"]}")

    def _list(self, blocks: list[Block]) -> None:
        for index, block in enumerate(blocks):
            if index:
                self._parts.append(b",")
            self._block(block)

    def _block(self, block: Block) -> None:
        if not block.mark:
            self._parts += (block.text, b"}")
            return
        # Only the newest marks go: the provider refuses more.
        if self._unsent_marks > 0:
            self._unsent_marks -= 1
            self._parts += (block.text, b"}")
        else:
            self._parts += (block.text, block.mark, b"}")


def _mark(message: Message) -> bytes:
    """Cache metadata as far as the provider knows it, else nothing."""
    if message.cache is None:
        return b""
    match message.cache.value():
        case {"type": "ephemeral", "ttl": str(ttl)} if ttl in _LIFETIMES:
            control = {"type": "ephemeral", "ttl": ttl}
        case {"type": "ephemeral"}:
            control = {"type": "ephemeral"}
        case _:
            return b""
    return b',"cache_control":' + msgspec.json.encode(control)
