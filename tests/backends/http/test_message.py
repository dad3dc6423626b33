"""The head of a request, and a response as its bytes come; h11 is the judge of both."""

import gc
import weakref
from itertools import pairwise

import h11
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.backends.http.message import LONGEST_HEAD, Response, head_of

Headers = list[tuple[bytes, bytes]]

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 11\r\n\r\nhello world"
CHUNKED = (
    b"HTTP/1.1 429 Too Many\r\ntransfer-encoding: chunked\r\nX: 1\r\n\r\n"
    b"5;note=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: 1\r\n\r\n"
)
INFORMED = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + LENGTH
UNTIL_THE_END = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nhello world"
OLD = b"HTTP/1.0 200 OK\r\nContent-Length: 11\r\n\r\nhello world"
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 11\r\n\r\nhello world"
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"


def read(*parts: bytes, end: bool = False) -> tuple[Response, bytes]:
    """A response, and its body."""
    response, body = Response(), b""
    for part in parts:
        response.feed(memoryview(part))
        body += response.take()
    if end:
        response.end()
    return response, body + response.take()


def judged(data: bytes) -> tuple[int, Headers, bytes]:
    """What h11 reads from a connection that ends with this."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    connection.receive_data(b"")
    status, headers, body = 0, Headers(), b""
    while not isinstance(event := connection.next_event(), h11.EndOfMessage):
        if isinstance(event, h11.Response):
            status, headers = event.status_code, list(event.headers)
        elif isinstance(event, h11.Data):
            body += event.data
    return status, headers, body


@pytest.mark.parametrize(
    ("data", "reusable"),
    [
        (LENGTH, True),
        (CHUNKED, True),
        (INFORMED, True),
        (UNTIL_THE_END, False),
        (OLD, False),
        (LAST, False),
        (EMPTY, True),
    ],
    ids=["length", "chunked", "informed", "until the end", "old", "last", "empty"],
)
@given(cuts=st.lists(st.integers(0, 200), max_size=8))
def test_a_response_is_the_same_however_it_comes(
    data: bytes, reusable: int, cuts: list[int]
) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    response, body = read(
        *(data[a:b] for a, b in pairwise(edges) if a < b), end=data is UNTIL_THE_END
    )
    headers = [(name.lower(), value) for name, value in response.headers]
    assert (response.status, headers, body) == judged(data)
    assert (response.complete, response.broken) == (True, False)
    assert response.reusable == reusable


@given(
    status=st.integers(200, 599),
    headers=st.lists(
        st.tuples(
            st.from_regex(rb"X-[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}", fullmatch=True),
            st.from_regex(rb"([!-~\x80-\xff]([ \t!-~]{0,20}[!-~])?)?", fullmatch=True),
        ),
        max_size=6,
    ),
    chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=5),
    chunked=st.booleans(),
)
def test_what_h11_reads_is_read_alike(
    status: int, headers: Headers, chunks: list[bytes], chunked: int
) -> None:
    """Any status, any headers, both ways to tell where the body ends."""
    body = b"".join(chunks)
    if chunked:
        headers = [*headers, (b"Transfer-Encoding", b"chunked")]
        sent = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in (*chunks, b""))
    else:
        headers, sent = [*headers, (b"Content-Length", b"%d" % len(body))], body
    if status in (204, 304):
        sent = b""
    lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
    data = b"HTTP/1.1 %d x\r\n%b\r\n%b" % (status, lines, sent)
    response, got = read(data)
    assert response.complete
    found = [(name.lower(), value) for name, value in response.headers]
    assert (response.status, found, got) == judged(data)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nother words",
        b"HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
    ],
)
def test_what_is_no_valid_response_is_broken_and_nothing_is_made_of_it(data: bytes) -> None:
    response, _ = read(data, end=True)
    assert (response.complete, response.broken, response.reusable) == (False, True, False)


@pytest.mark.parametrize("data", [LENGTH, CHUNKED])
def test_one_that_ends_early_is_not_complete(data: bytes) -> None:
    response, _ = read(data[:-3], end=True)
    assert not response.complete
    assert not response.reusable


@pytest.mark.parametrize("more", [b"HTTP/1.1 200 OK\r\n\r\n", b"x", LENGTH])
@pytest.mark.parametrize("apart", [True, False])
def test_bytes_after_the_response_change_nothing_but_that_its_connection_is_spent(
    more: bytes, apart: int
) -> None:
    parts = (LENGTH, more) if apart else (LENGTH + more,)
    response, body = read(*parts)
    assert (response.status, len(response.headers), body) == (200, 2, b"hello world")
    assert response.complete
    assert not response.reusable


@pytest.mark.parametrize(
    "endless",
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"x"),
    ],
    ids=["header", "headers", "chunk extension", "trailer"],
)
def test_what_never_ends_is_given_up(endless: tuple[bytes, bytes]) -> None:
    response, _ = read(endless[0])
    fed = 0
    while not response.broken:
        assert fed <= LONGEST_HEAD
        response.feed(memoryview(endless[1] * 1000))
        fed += 1000


@given(st.lists(st.binary(max_size=60), max_size=10))
def test_no_bytes_raise(parts: list[bytes]) -> None:
    """SEC-4."""
    read(b"HTTP/1.1 200 OK\r\n", *parts, end=True)


@pytest.mark.parametrize("way", ["complete", "broken", "ended", "dropped"])
def test_a_response_is_gone_when_nobody_holds_it(way: str) -> None:
    """OWN-7: a body does not wait for the garbage collector."""
    parts = {"complete": LENGTH, "broken": b"nonsense"}.get(way, LENGTH[:-3])
    response, _ = read(parts, end=way == "ended")
    if way == "dropped":
        response.drop()
    gone = weakref.ref(response)
    gc.disable()
    try:
        del response
        assert gone() is None
    finally:
        gc.enable()


def test_the_head_of_a_request_is_what_h11_reads() -> None:
    headers = [(b"Host", b"h:1"), (b"X", b""), (b"content-length", b"0")]
    server = h11.Connection(h11.SERVER)
    server.receive_data(head_of(b"POST", b"/v1/x?y=1", headers))
    event = server.next_event()
    assert isinstance(event, h11.Request)
    assert (event.method, event.target) == (b"POST", b"/v1/x?y=1")
    assert list(event.headers.raw_items()) == headers


@pytest.mark.parametrize("bad", [b"a\r\nX-Other: b", b"a\nb", b"a\rb", b"a\0b"])
def test_nothing_in_a_head_ends_its_line(bad: bytes) -> None:
    """SEC-1: and the error quotes nothing."""
    for target, value in ((b"/" + bad, b"v"), (b"/", bad)):
        with pytest.raises(httpx.LocalProtocolError) as caught:
            head_of(b"POST", target, [(b"Authorization", value)])
        assert str(caught.value) == "the request is no valid HTTP"
