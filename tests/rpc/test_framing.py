import tracemalloc
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.rpc.framing import HEAD, MAX_BODY, MAX_HEADER, Framer, Lost, Refused, header


def plain(events: list[Any]) -> list[Any]:
    """Events as values that compare."""
    return [
        (type(event).__name__, getattr(event, "head", b""), event.reason)
        if isinstance(event, Refused | Lost)
        else bytes(event)
        for event in events
    ]


def read(data: bytes, max_body: int = MAX_BODY) -> list[Any]:
    return plain(Framer(max_body).feed(data))


def lost(data: bytes) -> str:
    """Why a stream is lost."""
    (event,) = Framer().feed(data)
    assert isinstance(event, Lost)
    return event.reason


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\n\r\n",
        b"content-length: 5\r\n\r\n",
        b"CONTENT-LENGTH:5\r\n\r\n",
        b"Content-Length:  5 \r\n\r\n",
        b"Content-Length: 5\n\n",
        b"Content-Length: 5\r\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 5\r\n\r\n",
        b"Content-Length: 5\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
        b'Content-Length: 5\r\ncontent-type: x; a=b; Charset="UTF-8"\r\n\r\n',
        b"Content-Length: 5\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n",
        b"Content-Length: 5\r\nContent-Type: x;charset = 'utf-8' ;b=c\r\n\r\n",
        b"Content-Length: 00000000000000000005\r\n\r\n",
        b"X-Foo: bar\r\nContent-Length: 5\r\nY:\r\n\r\n",
        b"X-From: http://localhost:80/\r\nContent-Length: 5\r\n\r\n",
        b"Content-Length: 5\r\nContent-Length: 05\r\n\r\n",
    ],
)
def test_headers_are_read_as_the_protocol_allows_them(head: bytes) -> None:
    """R-16, X-04: any case, order, spacing and line end; unknown headers; utf8 and utf-8."""
    assert read((head + b"hello") * 2) == [b"hello", b"hello"]


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"X-Foo: 1\r\n\r\n", "no Content-Length"),
        (b"\r\n", "no Content-Length"),
        (b"Content-Length: abc\r\n\r\n", "unreadable: 'abc'"),
        (b"Content-Length: -1\r\n\r\n", "unreadable"),
        (b"Content-Length: +1\r\n\r\n", "unreadable"),
        (b"Content-Length: 1_0\r\n\r\n", "unreadable"),
        (b"Content-Length: 1.0\r\n\r\n", "unreadable"),
        (b"Content-Length:\r\n\r\n", "unreadable"),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", "unreadable"),
        (b"Content-Length: \xd9\xa3\r\n\r\n", "unreadable"),
        (b"Content-Length: 000000000000000000005\r\n\r\n", "unreadable"),
        (b"Content-Length: 5\r\ncontent-length: 6\r\n\r\n", "given as 5 and as 6"),
        (b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "given as 5 and as 6"),
        (b"a banner\r\nContent-Length: 5\r\n\r\n", "no header"),
        (b"a banner: 1\r\nContent-Length: 5\r\n\r\n", "no header"),
        (b": 1\r\nContent-Length: 5\r\n\r\n", "no header"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x"}\n', "no header"),
        (b'"credential":"sk-canary"}}Content-Length: 5\r\n\r\n', "which counts bytes"),
    ],
)
def test_a_stream_whose_next_frame_cannot_be_found_is_lost(head: bytes, reason: str) -> None:
    """X-04, R-16: never a silent loss of step, and nothing of a body is quoted."""
    assert reason in lost(head)
    assert "canary" not in lost(head)


def test_nothing_is_read_after_the_loss_but_everything_before_it() -> None:
    """X-04."""
    framer = Framer()
    events = plain(framer.feed(b"Content-Length: 2\r\n\r\n{}oops\r\nContent-Length: 2\r\n\r\n{}"))
    assert events[0] == b"{}"
    assert [kind for kind, *_ in events[1:]] == ["Lost"]
    assert framer.feed(b"Content-Length: 2\r\n\r\n{}") == []


def test_a_header_line_of_100_kilobytes_is_skipped_and_a_megabyte_is_the_limit() -> None:
    """R-14."""
    assert read(b"X: " + b"x" * 100_000 + b"\r\nContent-Length: 2\r\n\r\n{}") == [b"{}"]
    assert f"longer than {MAX_HEADER}" in lost(b"X: " + b"x" * MAX_HEADER)


