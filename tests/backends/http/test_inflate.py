import gzip
import zlib

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.backends.http.inflate import Inflater


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def inflated(coding: str, data: bytes, cut: int) -> bytes:
    inflater = Inflater(coding)
    out: list[bytes] = []
    for piece in (data[:cut], data[cut:]):
        if piece:
            out += inflater.feed(piece)
    inflater.end()
    return b"".join(out)


@given(st.binary(max_size=2000), st.integers(0, 3000))
def test_each_coding_is_undone_however_it_is_cut(data: bytes, cut: int) -> None:
    assert inflated("gzip", gzip.compress(data), cut) == data
    assert inflated("x-gzip", gzip.compress(data), cut) == data
    assert inflated("deflate", zlib.compress(data), cut) == data
    assert inflated("deflate", bare(data), 0) == data


def test_a_small_body_that_grows_huge_comes_in_bounded_pieces() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    sizes = [len(piece) for piece in Inflater("gzip").feed(bomb)]
    assert max(sizes) <= 256 * 1024
    assert sum(sizes) == 20_000_000


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "zstd"])
def test_an_unknown_coding_is_refused(coding: str) -> None:
    with pytest.raises(httpx.DecodingError):
        Inflater(coding)


def test_what_is_not_compressed_or_cut_off_is_refused() -> None:
    with pytest.raises(httpx.DecodingError):
        list(Inflater("gzip").feed(b"{}"))
    inflater = Inflater("gzip")
    list(inflater.feed(gzip.compress(b"hello")[:-9]))
    with pytest.raises(httpx.DecodingError):
        inflater.end()
