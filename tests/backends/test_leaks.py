"""Keys of all sorts, and every text that a call can leave behind."""

import asyncio
import base64
import logging
import pickle
import traceback
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from promptkit_rpc.definitions.settings import HeaderValue, Timeouts
from promptkit_rpc.errors import PromptKitError
from promptkit_rpc.generation import CallFailed, FinishReason
from promptkit_rpc.secret import Secret
from tests.support.calls import Sink, anthropic, call, failure, openai
from tests.support.provider import (
    End,
    Provider,
    Script,
    completion,
    delta,
    events,
    redirect,
    refusal,
    respond,
)

KEY = "sk-canary-DDDD/+x"


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def left_behind(failed: CallFailed) -> str:
    """Everything that could be printed of a failure."""
    parts: list[str] = []
    for top in (failed, failed.error):
        for error in chain(top):
            parts += [repr(error), str(error), repr(error.args), repr(vars(error))]
            parts += traceback.format_exception(error)
    return "\n".join(parts)


def echoes(text: str) -> list[Script]:
    """A provider that sends back what it was sent, in many ways."""
    return [
        refusal(401, {"error": {"message": f"Incorrect API key provided: {text}."}}),
        refusal(500, {"error": text}),
        respond(401, f"<html>{text}</html>".encode(), kind="text/html"),
        respond(200, f"no JSON: {text}".encode()),
        respond(200, ("x" * 150 + text).encode()),
        respond(403, ("y" * 385 + text).encode(), kind="text/plain"),
        respond(200, b"{}", kind=f"text/{text}"),
        redirect(f"/login?next=a&key={quote(text)}"),
        redirect(f"/{text}"),
        events(delta("a"), f"{{broken {text}"),
        (f"HTTP/1.1 200 {text}\r\nBad Header: {text}\r\n\r\n".encode(), End.CLOSE),
        (End.CLOSE,),
        (*respond(200, text.encode(), length=500), End.CLOSE),
        (End.NEVER,),
    ]


@pytest.mark.parametrize("number", range(len(echoes(""))))
async def test_no_failure_shows_a_key_that_the_provider_echoes(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-1, K-03, K-09: of the credential, of secret headers and of the URL."""
    spellings = [KEY, quote(KEY, safe=""), base64.b64encode(f"x:{KEY}".encode()).decode()]
    caplog.set_level(logging.DEBUG)
    for spelled in (*spellings, "canary-HEADER", "canary-EEEE"):
        for make in (openai, anthropic):
            async with Provider() as provider:
                provider.always(echoes(spelled)[number])
                backend = make(
                    f"{provider.url}/?key=canary-EEEE",
                    headers=(("X-Gate-Key", HeaderValue("canary-HEADER")),),
                    timeouts=Timeouts(read=0.02),
                )
                failed = await failure(backend, call(key=KEY, deltas=Sink()))
                await backend.close()
            shown = left_behind(failed)
            assert "canary" not in shown
            assert base64.b64encode(KEY.encode()).decode()[4:16] not in shown
    assert "canary" not in caplog.text


async def test_a_refused_connection_shows_no_part_of_the_url(unused_tcp_port: int) -> None:
    """K-04."""
    backend = openai(f"http://me:canary-PW@127.0.0.1:{unused_tcp_port}/?key=canary-EEEE")
    failed = await failure(backend)
    assert f"127.0.0.1:{unused_tcp_port}" in failed.error.message
    assert "canary" not in left_behind(failed)


async def test_the_key_in_the_url_and_its_login_are_sent() -> None:
    """K-04."""
    async with Provider() as provider:
        provider.always(completion())
        url = provider.url.replace("//", "//me:canary-PW@")
        backend = openai(f"{url}/a?key=canary-EEEE")
        await backend.generate(call())
        await backend.close()
        request = provider.requests[0]
        assert request.target == "/a/chat/completions?key=canary-EEEE"
        login = request.headers["authorization"].removeprefix("Basic ")
        assert base64.b64decode(login) == b"me:canary-PW"


async def test_a_model_that_says_the_key_is_not_quoted() -> None:
    """SEC-1: in content and refusal, whole or streamed; a word that only resembles it stays."""
    async with Provider() as provider:
        provider.play(
            completion(f"it is {KEY}!", refusal=f"not {KEY}"),
            events(*(delta(c) for c in f"it is {KEY}!"), delta(finish="stop"), "[DONE]"),
            completion("sk-canary is a bird"),
        )
        backend, sink = openai(provider.url), Sink()
        whole = await backend.generate(call(key=KEY))
        assert (whole.content, whole.refusal) == ("it is ***!", "not ***")
        assert whole.finish_reason is FinishReason.REFUSAL
        streamed = await backend.generate(call(key=KEY, deltas=sink))
        assert streamed.content == "it is ***!" == sink.text
        assert (await backend.generate(call(key=KEY))).content == "sk-canary is a bird"
        await backend.close()


async def test_a_short_key_costs_no_words() -> None:
    """SEC-1: servers without keys are given words as keys."""
    async with Provider() as provider:
        provider.always(completion("run it with ollama"))
        backend = openai(provider.url)
        assert (await backend.generate(call(key="ollama"))).content == "run it with ollama"
        await backend.close()


async def test_neither_a_call_nor_a_backend_shows_a_key() -> None:
    """SEC-1, K-09."""
    async with Provider() as provider:
        provider.always(completion())
        backend = openai(provider.url, headers=(("X-Gate", HeaderValue(env="HOME")),))
        made = call(key=KEY)
        await backend.generate(made)
        shown = [repr(made), str(made), repr(backend), repr(vars(backend)), repr(backend.settings)]
        assert "canary" not in "".join(shown)
        with pytest.raises(TypeError):
            pickle.dumps(made.credential)
        await backend.close()


async def test_a_header_from_the_environment_is_redacted_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SEC-1, K-03."""
    monkeypatch.setenv("TEST_GATE", "canary-ENVIRONMENT\r")
    async with Provider() as provider:
        provider.always(refusal(403, {"error": "no entry for canary-ENVIRONMENT"}))
        backend = openai(provider.url, headers=(("X-Gate", HeaderValue(env="TEST_GATE")),))
        failed = await failure(backend)
        assert provider.requests[0].headers["x-gate"] == "canary-ENVIRONMENT"
        assert "no entry for ***" in failed.error.message
        monkeypatch.delenv("TEST_GATE")
        with pytest.raises(PromptKitError, match="TEST_GATE"):
            await backend.generate(call())
        await backend.close()


async def test_no_key_is_held_after_its_call() -> None:
    """OWN-4, CFG-4: a direct key is used for one call."""
    async with Provider() as provider:
        provider.always(completion())
        backend = openai(provider.url)
        await backend.generate(call(key=KEY))
        await backend.generate(call())
        await asyncio.sleep(0)
        assert "authorization" not in provider.requests[1].headers
        await backend.close()
    assert Secret("x") is not None
