"""Answers that break off, are no HTTP, have no bounds, or come as a stream with a fault in it."""

import asyncio
import gzip
import json
from typing import Any

import pytest

from promptkit_rpc.backends.http import endpoint
from promptkit_rpc.definitions.settings import Timeouts
from promptkit_rpc.errors import Reason
from promptkit_rpc.generation import FinishReason
from promptkit_rpc.usage import UNKNOWN, TokenCounts
from tests.support.calls import Sink, anthropic, call, error, failure, openai
from tests.support.provider import (
    End,
    Provider,
    Script,
    chunks,
    completion,
    delta,
    events,
    message,
    redirect,
    respond,
)

OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize(
    ("script", "progress"),
    [
        ((*respond(200, b'{"cho' + b" " * 115, length=500), End.CLOSE), "120 of 500 bytes"),
        ((*respond(200, b'{"cho' + b" " * 115, length=500), End.HALF_CLOSE), "120 of 500 bytes"),
        ((*chunks(b'{"choices"', end=False), b"40\r\n[{", End.CLOSE), "12 bytes"),
        (
            (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", b'{"ch', End.CLOSE),
            "4 bytes",
        ),
        ((b"HTTP/1.1 200 OK\r\nContent-", End.CLOSE), ""),
    ],
)
async def test_a_body_that_breaks_off_may_be_tried_again(script: Script, progress: str) -> None:
    """RET-1, T-08."""
    async with Provider() as provider:
        provider.play(script, completion("whole"))
        backend = openai(provider.url)
        failed = await error(backend)
        assert (failed.reason, failed.retryable, failed.billed) == (Reason.CONNECTION, True, True)
        assert "broke off" in failed.message
        assert progress in failed.message
        assert failed.http_status == (200 if progress else None)
        assert (await backend.generate(call())).content == "whole"
        await backend.close()


async def test_a_reset_inside_the_body_may_be_tried_again() -> None:
    """RET-1, T-08."""
    async with Provider() as provider:
        sent = asyncio.Event()
        provider.play((*respond(200, b'{"cho', length=500), sent, End.RESET))
        backend = openai(provider.url)
        running = asyncio.ensure_future(error(backend))
        await provider.arrived(1)
        sent.set()
        failed = await running
        assert (failed.reason, failed.retryable) == (Reason.CONNECTION, True)
        await backend.close()


async def test_a_body_that_ends_with_its_connection_is_whole_when_its_json_is() -> None:
    """T-08."""
    body = completion("until the end")[1]
    async with Provider() as provider:
        provider.always(
            (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", body, End.CLOSE)
        )
        backend = openai(provider.url)
        assert (await backend.generate(call())).content == "until the end"
        await backend.close()


@pytest.mark.parametrize(
    "garbage",
    [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", b"\x15\x03\x01\x00\x02\x02", b"HTTP/1.1 abc Hm\r\n\r\n"],
)
async def test_what_is_no_http_is_malformed(garbage: bytes) -> None:
    """SEC-4."""
    async with Provider() as provider:
        provider.always((garbage + b"\r\n" * 4, End.NEVER))
        failed = await error(openai(provider.url))
        assert failed.reason is Reason.MALFORMED_RESPONSE
        assert "HTTP" in failed.message


async def test_a_head_that_never_ends_is_malformed() -> None:
    """SEC-4."""
    async with Provider() as provider:
        provider.always((b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, End.NEVER))
        failed = await error(openai(provider.url))
        assert failed.reason is Reason.MALFORMED_RESPONSE
        assert "its head is longer than 102400 bytes" in failed.message


async def test_an_answer_without_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """SEC-4: bytes are counted after decompression."""
    monkeypatch.setattr(endpoint, "LONGEST_ANSWER", 100_000)
    bomb = gzip.compress(json.dumps({"pad": "x" * 10_000_000}).encode())
    async with Provider() as provider:
        provider.play(
            respond(200, b" " * 100_001),
            respond(200, bomb, headers=[("Content-Encoding", "gzip")]),
            (*events("x" * 100_001), End.NEVER),
        )
        backend = openai(provider.url)
        for deltas in (None, None, Sink()):
            failed = await error(backend, call(deltas=deltas))
            assert failed.reason is Reason.MALFORMED_RESPONSE
            assert "longer than 100000 bytes" in failed.message
        await backend.close()


async def test_an_answer_that_is_cut_at_the_bound_is_not_read_as_one_that_ended_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SEC-4, RET-1: also where a piece of it ends at the very bound."""
    monkeypatch.setattr(endpoint, "LONGEST_ANSWER", 2 * 256 * 1024)
    bomb = gzip.compress(json.dumps({"pad": "x" * 10_000_000}).encode())
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    async with Provider() as provider:
        provider.always((head, bomb, End.CLOSE))
        failed = await error(openai(provider.url))
        assert (failed.reason, failed.retryable) == (Reason.MALFORMED_RESPONSE, False)
        assert "longer than 524288 bytes" in failed.message


async def test_a_byte_order_mark_before_an_answer_or_an_error_is_skipped() -> None:
    mark = "\ufeff".encode()
    body = completion("whole")[1]
    assert isinstance(body, bytes)
    async with Provider() as provider:
        provider.play(
            respond(200, mark + body), respond(400, mark + b'{"error": {"message": "too much"}}')
        )
        backend = openai(provider.url)
        assert (await backend.generate(call())).content == "whole"
        assert (await error(backend)).message.endswith("answered 400: too much")
        await backend.close()


async def test_a_compressed_answer_is_understood_although_it_was_not_asked_for() -> None:
    body = completion("small")[1]
    assert isinstance(body, bytes)
    packed = gzip.compress(body)
    async with Provider() as provider:
        provider.play(
            respond(200, packed, headers=[("Content-Encoding", "gzip")]),
            respond(200, packed[:-9], headers=[("Content-Encoding", "gzip")]),
            respond(200, packed, headers=[("Content-Encoding", "br")]),
        )
        backend = openai(provider.url)
        assert (await backend.generate(call())).content == "small"
        assert provider.requests[0].headers["accept-encoding"] == "identity"
        for _ in range(2):
            assert (await error(backend)).reason is Reason.MALFORMED_RESPONSE
        await backend.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 304])
async def test_a_redirect_is_not_followed_anywhere(status: int) -> None:
    """SEC-1: neither prompt nor key goes to another origin."""
    async with Provider() as provider, Provider() as elsewhere:
        provider.always(redirect(f"{elsewhere.url}/v1?key=canary-EEEE", status))
        backend = openai(provider.url)
        failed = await error(backend, call(key="sk-canary-DDDD"))
        assert (failed.reason, failed.retryable, failed.billed) == (Reason.REDIRECT, False, False)
        assert failed.http_status == status
        assert f"{elsewhere.port}/v1?key=***" in failed.message
        assert not elsewhere.requests
        await backend.close()


async def test_early_hints_are_passed_over() -> None:
    async with Provider() as provider:
        provider.always((b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", *completion("after")))
        backend = openai(provider.url)
        assert (await backend.generate(call())).content == "after"
        await backend.close()


@pytest.mark.parametrize("end", [End.CLOSE, End.RESET])
async def test_a_stream_that_breaks_off_is_no_short_answer(end: End) -> None:
    """RET-1, T-08."""
    async with Provider() as provider:
        provider.always((*events(delta("half"), end=False), end))
        sink = Sink()
        failed = await error(openai(provider.url), call(deltas=sink))
        assert (failed.reason, failed.retryable) == (Reason.CONNECTION, True)
        assert "broke off" in failed.message


@pytest.mark.parametrize("end", [End.CLOSE, End.RESET, End.HALF_CLOSE, End.NEVER])
async def test_an_answer_that_is_said_to_be_finished_is_kept_however_its_stream_ends(
    end: End,
) -> None:
    """RET-1, RET-3, USE-1: it is paid for; of the usage is known what had come."""
    finish: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    finish["usage"] = {"input_tokens": 3, "output_tokens": 1}
    text = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "whole"}}
    for make, steps, usage in (
        (openai, [delta("whole"), delta(finish="stop")], UNKNOWN),
        (
            anthropic,
            [json.dumps(text), json.dumps(finish)],
            TokenCounts.reported(input_tokens=3, output_tokens=1),
        ),
    ):
        async with Provider() as provider:
            provider.play((*events(*steps, end=False), end))
            backend = make(provider.url, timeouts=Timeouts(read=0.2))
            sink = Sink()
            answer = await backend.generate(call(deltas=sink))
            assert (answer.content, answer.finish_reason) == ("whole", FinishReason.STOP)
            assert sink.text == "whole"
            assert answer.usage == usage
            await backend.close()


async def test_a_stream_that_ends_before_the_answer_does_is_no_short_answer() -> None:
    """RET-1, T-08."""
    text = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "half"}}
    for make, piece in ((openai, delta("half")), (anthropic, json.dumps(text))):
        async with Provider() as provider:
            provider.always(events(piece))
            backend, sink = make(provider.url), Sink()
            failed = await error(backend, call(deltas=sink))
            assert (failed.reason, failed.retryable) == (Reason.CONNECTION, True)
            assert sink.text == "half"
            await backend.close()


async def test_an_error_inside_a_stream_is_an_error_with_the_usage_so_far() -> None:
    """RET-1, USE-2, T-04."""
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 20}}}
    text = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "half"}}
    broken = f"event: error\ndata: {json.dumps(OVERLOADED)}\n\n".encode()
    async with Provider() as provider:
        provider.always(events(json.dumps(start), json.dumps(text), broken, json.dumps(text)))
        backend, sink = anthropic(provider.url), Sink()
        failed = await failure(backend, call(deltas=sink))
        assert (failed.error.reason, failed.error.http_status) == (Reason.OVERLOADED, 529)
        assert failed.error.retryable
        assert failed.usage.input_tokens == 20
        assert sink.text == "half"
        await backend.close()
    async with Provider() as provider:
        usage = json.dumps({"choices": [], "usage": {"prompt_tokens": 9}})
        provider.always(events(delta("half"), usage, json.dumps(OVERLOADED), "[DONE]"))
        backend = openai(provider.url)
        failed = await failure(backend, call(deltas=Sink()))
        assert failed.error.reason is Reason.OVERLOADED
        assert failed.usage.input_tokens == 9
        await backend.close()


@pytest.mark.parametrize("data", ["{broken", "5", "null", '{"choices": 5}', "hello"])
async def test_an_event_that_means_nothing_is_malformed(data: str) -> None:
    """SEC-4, T-14: no partial answer is kept as a whole one."""
    async with Provider() as provider:
        provider.always(events(delta("half"), data, delta("more", "stop"), "[DONE]"))
        backend = openai(provider.url)
        failed = await error(backend, call(deltas=Sink()))
        assert failed.reason is Reason.MALFORMED_RESPONSE
        assert data in failed.message
        await backend.close()


async def test_what_streams_unasked_or_does_not_stream_is_understood_alike() -> None:
    """Some gateways ignore `stream`."""
    async with Provider() as provider:
        provider.play(completion("whole"), events(delta("in parts", "stop"), "[DONE]"))
        backend, sink = openai(provider.url), Sink()
        assert (await backend.generate(call(deltas=sink))).content == "whole" == sink.text
        assert (await backend.generate(call())).content == "in parts"
        await backend.close()
    async with Provider() as provider:
        provider.play(message("whole"))
        backend, sink = anthropic(provider.url), Sink()
        assert (await backend.generate(call(deltas=sink))).content == "whole" == sink.text
        await backend.close()
