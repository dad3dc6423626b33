"""Callbacks, watching and hosting, with a running daemon."""

import asyncio
from pathlib import Path

import pytest

from promptkit_client import (
    STOP,
    Action,
    CallbackInvalid,
    Client,
    Continue,
    GenerateError,
    GenerationFailed,
    Turn,
    connect,
    watch,
)
from promptkit_client.types import GenerateParams, Observation, RunResult, TextDelta

ADA = {"name": "Ada"}
AGAIN = Continue("hello", variables=ADA)


async def start(client: Client) -> RunResult:
    return await client.run("hello", variables=ADA, capture=True)


async def test_a_callback_may_run_anything_at_capacity_one(client: Client) -> None:
    seen: list[str] = []

    async def next_action(turn: Turn) -> Action:
        inner = await client.run("hello", variables={"name": str(turn.delivery_index)})
        seen.append(inner.content)
        return AGAIN if turn.remaining_turns else STOP

    async with asyncio.timeout(60):
        first = await start(client)
        branches = (client.coordinate(first, next_action, additional_turns=2) for _ in range(3))
        ended = await asyncio.gather(*branches)
    assert [one.outcome for one in ended] == ["stopped"] * 3
    assert len(seen) == 9


async def test_what_a_callback_raises_is_raised_the_very_object(client: Client) -> None:
    error = KeyError("lost")

    async def next_action(_: Turn) -> Action:
        raise error

    with pytest.raises(KeyError) as raised:
        await client.coordinate(await start(client), next_action, additional_turns=1)
    assert raised.value is error


async def test_an_error_of_a_run_in_a_callback_keeps_its_kind(client: Client) -> None:
    async def next_action(_: Turn) -> Action:
        await client.run("nothing/here")
        return STOP

    with pytest.raises(Exception, match="nothing/here") as raised:
        await client.coordinate(await start(client), next_action, additional_turns=1)
    assert getattr(raised.value, "kind", None) == "promptNotFound"


async def test_an_error_of_a_turn_is_not_taken_for_the_callbacks(client: Client) -> None:
    async def next_action(_: Turn) -> Action:
        return Continue("hello")

    with pytest.raises(Exception, match="'name' is not set"):
        await client.coordinate(await start(client), next_action, additional_turns=1)


async def test_a_callback_that_gives_no_action_is_told_so(client: Client) -> None:
    async def next_action(_: Turn) -> Action:
        return None  # type: ignore[return-value]  # the point

    with pytest.raises(TypeError, match=r"Continue\(…\) or STOP, not None"):
        await client.coordinate(await start(client), next_action, additional_turns=1)


async def test_a_callback_timeout_ends_the_branch(client: Client) -> None:
    async def next_action(_: Turn) -> Action:
        await asyncio.Event().wait()
        return STOP

    async with asyncio.timeout(60):
        first = await start(client)
        with pytest.raises(CallbackInvalid, match="callbackTimeoutMs"):
            await client.coordinate(first, next_action, additional_turns=1, callback_timeout=0.02)


async def test_an_observer_that_raises_ends_the_run_with_its_error(client: Client) -> None:
    error = ZeroDivisionError()

    def observe(seen: Observation) -> None:
        if seen.seq == 1:
            raise error

    with pytest.raises(ZeroDivisionError) as raised:
        await client.run("hello", variables=ADA, on_event=observe)
    assert raised.value is error
    assert (await client.status()).runs.active == 0


async def test_an_observer_that_raises_ends_a_run_that_would_go_on(samples: Path) -> None:
    async def generate(_: GenerateParams) -> str:
        await asyncio.Event().wait()
        return ""

    def observe(seen: Observation) -> None:
        if seen.event.kind == "attemptStarted":
            raise ZeroDivisionError

    async with connect(samples, generate=generate) as client, asyncio.timeout(60):
        with pytest.raises(ZeroDivisionError):
            await client.run("hello", variables=ADA, profile="host", on_event=observe)
        assert (await client.status()).runs.active == 0


