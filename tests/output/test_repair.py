"""Asking again: what is sent, and when it is not worth it."""

import pytest

from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract, Format, Status, Validation, Violation
from promptkit_rpc.output.repair import (
    MAX_CANDIDATE,
    MAX_CUT_OFF,
    MAX_NAMED,
    may_repair,
    repair_messages,
)

JSON = Contract(format=Format.JSON)
SCHEMA = Contract(format=Format.SCHEMA, schema=Json.of({"type": "object"}))


def invalid(*violations: Violation) -> Validation:
    return Validation(status=Status.INVALID, violations=violations)


def violation(path: str = "", keyword: str = "type", message: str = "is wrong") -> Violation:
    return Violation(path=path, keyword=keyword, message=message)


CUT_OFF = violation(keyword="length", message="the answer was cut off at the token limit")


def test_the_candidate_and_its_violations_are_sent_back() -> None:
    """OUT-3."""
    found = repair_messages(
        SCHEMA, '{"n": "x"}\n', invalid(violation("/n", message='"x" is no integer'), violation())
    )
    assert found[0] == Message(Role.ASSISTANT, '{"n": "x"}\n')
    assert found[1].role is Role.USER
    assert '- at /n: "x" is no integer\n- is wrong\n' in found[1].content
    assert "that meets the schema" in found[1].content
    assert len(found) == 2


def test_braces_anywhere_are_data() -> None:
    """P-14."""
    texts = ['{"name": "{x}", "a": {}} %s {0} {{ v }}', "{candidate!r}"]
    found = repair_messages(JSON, texts[0], invalid(violation(f"/{texts[0]}", message=texts[1])))
    assert found[0].content == texts[0]
    assert f"- at /{texts[0]}: {texts[1]}\n" in found[1].content


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_candidate_is_not_sent(blank: str) -> None:
    """S-11. Providers refuse an empty assistant message."""
    (only,) = repair_messages(JSON, blank, invalid(violation()))
    assert only.role is Role.USER


def test_an_answer_that_was_cut_off_is_sent_back_in_part() -> None:
    """S-09."""
    sent = repair_messages(JSON, '{"a": "' + "x" * 500_000, invalid(CUT_OFF, violation()))
    assert len(sent[0].content) <= MAX_CUT_OFF
    assert "cut off" in sent[1].content
    assert "Keep it short" in sent[1].content


def test_the_size_of_a_repair_is_bounded_whatever_the_answer_and_its_faults() -> None:
    """S-09, OUT-3."""
    many = [violation("/" + "k" * 10_000, message="m" * 300) for _ in range(101)]
    sent = repair_messages(SCHEMA, "x" * 10_000_000, invalid(*many))
    assert len(sent[0].content) <= MAX_CANDIDATE
    assert len(sent[1].content) < MAX_NAMED * 600
    assert f"- and {101 - MAX_NAMED} more\n" in sent[1].content
    # The same answer again makes the same request again: nothing adds up.
    assert repair_messages(SCHEMA, "x" * 10_000_000, invalid(*many)) == sent


@pytest.mark.parametrize(
    ("status", "finish_reason", "refusal", "again"),
    [
        (Status.INVALID, "stop", None, True),
        (Status.INVALID, "other", None, True),
        (Status.INVALID, "length", None, True),
        (Status.INVALID, "contentFilter", None, False),
        (Status.INVALID, "refusal", None, False),
        (Status.INVALID, "stop", "I will not do that.", False),
        (Status.VALID, "stop", None, False),
        (Status.NOT_REQUIRED, "length", None, False),
    ],
)
def test_refused_and_filtered_answers_are_left_as_they_are(
    status: Status, finish_reason: str, refusal: str | None, *, again: bool
) -> None:
    """S-09, S-11."""
    assert may_repair(Validation(status=status), finish_reason, refusal) == again
