"""An exchange holds a conversation and nothing else; its details are plain and detached."""

import json
from typing import Any

import pytest
from attrs import fields
from attrs.exceptions import FrozenInstanceError

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.jsontext import Json

CACHE = Json.of({"type": "ephemeral", "nested": {"n": 12345678901234567890}})


def exchange(content: str = "OK \n") -> Exchange:
    sent = History((Message(Role.SYSTEM, "be brief", CACHE), Message(Role.USER, "why?")))
    return Exchange("run-2", "run-1", sent.extended(Message(Role.ASSISTANT, content)))


def test_details_say_what_was_sent_and_answered_and_from_where() -> None:
    """DET-1, CAP-5, H-03, H-07."""
    assert exchange().details() == {
        "runId": "run-2",
        "parentRunId": "run-1",
        "messages": [
            {"role": "system", "content": "be brief", "cache": CACHE.value()},
            {"role": "user", "content": "why?"},
            {"role": "assistant", "content": "OK \n"},
        ],
        "content": "OK \n",
    }
    first = Exchange("run-1", None, exchange().history)
    assert first.details()["parentRunId"] is None


def test_any_encoder_renders_details() -> None:
    """DET-2."""
    details = exchange("é 😀").details()
    assert json.loads(json.dumps(details)) == details
    assert all(type(one["role"]) is str for one in details["messages"])


def spoil(value: Any) -> None:
    match value:
        case dict():
            for inner in list(value.values()):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType, reportUnknownMemberType]
                spoil(inner)
            value.clear()
        case list():
            for inner in value:  # pyright: ignore[reportUnknownVariableType]
                spoil(inner)
            value.clear()
        case _:
            pass


def test_changing_details_changes_nothing_retained() -> None:
    """DET-3, OWN-1."""
    one = exchange()
    before = json.dumps(one.details())
    spoil(one.details())
    assert json.dumps(one.details()) == before


def test_an_exchange_never_changes_and_holds_only_the_conversation() -> None:
    """OWN-1, OWN-4, CAP-8."""
    one = exchange()
    with pytest.raises(FrozenInstanceError):
        one.run_id = "other"  # pyright: ignore[reportAttributeAccessIssue]
    assert [field.name for field in fields(Exchange)] == ["run_id", "parent_run_id", "history"]


def test_a_continuation_keeps_the_source_and_its_siblings() -> None:
    """OWN-1, H-01."""
    source = exchange()
    before = json.dumps(source.details())
    turns = [
        Exchange(f"run-{n}", source.run_id, source.history.extended(Message(Role.USER, str(n))))
        for n in range(3)
    ]
    assert json.dumps(source.details()) == before
    assert [turn.content for turn in turns] == ["0", "1", "2"]
    assert {turn.details()["parentRunId"] for turn in turns} == {"run-2"}


def test_a_repr_shows_no_content() -> None:
    """DET-5, SEC-1."""
    assert "brief" not in repr(exchange())
    assert "OK" not in repr(exchange())