@pytest.mark.parametrize("line", [b"X: 1\r\n", b"X: " + b"x" * 1000 + b"\r\n"])
def test_many_header_lines_count_together(line: bytes) -> None:
    """R-14: and those of the frame before do not count."""
    end = b"Content-Length: 2\r\n\r\n"
    room = MAX_HEADER - len(end)
    lines = line * (room // len(line) - 1)
    whole = lines + b"Y: " + b"y" * (room - len(lines) - 5) + b"\r\n" + end
    assert len(whole) == MAX_HEADER
    assert read((whole + b"{}") * 2) == [b"{}", b"{}"]
    assert f"longer than {MAX_HEADER}" in lost(b"Z: \r\n" + whole)


def test_an_oversized_body_is_refused_from_its_head_before_it_has_come() -> None:
    """R-14: 10^18 announced bytes are answered at once, and skipping needs no memory."""
    framer = Framer(max_body=10_000)
    assert framer.feed(b"Content-Length: 1000000000000000000\r\n\r\n") == []
    (event,) = framer.feed(b"x" * (HEAD + 1))
    assert isinstance(event, Refused)
    assert event.head == b"x" * HEAD
    assert event.reason == "the body has 1000000000000000000 bytes; the limit is 10000"
    assert framer.inside


def test_the_frame_after_an_oversized_one_is_read() -> None:
    """R-14."""
    reason = "the body has 20 bytes; the limit is 10"
    events = read(header(20) + b"a" * 20 + header(10) + b"b" * 10, max_body=10)
    assert events == [("Refused", b"a" * 20, reason), b"b" * 10]


@pytest.mark.parametrize("head", [b"Content-Length: 10\r\n\r\n", b"content-length: 10\n\n"])
def test_a_body_as_large_as_the_limit_is_read(head: bytes) -> None:
    """R-14."""
    assert read(head + b"a" * 10, max_body=10) == [b"a" * 10]
    (refused,) = read(head + b"a" * 10, max_body=9)
    assert refused == ("Refused", b"a" * 10, "the body has 10 bytes; the limit is 9")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"x; charset=latin-1", "latin-1"),
        (b"x;charset=Latin-1", "latin-1"),
        (b"x; a=b; charset = 'utf-16' ", "utf-16"),
        (b"x; charset=a=b", "a=b"),
        (b"x; charset=" + b"y" * 41, "y" * 40),
    ],
)
def test_a_body_in_another_charset_is_refused_and_skipped(written: bytes, shown: str) -> None:
    """R-16."""
    framed = b"Content-Length: 2\r\nContent-Type: " + written + b"\r\n\r\n{}"
    reason = f"charset {shown!r} is not supported; send UTF-8"
    assert read(framed + header(2) + b"[]") == [("Refused", b"{}", reason), b"[]"]


@pytest.mark.parametrize("size", [1, HEAD - 1, HEAD, HEAD + 1, 3 * HEAD])
def test_the_rest_of_an_oversized_body_is_skipped_however_it_comes(size: int) -> None:
    """R-14: what follows is read from its first byte on."""
    stream = header(4 * HEAD) + b"{" * 4 * HEAD + header(2) + b"[]"
    framer = Framer(max_body=10)
    events: list[Any] = []
    for at in range(0, len(stream), size):
        events += plain(framer.feed(stream[at : at + size]))
    assert events == [
        ("Refused", b"{" * HEAD, f"the body has {4 * HEAD} bytes; the limit is 10"),
        b"[]",
    ]
    assert not framer.inside


def test_an_empty_body_is_a_body() -> None:
    """R-16."""
    assert read(b"content-length: 0\r\n\r\n" * 2) == [b"", b""]
    assert read(header(0) + header(0)) == [b"", b""]


def test_the_header_written_ends_in_exactly_two_line_ends() -> None:
    """R-18."""
    assert header(1234) == b"Content-Length: 1234\r\n\r\n"


STREAM = (
    b"content-type: a;charset=utf8\ncontent-length: 3\n\nabc"
    + header(0)
    + header(12)
    + b"x" * 12
    + b"X: y\r\nContent-Length: 5\r\nContent-Type: a; charset=utf-16\r\n\r\nhello"
    + header(6)
    + b'"\xc3\xa9\r\n"'
    + b"Content-Length: 1\r\n\n1oops\nContent-Length: 1\n\n1"
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_however_a_stream_is_split_it_gives_the_same_events(cuts: list[int]) -> None:
    """R-16: one frame byte by byte, two frames in one write, and everything between."""
    framer = Framer(max_body=10)
    events: list[Any] = []
    edges = [0, *sorted(cuts), len(STREAM)]
    for start, stop in pairwise(edges):
        events += framer.feed(STREAM[start:stop])
    assert plain(events) == read(STREAM, max_body=10)
    assert len(events) == 7


def test_a_stream_may_come_byte_by_byte() -> None:
    """R-16."""
    framer = Framer(max_body=10)
    events: list[Any] = []
    for at in range(len(STREAM)):
        events += framer.feed(STREAM[at : at + 1])
    assert plain(events) == read(STREAM, max_body=10)


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    """SEC-4."""
    framer = Framer(max_body=16)
    for piece in pieces:
        framer.feed(piece)


def test_the_end_of_input_inside_a_frame_is_known() -> None:
    """R-16."""
    framer = Framer(max_body=4)
    assert not framer.inside
    inside = [
        framer.feed(piece) or framer.inside for piece in (b"Con", b"tent-Length: 9\r\n\r\n", b"x")
    ]
    assert inside == [True, True, True]
    framer.feed(b"x" * 8)
    assert not framer.inside


def test_a_large_body_is_held_once() -> None:
    """R-14: memory of about one body, whatever the size of the pieces."""
    size, piece = 8_000_000, b"x" * 8000
    framer = Framer()
    framer.feed(header(size))
    tracemalloc.start()
    try:
        for _ in range(size // len(piece) - 1):
            framer.feed(piece)
        (body,) = framer.feed(piece)
        assert not isinstance(body, Refused | Lost)
        assert len(body) == size
        assert tracemalloc.get_traced_memory()[1] < 1.3 * size
    finally:
        tracemalloc.stop()
