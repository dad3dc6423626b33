"""The captured exchange: an immutable value that holds a conversation and nothing else."""

from typing import Any

from attrs import frozen

from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message


@frozen
class Exchange:
    """All messages sent, then the final assistant content, named by the run it came from."""

    run_id: str
    parent_run_id: str | None
    history: History

    @property
    def content(self) -> str:
        """The final assistant content, which is also the last message."""
        return self.history.added[-1].content

    def details(self) -> dict[str, Any]:
        """Plain, detached data: `{runId, parentRunId, messages, content}`; nothing is rendered."""
        return {
            "runId": self.run_id,
            "parentRunId": self.parent_run_id,
            "messages": [plain_message(message) for message in self.history],
            "content": self.content,
        }


def plain_message(message: Message) -> dict[str, Any]:
    """`{role, content, cache?}` as plain data."""
    plain: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.cache is not None:
        plain["cache"] = message.cache.value()
    return plain
