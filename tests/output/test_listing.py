"""Violations: short, bounded, and from inside of a choice."""

import pytest

from promptkit_rpc.output.contract import Violation
from promptkit_rpc.output.listing import MAX_MESSAGE, MAX_VIOLATIONS, bounded, short
from promptkit_rpc.output.pointer import pointer


def violation(path: str = "", message: str = "m") -> Violation:
    return Violation(path=path, keyword="k", message=message)


def test_as_many_as_are_stated_are_listed_and_the_others_counted() -> None:
    """OUT-2."""
    few = [violation(f"/{i}") for i in range(MAX_VIOLATIONS)]
    assert bounded(few) == tuple(few)
    one_more = bounded([*few, violation("/x")])
    assert one_more[:-1] == tuple(few)
    assert one_more[-1].keyword == "more"
    assert one_more[-1].message == "1 more violation is not listed"
    assert "900 more violations are" in bounded(violation(f"/{i}") for i in range(1000))[-1].message


def test_the_same_violation_is_listed_once() -> None:
    assert bounded([violation(), violation(), violation("/a")]) == (violation(), violation("/a"))


def test_very_long_places_are_not_listed() -> None:
    """SEC-4. Names in an answer may be of any length; a list of them may not."""
    found = bounded(violation("/" + str(i) * 40_000) for i in range(50))
    assert sum(len(one.path) for one in found) < 200_000
    assert found[-1].keyword == "more"


@pytest.mark.parametrize("length", [0, 1, MAX_MESSAGE, MAX_MESSAGE + 1, 100_000])
def test_a_message_keeps_both_its_ends(length: int) -> None:
    text = "".join(chr(0x4E00 + i % 5000) for i in range(length))
    kept = short(text)
    assert len(kept) <= MAX_MESSAGE
    assert kept == text or kept.split("…") == [text[:149], text[-149:]]


@pytest.mark.parametrize(
    ("path", "text"),
    [([], ""), (["a", 0], "/a/0"), (["a/b", "~", ""], "/a~1b/~0/"), (["~1"], "/~01")],
)
def test_places_are_json_pointers(path: list[str | int], text: str) -> None:
    """OUT-2."""
    assert pointer(path) == text
