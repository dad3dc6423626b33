"""What a provider's misbehaviour becomes, in the same way for every kind."""

from email.utils import formatdate
from typing import Any

import pytest

from promptkit_rpc.errors import Origin, Reason
from promptkit_rpc.usage import UNKNOWN
from tests.support.calls import NOW, anthropic, error, failure, openai
from tests.support.provider import (
    Provider,
    Script,
    answered,
    refusal,
    respond,
)

QUOTA = {
    "error": {
        "message": "You exceeded your current quota",
        "type": "insufficient_quota",
        "code": "insufficient_quota",
    }
}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def said(words: str) -> dict[str, Any]:
    return {"error": {"message": words}}


@pytest.mark.parametrize("status", [404, 405])
async def test_where_there_is_nothing_it_is_told_what_was_asked_for(status: int) -> None:
    """ENG-5: a base URL is easily given with too little or too much of its path."""
    for make, path in ((openai, "/chat/completions"), (anthropic, "/v1/messages")):
        async with Provider() as provider:
            provider.always(refusal(status, said("Not Found")))
            failed = await error(make(provider.url))
            words = f"answered {status}: Not Found (asked for {path} below baseUrl)"
            assert failed.message.endswith(words)


@pytest.mark.parametrize(
    ("script", "reason", "retryable", "billed"),
    [
        (refusal(400, said("no such field")), Reason.BAD_REQUEST, False, False),
        (refusal(401, said("bad key")), Reason.AUTHENTICATION, False, False),
        (refusal(402, said("pay first")), Reason.QUOTA, False, False),
        (refusal(403, said("not yours")), Reason.AUTHENTICATION, False, False),
        (refusal(404, said("no such model")), Reason.BAD_REQUEST, False, False),
        (refusal(408, said("too slow")), Reason.TIMEOUT, True, False),
        (refusal(409, said("busy")), Reason.SERVER, True, False),
        (refusal(422, said("no such schema")), Reason.BAD_REQUEST, False, False),
        (refusal(429, said("slow down")), Reason.RATE_LIMITED, True, False),
        (refusal(429, QUOTA), Reason.QUOTA, False, False),
        (refusal(500, said("oops")), Reason.SERVER, True, True),
        (refusal(502, said("bad gateway")), Reason.SERVER, True, True),
        (refusal(503, said("full")), Reason.OVERLOADED, True, True),
        (refusal(504, said("late")), Reason.TIMEOUT, True, True),
        (refusal(529, OVERLOADED), Reason.OVERLOADED, True, True),
        (
            refusal(400, {"error": {"message": "x", "code": "context_length_exceeded"}}),
            Reason.CONTEXT_LENGTH,
            False,
            False,
        ),
        (
            refusal(400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}),
            Reason.CONTEXT_LENGTH,
            False,
            False,
        ),
        (
            refusal(400, {"error": {"message": "x", "code": "content_filter"}}),
            Reason.CONTENT_FILTER,
            False,
            False,
        ),
    ],
)
async def test_each_refusal_has_its_reason(
    script: Script, reason: Reason, *, retryable: bool, billed: bool
) -> None:
    """RET-1, CFG-8, T-04, T-06."""
    for make in (openai, anthropic):
        async with Provider() as provider:
            provider.always(script)
            backend = make(provider.url)
            failed = await failure(backend)
            found = failed.error
            assert (found.reason, found.retryable, found.billed) == (reason, retryable, billed)
            assert found.origin is Origin.PROVIDER
            assert failed.usage == UNKNOWN
            assert len(provider.requests) == 1
            await backend.close()


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (("Retry-After", "7"), 7.0),
        (("Retry-After", formatdate(NOW + 2, usegmt=True)), 2.0),
        (("Retry-After", "Fri, 01 May 2015 10:00:00 GMT"), 0.0),
        (("Retry-After", "-5"), 0.0),
        (("Retry-After", "0"), 0.0),
        (("retry-after-ms", "250"), 0.25),
        (("Retry-After", "presently"), None),
    ],
)
async def test_when_to_come_back_is_told(header: tuple[str, str], seconds: float | None) -> None:
    """RET-2, T-01."""
    async with Provider() as provider:
        provider.always(refusal(429, said("slow down"), header))
        backend = openai(provider.url)
        assert (await error(backend)).retry_after == seconds
        await backend.close()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "the words", "type": "x"}}, "the words"),
        ({"error": "the words"}, "the words"),
        ({"message": "the words"}, "the words"),
        ({"detail": "the words"}, "the words"),
        ([{"error": {"message": "the words"}}], "the words"),
        ({"error": {"message": None}}, "application/json"),
        ("just text", "just text"),
    ],
)
async def test_the_providers_own_words_are_passed_on(body: Any, words: str) -> None:
    """T-16."""
    async with Provider() as provider:
        provider.always(refusal(418, body))
        backend = openai(provider.url)
        failed = await error(backend)
        assert words in failed.message
        assert f"127.0.0.1:{provider.port} answered 418" in failed.message
        await backend.close()


