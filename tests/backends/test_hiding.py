"""Backends without HTTP keep the run's key out of what they say, too."""

import pytest

from promptkit_rpc.backends.hiding import Hiding
from promptkit_rpc.definitions.settings import Fault
from promptkit_rpc.generation import CallFailed
from promptkit_rpc.jsontext import Json
from promptkit_rpc.secret import MASK, Secret
from promptkit_rpc.usage import TokenCounts
from tests.support.script import Pieces, backend, call, reply

KEY = "sk-canary-0123456789"


async def test_an_answer_that_echoes_the_key_comes_without_it() -> None:
    """SEC-1: content, refusal and pieces, though the key is cut in two."""
    usage = TokenCounts.reported(input_tokens=3)
    said = reply(chunks=(f"a {KEY[:7]}", f"{KEY[7:]} b", " sk-can"), refusal=KEY, usage=usage)
    pieces = Pieces()
    asked = call(deltas=pieces, credential=Secret(KEY))
    answer = await Hiding(backend(said)).generate(asked)
    assert (answer.content, answer.refusal) == (f"a {MASK} b sk-can", MASK)
    assert "".join(pieces.texts) == answer.content
    assert answer.usage == usage


async def test_an_error_that_quotes_the_key_comes_without_it() -> None:
    """SEC-1."""
    fault = Fault(status=400, body=Json.of({"error": {"message": f"no such key: {KEY}"}}))
    with pytest.raises(CallFailed, match=r"no such key: \*\*\*") as caught:
        await Hiding(backend(reply(fault=fault))).generate(call(credential=Secret(KEY)))
    assert KEY not in caught.value.error.message


async def test_without_a_key_nothing_is_changed() -> None:
    """SEC-1."""
    answer = await Hiding(backend(reply(KEY))).generate(call())
    assert answer.content == KEY
