"""Histories share what they continue, keep wire forms, and are gone at once when let go."""

import gc
import sys
import tracemalloc
import weakref
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.jsontext import Json

LONG = 100_000


def user(text: str, cache: Json | None = None) -> Message:
    return Message(Role.USER, text, cache)


def texts(history: History) -> list[str]:
    return [message.content for message in history]


def chain(segments: int) -> History:
    history = History((user("0"),))
    for number in range(1, segments):
        history = history.extended(user(str(number)))
    return history


def test_continuing_leaves_the_source_and_its_branches_as_they_were() -> None:
    """OWN-1, CFG-7."""
    source = History((user("a"), user("b")))
    left = source.extended(user("c"))
    right = source.extended(user("d"), user("e"))
    further = left.extended(user("f"))
    assert texts(source) == ["a", "b"]
    assert texts(left) == ["a", "b", "c"]
    assert texts(right) == ["a", "b", "d", "e"]
    assert texts(further) == ["a", "b", "c", "f"]
    assert further.messages() == tuple(further)


def test_branches_share_their_source_as_one_object() -> None:
    """OWN-7."""
    source = chain(3)
    branches = [source.extended(user("x")) for _ in range(3)]
    assert all(branch.parent is source for branch in branches)
    assert branches[0].segments()[:-1] == branches[1].segments()[:-1] == source.segments()


def test_a_branch_costs_what_it_adds() -> None:
    """OWN-7. A thousand continuations of a megabyte are no thousand megabytes."""
    source = History((user("x" * 1_000_000),))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        branches = [source.extended(user(f"question {n}")) for n in range(1_000)]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(branches) == 1_000
    assert after - before < 1_500_000


@given(st.lists(st.lists(st.text(max_size=3), max_size=3), max_size=6))
def test_messages_come_in_the_order_they_were_added(parts: list[list[str]]) -> None:
    """CFG-7."""
    history = History(())
    for part in parts:
        history = history.extended(*map(user, part))
    assert texts(history) == [text for part in parts for text in part]
    assert repr(history) == f"<History of {sum(map(len, parts))} messages>"


def test_a_segment_knows_the_bytes_it_holds() -> None:
    """OWN-7. In UTF-8, cache metadata included, its own messages only."""
    source = History((user("abc"), user("é😀", Json(b'{"a":1}'))))
    assert source.size == 3 + 6 + 7
    assert source.extended(user("x")).size == 1
    assert History(()).size == 0


def test_a_wire_form_is_made_once_per_segment_however_often_it_is_sent() -> None:
    """OWN-7. A turn's own work grows with what it adds."""
    made: list[tuple[Message, ...]] = []

    def encode(messages: tuple[Message, ...]) -> bytes:
        made.append(messages)
        return b"".join(one.content.encode() for one in messages)

    source = chain(3)
    assert source.forms("wire", encode) == [b"0", b"1", b"2"]
    left, right = source.extended(user("l")), source.extended(user("r"))
    for branch in (left, right, left, source):
        branch.forms("wire", encode)
    assert [one[0].content for one in made] == ["0", "1", "2", "l", "r"]
    assert left.forms("other", len) == [1, 1, 1, 1]
    assert left.forms("wire", encode)[-1] == b"l"


def test_what_is_folded_over_a_history_is_taken_further_by_what_continues_it() -> None:
    """OWN-7. A turn costs the same however long the conversation is."""
    steps: list[int] = []

    def step(before: int, messages: tuple[Message, ...]) -> int:
        steps.append(before)
        return before + len(messages)

    source = chain(LONG)
    assert source.folded("count", step, 0) == LONG
    assert len(steps) == LONG
    for branch in (source, source.extended(user("a")), source.extended(user("b"), user("c"))):
        steps.clear()
        assert branch.folded("count", step, 0) == sum(1 for _ in branch)
        assert steps == [LONG] * (branch is not source)


def test_an_empty_or_false_form_is_kept_too() -> None:
    made = 0

    def encode(_: tuple[Message, ...]) -> bytes:
        nonlocal made
        made += 1
        return b""

    history = chain(1)
    history.form("wire", encode)
    history.form("wire", encode)
    assert made == 1


@pytest.fixture
def no_collector() -> Iterator[None]:
    """With the cycle collector off, only what nothing refers to is freed."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
def test_a_very_long_history_neither_recurses_nor_lingers() -> None:
    """OWN-5, OWN-7. Walked, encoded, shown and freed, one hundred thousand turns deep."""
    limit = sys.getrecursionlimit()
    history = chain(LONG)
    sys.setrecursionlimit(200)
    try:
        assert sum(1 for _ in history) == LONG
        assert len(history.segments()) == LONG
        assert sum(history.forms("count", len)) == LONG
        assert str(LONG) in repr(history)
        first, middle = (weakref.ref(history.segments()[i].added[0]) for i in (0, LONG // 2))
        del history
    finally:
        sys.setrecursionlimit(limit)
    assert first() is None
    assert middle() is None


@pytest.mark.usefixtures("no_collector")
def test_letting_a_branch_go_frees_it_alone() -> None:
    """OWN-5."""
    source = chain(10)
    kept, dropped = source.extended(user("kept")), source.extended(user("dropped"))
    gone = weakref.ref(dropped.added[0])
    del dropped
    assert gone() is None
    still = weakref.ref(source.added[0])
    del source
    assert still() is not None
    assert texts(kept)[-1] == "kept"
    del kept
    assert still() is None
