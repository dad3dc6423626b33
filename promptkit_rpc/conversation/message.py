"""One message of a conversation. Its content is never interpreted."""

from enum import StrEnum

from attrs import frozen

from promptkit_rpc.jsontext import Json


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"


@frozen
class Message:
    """Role, text and cache metadata (any JSON object) exactly as authored or answered."""

    role: Role
    content: str
    cache: Json | None = None
