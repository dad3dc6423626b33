"""Streams of Messages: the answer is the one that would have come unstreamed."""

import json
from typing import Any

import pytest

from promptkit_rpc.errors import Reason
from promptkit_rpc.generation import Answer, FinishReason
from promptkit_rpc.usage import TokenCounts
from tests.support.calls import Sink, anthropic, call, error
from tests.support.provider import Provider, Step, events, message, streamed_message

STOP = {"type": "message_stop"}


def text(words: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "delta": {"type": "text_delta", "text": words}}


async def streamed(*steps: Step | dict[str, Any]) -> tuple[Answer, Sink]:
    sink = Sink()
    async with Provider() as provider:
        data = (json.dumps(step) if isinstance(step, dict) else step for step in steps)
        provider.always(events(*data))
        backend = anthropic(provider.url)
        answer = await backend.generate(call(deltas=sink))
        await backend.close()
    return answer, sink


async def test_pieces_are_passed_on_and_the_answer_equals_the_unstreamed_one() -> None:
    async with Provider() as provider:
        usage = {"output_tokens": 5}
        provider.play(streamed_message("Hel", "lo\n", usage=usage), message("Hello\n"))
        backend, sink = anthropic(provider.url), Sink()
        first = await backend.generate(call(deltas=sink))
        assert first == await backend.generate(call())
        assert sink.pieces == ["Hel", "lo\n"]
        await backend.close()


@pytest.mark.parametrize("name", ["delta", "message", "content_block"])
@pytest.mark.parametrize("value", [5, "word", [], {"type": 7}])
async def test_an_event_of_a_kind_that_is_not_known_may_hold_anything(
    name: str, value: Any
) -> None:
    unknown = {"type": "something_new", name: value}
    answer, _ = await streamed(text("a"), unknown, {"type": 5, name: value}, text("b"), STOP)
    assert answer.content == "ab"


@pytest.mark.parametrize(
    "fields", [{"message": "too much"}, {"error": "too much", "message": 5, "delta": 5}]
)
async def test_an_error_event_of_another_shape_is_one_too(fields: dict[str, Any]) -> None:
    """RET-1: and not an answer that cannot be read, which nobody would try again."""
    async with Provider() as provider:
        steps = [text("a"), {"type": "error", **fields}]
        provider.always(events(*map(json.dumps, steps)))
        failed = await error(anthropic(provider.url), call(deltas=Sink()))
        assert (failed.reason, failed.retryable) == (Reason.SERVER, True)
        assert failed.message.endswith("with an error inside: too much")


async def test_an_event_that_is_read_has_to_have_its_shape() -> None:
    """SEC-4."""
    async with Provider() as provider:
        provider.always(events(json.dumps({"type": "content_block_delta", "delta": 5})))
        failed = await error(anthropic(provider.url), call(deltas=Sink()))
        assert failed.reason is Reason.MALFORMED_RESPONSE


async def test_cumulative_usage_is_not_added_up() -> None:
    """USE-2, U-06."""
    answer, _ = await streamed(
        {"type": "message_start", "message": {"usage": {"input_tokens": 20, "output_tokens": 1}}},
        text("x"),
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 12}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 25, "input_tokens": None},
        },
        STOP,
    )
    assert answer.usage == TokenCounts(input_tokens=20, output_tokens=25, total_tokens=45)


async def test_cache_counts_of_the_start_are_kept() -> None:
    """USE-1."""
    usage = {"input_tokens": 1, "cache_read_input_tokens": 9, "output_tokens": 1}
    answer, _ = await streamed(
        {"type": "message_start", "message": {"usage": usage}},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 2}},
        STOP,
    )
    assert answer.usage == TokenCounts(
        input_tokens=10, output_tokens=2, total_tokens=12, cached_input_tokens=9
    )


async def test_only_text_is_passed_on() -> None:
    answer, sink = await streamed(
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "content_block": {"type": "thinking", "thinking": "h"}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "m"}},
        {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "x"}},
        {"type": "content_block_start", "content_block": {"type": "text", "text": "a"}},
        {"type": "ping"},
        text("b"),
        text(None),
        {"type": "some_event_to_come", "delta": {"type": "text_delta", "text": "no"}},
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{"}},
        {"type": "content_block_start", "content_block": {"type": "text", "text": "\ud83d"}},
        text("\ude00"),
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
        STOP,
    )
    assert answer.content == "ab\U0001f600" == sink.text
    assert answer.finish_reason is FinishReason.LENGTH


async def test_the_event_line_may_be_missing_or_wrong() -> None:
    answer, _ = await streamed(
        f"event: ping\ndata: {json.dumps(text('a'))}\n\n".encode(),
        b"data: : hi\n\n",
        text("b"),
        STOP,
    )
    assert answer.content == "ab"


@pytest.mark.parametrize(
    ("details", "words"),
    [({"explanation": "Not this."}, "Not this."), ({"explanation": ""}, None), (None, None)],
)
async def test_a_refusal_keeps_its_text_and_the_providers_words(
    details: Any, words: str | None
) -> None:
    """S-11."""
    answer, _ = await streamed(
        text("I can"),
        {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}},
        STOP,
    )
    assert (answer.content, answer.finish_reason) == ("I can", FinishReason.REFUSAL)
    assert answer.refusal == words
