"""Streams of chat completions: the answer is the one that would have come unstreamed."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.backends.openai import ChunkReader
from promptkit_rpc.errors import Reason
from promptkit_rpc.generation import Answer, FinishReason
from promptkit_rpc.usage import UNKNOWN, TokenCounts
from tests.support.calls import Sink, call, error, openai
from tests.support.provider import Provider, Step, completion, delta, events, streamed_completion


async def streamed(*steps: Step | str, **fields: Any) -> tuple[Answer, Sink]:
    """The answer of a stream, and what was passed on of it."""
    sink = Sink()
    async with Provider() as provider:
        provider.always(events(*steps))
        backend = openai(provider.url)
        answer = await backend.generate(call(deltas=sink, **fields))
        await backend.close()
    return answer, sink


async def test_pieces_are_passed_on_as_they_come_and_make_the_answer() -> None:
    gate = asyncio.Event()
    steps = [delta("Hel"), gate, delta("lo"), delta(finish="stop"), "[DONE]"]
    async with Provider() as provider:
        provider.always(events(*steps))
        backend, sink = openai(provider.url), Sink()
        running = asyncio.ensure_future(backend.generate(call(deltas=sink)))
        await sink.until(1)
        assert sink.pieces == ["Hel"]
        gate.set()
        answer = await running
        await backend.close()
    assert sink.pieces == ["Hel", "lo"]
    assert answer == Answer(content="Hello")


async def test_a_streamed_answer_equals_the_unstreamed_one() -> None:
    async with Provider() as provider:
        provider.play(streamed_completion("a", "", "é\n"), completion("aé\n"))
        backend = openai(provider.url)
        first = await backend.generate(call(deltas=Sink()))
        assert first == await backend.generate(call())
        await backend.close()


async def test_line_breaks_inside_text_split_nothing() -> None:
    """T-10."""
    text = "Hello\u2028World\u0085!\u2029\x0b\x0c\x1c"
    raw = json.dumps({"choices": [{"delta": {"content": text}}]}, ensure_ascii=False)
    answer, sink = await streamed(raw, delta(finish="stop"), "[DONE]")
    assert answer.content == text == sink.text


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"])
async def test_every_line_ending_of_the_standard_is_one(ending: str) -> None:
    """T-10."""
    lines = ["event: x", f"data: {delta('a')}", "", f"data:{delta('b', 'stop')}", ""]
    lines += ["data: [DONE]", "", ""]
    answer, sink = await streamed(ending.join(lines).encode())
    assert answer.content == "ab" == sink.text
    assert answer.finish_reason is FinishReason.STOP


@given(st.lists(st.integers(1, 60), max_size=30))
def test_bytes_may_be_cut_anywhere(cuts: list[int]) -> None:
    """T-10: also inside a character and inside a line ending."""

    async def one() -> None:
        raw = f"data: {delta('aé')}\r\n\r\ndata: ".encode()
        raw += json.dumps(
            {"choices": [{"delta": {"content": "\U0001f600"}}]}, ensure_ascii=False
        ).encode()
        raw += f"\r\n\r\ndata: {delta('z', 'stop')}\r\n\r\ndata: [DONE]\r\n\r\n".encode()
        pieces: list[bytes] = []
        rest = raw
        for cut in cuts:
            pieces.append(rest[:cut])
            rest = rest[cut:]
        answer, sink = await streamed(*[piece for piece in (*pieces, rest) if piece])
        assert answer.content == "aé\U0001f600z" == sink.text

    asyncio.run(one())


async def test_comments_and_empty_data_are_nothing() -> None:
    """T-13."""
    answer, sink = await streamed(
        f"id: 1\ndata: {delta('a')}\n\n: ping\n\ndata: {delta('b')}\n\n".encode(),
        b"data:\n\n",
        b":\n\n",
        b"event: ping\n\n",
        b"retry: 5\n\n",
        b"\n\n\n",
        delta(finish="stop"),
        "[DONE]",
    )
    assert answer.content == "ab"
    assert sink.pieces == ["a", "b"]


async def test_a_keepalive_sent_as_data_is_skipped() -> None:
    """T-14."""
    answer, _ = await streamed(delta("a"), ": keepalive", delta("b", "stop"), "[DONE]")
    assert answer.content == "ab"


async def test_the_last_chunk_may_hold_usage_alone() -> None:
    """USE-1, U-11."""
    usage = {"prompt_tokens": 10, "completion_tokens": 50, "total_tokens": 60}
    answer, _ = await streamed(
        json.dumps({"choices": []}),
        json.dumps({"choices": None, "usage": None}),
        delta("text"),
        delta(finish="stop"),
        json.dumps({"choices": [], "usage": usage}),
        "[DONE]",
    )
    assert answer.content == "text"
    assert answer.usage == TokenCounts(input_tokens=10, output_tokens=50, total_tokens=60)


async def test_usage_that_is_counted_on_is_not_added_up() -> None:
    """USE-2."""
    steps = [
        json.dumps(
            {**json.loads(delta("a")), "usage": {"prompt_tokens": 3, "completion_tokens": n}}
        )
        for n in (1, 2, 3)
    ]
    answer, _ = await streamed(*steps, delta(finish="stop"), "[DONE]")
    assert answer.usage == TokenCounts(input_tokens=3, output_tokens=3, total_tokens=6)


async def test_a_stream_without_usage_leaves_it_unknown() -> None:
    """USE-1, U-02."""
    answer, _ = await streamed(delta("a", "stop"), "[DONE]")
    assert answer.usage == UNKNOWN


async def test_a_finish_reason_completes_an_answer_without_done_and_done_one_without_it() -> None:
    assert (await streamed(delta("a"), delta(finish="length")))[0].finish_reason is (
        FinishReason.LENGTH
    )
    answer, _ = await streamed(delta("a"), "[DONE]")
    assert (answer.content, answer.finish_reason) == ("a", FinishReason.OTHER)


async def test_an_empty_finish_reason_finishes_nothing() -> None:
    """RET-1: some gateways send one with every chunk; what breaks off then is no answer."""
    chunk = json.dumps({"choices": [{"delta": {"content": "a"}, "finish_reason": ""}]})
    async with Provider() as provider:
        provider.play(events(chunk), events(chunk, delta("b", "stop"), "[DONE]"))
        backend = openai(provider.url)
        failed = await error(backend, call(deltas=Sink()))
        assert (failed.reason, failed.retryable) == (Reason.CONNECTION, True)
        answer = await backend.generate(call(deltas=Sink()))
        assert (answer.content, answer.finish_reason) == ("ab", FinishReason.STOP)
        await backend.close()


async def test_a_byte_order_mark_before_the_first_event_is_skipped() -> None:
    """T-10: as the standard for event streams says; the first piece is not lost with it."""
    mark = "\ufeff"
    stream = f"{mark}data: {delta('a')}\n\ndata: {delta(mark, 'stop')}\n\ndata: [DONE]\n\n"
    answer, sink = await streamed(stream.encode())
    assert answer.content == f"a{mark}" == sink.text


async def test_what_follows_done_is_not_looked_at() -> None:
    answer, sink = await streamed(delta("a", "stop"), "[DONE]", delta("b"), "{broken")
    assert answer.content == "a" == sink.text


async def test_only_the_first_choice_counts() -> None:
    second = json.dumps({"choices": [{"index": 1, "delta": {"content": "no"}}]})
    both = json.dumps(
        {
            "choices": [
                {"index": 1, "delta": {"content": "no"}},
                {"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"},
            ]
        }
    )
    answer, _ = await streamed(delta("a"), second, both, "[DONE]")
    assert answer.content == "ab"


async def test_a_streamed_refusal_is_a_refusal_and_no_text() -> None:
    """S-11."""
    answer, sink = await streamed(
        delta(refusal="I will "), delta(refusal="not."), delta(finish="stop"), "[DONE]"
    )
    assert (answer.finish_reason, answer.refusal) == (FinishReason.REFUSAL, "I will not.")
    assert (answer.content, sink.text) == ("", "")


async def test_streamed_reasoning_is_no_text() -> None:
    """S-18."""
    answer, sink = await streamed(delta(reasoning_content="hm"), delta("4", "stop"), "[DONE]")
    assert answer.content == "4" == sink.text


async def test_a_pair_of_surrogates_may_come_in_two_chunks() -> None:
    answer, sink = await streamed(
        delta("a\ud83d"), delta("\ude00b"), delta("\ud83d", "stop"), "[DONE]"
    )
    assert answer.content == "a\U0001f600b\ufffd" == sink.text


async def test_a_key_that_the_model_says_piece_by_piece_is_not_passed_on() -> None:
    """SEC-1."""
    pieces = ["key is sk-", "canary", "-DD", "DD!", " sk-can"]
    answer, sink = await streamed(
        *map(delta, pieces), delta(finish="stop"), "[DONE]", key="sk-canary-DDDD"
    )
    assert answer.content == "key is ***! sk-can" == sink.text


def test_every_way_to_cut_an_answer_gives_the_same_answer() -> None:
    reader = ChunkReader()
    for character in "whole":
        assert reader.feed(delta(character)) == character
    assert reader.answer() is None
    assert reader.feed(delta(finish="stop")) == ""
    assert reader.rest() == ""
    answer = reader.answer()
    assert answer is not None
    assert answer.content == "whole"