async def test_a_watched_run_may_be_read_twice_and_after_its_end(client: Client) -> None:
    async with watch(client.run, "hello", variables=ADA) as running:
        done = await running
        events = [seen.event.kind async for seen in running.events]
        pieces = [piece async for piece in running.deltas]
        both = [item async for item in running]
    text = "".join([piece.text for piece in pieces if isinstance(piece, TextDelta)])
    assert text == done.content
    assert len(both) > len(events) == 5


async def test_the_error_of_a_watched_run_is_not_lost(client: Client) -> None:
    with pytest.raises(Exception, match="nothing/here"):
        async with watch(client.run, "nothing/here") as running:
            assert [seen async for seen in running.events] == []


async def test_a_hosts_failure_says_why_and_is_tried_again(samples: Path) -> None:
    calls: list[GenerateParams] = []

    async def generate(call: GenerateParams) -> str:
        calls.append(call)
        if call.attempt == 1:
            raise GenerateError("busy", reason="overloaded", retry_after=0.001)
        raise GenerateError("too long", reason="contextLength", http_status=400)

    async with connect(samples, generate=generate) as client:
        with pytest.raises(GenerationFailed, match="too long") as raised:
            await client.run("hello", variables=ADA, profile="host")
    assert (raised.value.reason, raised.value.http_status) == ("contextLength", 400)
    assert raised.value.run_id == calls[0].run_id
    assert not raised.value.retryable
    assert len(calls) == 2


async def test_without_a_model_the_server_is_told(client: Client) -> None:
    with pytest.raises(GenerationFailed, match="promptkit/backend/generate"):
        await client.run("hello", variables=ADA, profile="host")


async def test_the_host_gives_the_keys(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "hello.prompt.yaml").write_text(
        "profile: main\nmessages: [{role: user, content: hello}]\n"
    )
    (tmp_path / "promptkit.yaml").write_text(
        "version: 1\nbackends: {main: {kind: openai, baseUrl: 'http://127.0.0.1:9/v1',"
        " credential: {client: work}, retry: {attempts: 1}}}\n"
        "profiles: {main: {backend: main, model: m}}\n"
    )
    asked: list[str] = []

    async def credential(name: str) -> str | None:
        asked.append(name)
        return None

    async with connect(tmp_path, credential=credential) as client:
        with pytest.raises(Exception, match="no credential 'work'") as raised:
            await client.run("hello")
    assert getattr(raised.value, "kind", None) == "credentialMissing"
    assert asked == ["work"]


async def test_pages_joined_are_the_whole(client: Client) -> None:
    first = await client.run("research/study", variables={"case": "bridge"}, capture=True)
    whole = await client.details(first)
    pages = [page async for page in client.pages(first, max_bytes=1)]
    assert [message for page in pages for message in page.messages] == list(whole.messages)
    assert pages[-1].content == whole.content


async def test_a_limit_in_seconds_is_one_in_milliseconds(samples: Path) -> None:
    async def generate(_: GenerateParams) -> str:
        await asyncio.Event().wait()
        return ""

    async with connect(samples, generate=generate) as client, asyncio.timeout(60):
        with pytest.raises(Exception, match=r"0\.05 s") as raised:
            await client.run("hello", variables=ADA, profile="host", timeout=0.05)
    assert getattr(raised.value, "kind", None) == "deadlineExceeded"


async def test_an_unknown_option_is_refused_by_name(client: Client) -> None:
    with pytest.raises(TypeError, match="varables"):
        await client.run("hello", varables=ADA)  # type: ignore[call-arg]  # the point


async def test_watching_leaves_no_function_uncalled(client: Client) -> None:
    with pytest.raises(TypeError, match="watch sets on_event itself"):
        async with watch(client.run, "hello", on_event=print):
            pass
