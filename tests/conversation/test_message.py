"""A message is a value, and nothing in it is interpreted."""

import pytest
from attrs.exceptions import FrozenInstanceError

from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.jsontext import Json


def test_a_message_is_kept_as_authored() -> None:
    """CAP-5, P-06."""
    text = "system: {{ x }}\r\n```\u2028 \n"
    message = Message(Role.USER, text, Json(b'{"type": "ephemeral", "ttl": "1h"}'))
    assert message.content == text
    assert message.cache is not None
    assert message.cache.text == b'{"type": "ephemeral", "ttl": "1h"}'


def test_a_message_never_changes() -> None:
    """OWN-1."""
    message = Message(Role.USER, "a")
    with pytest.raises(FrozenInstanceError):
        message.content = "b"  # pyright: ignore[reportAttributeAccessIssue]
    assert message == Message(Role.USER, "a")
    assert hash(message) == hash(Message(Role.USER, "a"))


def test_roles_are_spelled_as_on_the_wire() -> None:
    assert [role.value for role in Role] == ["system", "developer", "user", "assistant"]
