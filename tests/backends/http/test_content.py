"""A request's body on its way to the socket: small parts joined, large ones cut, nothing lost."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.backends.http.connection import Content

SLICE = 128 * 1024
SIZES = st.sampled_from([0, 1, 2, 1000, SLICE - 1, SLICE, SLICE + 1, 3 * SLICE + 5])


def pieces(head: bytes, *parts: bytes) -> list[Any]:
    return list(Content(parts).pieces(head))


@given(st.lists(SIZES, max_size=8))
def test_what_is_sent_is_the_head_and_the_parts_in_order(sizes: list[int]) -> None:
    parts = [bytes([n]) * size for n, size in enumerate(sizes)]
    sent = pieces(b"head", *parts)
    assert b"".join(sent) == b"head" + b"".join(parts)
    assert len(Content(parts)) == sum(sizes)
    assert all(0 < len(piece) <= 2 * SLICE + len(b"head") for piece in sent)


def test_a_small_request_is_one_write() -> None:
    assert pieces(b"head", b"a", b",", b"b" * 1000) == [b"heada," + b"b" * 1000]


def test_many_small_parts_take_few_writes() -> None:
    assert len(pieces(b"head", *[b"x" * 100, b","] * 10_000)) == 8


def test_a_comma_between_large_parts_is_no_write_of_its_own() -> None:
    large = b"x" * (2 * SLICE)
    assert [len(piece) for piece in pieces(b"", large, b",", large)] == [
        SLICE,
        SLICE,
        SLICE + 1,
        SLICE,
    ]


def test_a_large_part_is_not_copied() -> None:
    """OWN-7: sending a long history takes a slice of memory, not another history."""
    parts = [b"x" * 20_000_000]
    tracemalloc.start()
    try:
        for piece in Content(parts).pieces(b"head"):
            del piece
        assert tracemalloc.get_traced_memory()[1] < 4 * SLICE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("parts", [(), (b"",)])
def test_a_body_of_nothing_leaves_the_head(parts: tuple[bytes, ...]) -> None:
    assert pieces(b"head", *parts) == [b"head"]