async def test_a_page_where_an_error_was_expected_is_named_and_shown_in_short() -> None:
    """RET-1, T-16."""
    page = b"<html>\n<h1>502</h1>" + b"x" * 100_000 + b"</html>"
    async with Provider() as provider:
        provider.always(respond(502, page, kind="text/html; charset=utf-8"))
        backend = openai(provider.url)
        failed = await error(backend)
        assert failed.retryable
        assert "(text/html)" in failed.message
        assert "<html> <h1>502</h1>" in failed.message
        assert len(failed.message) < 500
        await backend.close()


@pytest.mark.parametrize(
    "script",
    [
        respond(200, b"<html>login</html>", kind="text/html"),
        respond(200, b""),
        respond(204, b""),
        respond(200, b"null"),
        respond(200, b"5"),
        respond(200, b"[]"),
        respond(200, b"{}"),
        respond(200, b'"text"'),
        respond(200, b'{"choices": null, "content": null}'),
        respond(200, b'{"choices": [], "content": 5}'),
        respond(200, b'{"choices": [null], "content": {}}'),
        respond(200, b'{"choices": {"0": 1}, "content": "text"}'),
        respond(200, b'{"choices": [{"index": 0}]}'),
        respond(200, b'{"choices": [{"message": {"content": 5}}]}'),
        respond(200, b'{"choices": [{"message": {"content": {"text": "x"}}}]}'),
        respond(200, b'{"choices": [{"message": "hi"}]}'),
        respond(200, b"\xff\xfe\x00"),
        respond(200, b"[" * 100_000),
        respond(200, b'{"choices": ' + b"[" * 100_000),
    ],
)
async def test_a_success_without_an_answer_is_malformed_and_not_tried_again(
    script: Script,
) -> None:
    """SEC-4, T-16."""
    for make in (openai, anthropic):
        async with Provider() as provider:
            provider.always(script)
            backend = make(provider.url)
            failed = await error(backend)
            assert failed.reason is Reason.MALFORMED_RESPONSE
            assert not failed.retryable
            assert failed.billed
            assert failed.http_status in (200, 204)
            assert " answered 20" in failed.message
            await backend.close()


async def test_a_malformed_answer_keeps_what_usage_it_reports() -> None:
    """USE-2."""
    async with Provider() as provider:
        provider.always(answered({"choices": [], "usage": {"prompt_tokens": 7}}))
        backend = openai(provider.url)
        assert (await failure(backend)).usage.input_tokens == 7
        await backend.close()


@pytest.mark.parametrize(
    ("body", "reason", "status"),
    [
        ({"error": {"message": "slow", "code": 429}}, Reason.RATE_LIMITED, 429),
        ({"error": {"message": "slow", "code": "429"}}, Reason.RATE_LIMITED, 429),
        ({"error": "full", "status": 503}, Reason.OVERLOADED, 503),
        (OVERLOADED, Reason.OVERLOADED, 529),
        ({"error": {"message": "x", "type": "invalid_request_error"}}, Reason.BAD_REQUEST, 400),
        ({"error": {"message": "who knows"}}, Reason.SERVER, 200),
        (QUOTA, Reason.QUOTA, 429),
    ],
)
async def test_a_success_with_an_error_inside_is_that_error(
    body: Any, reason: Reason, status: int
) -> None:
    """RET-1."""
    for make in (openai, anthropic):
        async with Provider() as provider:
            provider.always(answered(body))
            backend = make(provider.url)
            failed = await error(backend)
            assert (failed.reason, failed.http_status) == (reason, status)
            await backend.close()


async def test_a_choice_that_is_an_error_is_no_answer() -> None:
    """RET-1."""
    choice = {"message": {"content": "half"}, "finish_reason": "error"}
    async with Provider() as provider:
        provider.play(
            answered({"choices": [choice]}),
            answered({"choices": [{**choice, "error": {"message": "gone", "code": 502}}]}),
            answered({"object": "error", "message": "no model", "code": 404}),
        )
        backend = openai(provider.url)
        assert (await error(backend)).reason is Reason.SERVER
        assert (await error(backend)).http_status == 502
        assert (await error(backend)).reason is Reason.BAD_REQUEST
        await backend.close()
