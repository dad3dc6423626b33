"""The client as a host: its own model answers, its own store gives the keys."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.peer import Call
from tests.support.session import Client, attached, hosted
from tests.support.workspace import Workspace

GENERATE = "promptkit/backend/generate"


async def ask(client: Client, **more: Any) -> Any:
    params = {"promptId": "ask", "variables": {"text": "x"}} | more
    return await client.request("promptkit/run", params)


async def refused(client: Client) -> Any:
    return await client.refused("promptkit/run", {"promptId": "ask", "variables": {"text": "x"}})


async def test_the_host_is_asked_with_everything_and_answers_all_of_it(tmp_path: Path) -> None:
    """ENG-1, USE-1, CFG-7."""
    asked: list[Any] = []

    def generate(params: Any, _: Call) -> Any:
        asked.append(params)
        return {
            "content": '{"n": 1}',
            "finishReason": "length",
            "usage": {"inputTokens": 3, "outputTokens": -1, "totalTokens": "9"},
        }

    async with attached(hosted(tmp_path).root) as client:
        client.answers(GENERATE, {"content": "first"})
        base = await ask(client, capture=True)
        client.on(GENERATE, generate)
        result = await ask(
            client,
            continueFrom=base["runId"],
            sessionId="s",
            parameters={"temperature": 0, "maxTokens": 7},
            output={"format": "json"},
            messages=[{"role": "user", "content": "ü", "cache": {"k": "v"}}],
        )
    assert asked == [
        {
            "runId": result["runId"],
            "attempt": 1,
            "backend": "host",
            "promptId": "ask",
            "model": "m",
            "parameters": {"temperature": 0, "maxTokens": 7},
            "output": {"format": "json", "repairs": 0},
            "messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": "first"},
                {"role": "user", "content": "x"},
                {"role": "user", "content": "ü", "cache": {"k": "v"}},
            ],
            "sessionId": "s",
        }
    ]
    assert (result["content"], result["finishReason"]) == ('{"n": 1}', "length")
    assert result["usage"]["inputTokens"] == {"value": 3, "complete": True}
    assert result["usage"]["outputTokens"] == {"value": None, "complete": False}
    assert result["usage"]["totalTokens"] == {"value": None, "complete": False}


async def test_the_host_may_stream_and_its_answer_is_whole_all_the_same(tmp_path: Path) -> None:
    async with attached(hosted(tmp_path).root) as client:

        def generate(params: Any, _: Call) -> Any:
            token = params["partialResultToken"]
            for piece in ({"text": "on"}, {"text": "e"}, {"other": 1}, "text", {"text": 5}):
                client.notify("$/progress", {"token": token, "value": piece})
            client.notify("$/progress", {"token": "not mine", "value": {"text": "lost"}})
            client.notify("$/progress", {"value": {"text": "lost"}})
            return {"content": "one"}

        client.on(GENERATE, generate)
        result = await ask(client, partialResultToken="t")
        assert result["content"] == "one"
        assert client.progress("t") == [
            {"attempt": 1, "text": "on"},
            {"attempt": 1, "text": "e"},
        ]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            RpcError(
                1, "slow down", {"reason": "rateLimited", "httpStatus": 429, "retryable": False}
            ),
            {"reason": "rateLimited", "httpStatus": 429, "retryable": False, "attempts": 1},
        ),
        (
            RpcError(1, "too long", {"reason": "contextLength"}),
            {"reason": "contextLength", "retryable": False, "attempts": 1},
        ),
        (
            RpcError(1, "no idea", {"reason": "bored", "retryAfterMs": 10**400}),
            {"reason": "server", "retryable": False, "attempts": 1},
        ),
        (RpcError(1, "no data"), {"reason": "server", "retryable": False, "attempts": 1}),
        (RpcError(-32601, "no"), {"reason": "badRequest", "retryable": False, "attempts": 1}),
    ],
)
async def test_the_hosts_error_is_a_failed_generation(
    tmp_path: Path, error: RpcError, expected: dict[str, Any]
) -> None:
    """ENG-5."""

    def fail(_params: Any, _: Call) -> Any:
        raise error

    async with attached(hosted(tmp_path).root) as client:
        client.on(GENERATE, fail)
        answer = await refused(client)
    assert answer.data["kind"] == "generationFailed"
    assert {name: answer.data.get(name) for name in expected} == expected


async def test_a_passing_trouble_of_the_host_is_tried_again(tmp_path: Path) -> None:
    """RET-1."""
    calls: list[int] = []

    def generate(params: Any, _: Call) -> Any:
        calls.append(params["attempt"])
        if len(calls) == 1:
            raise RpcError(1, "busy", {"reason": "overloaded", "retryAfterMs": 1})
        return {"content": "there"}

    retry = {"attempts": 2, "baseDelay": 0.001, "maxDelay": 0.01}
    async with attached(hosted(tmp_path, retry=retry).root) as client:
        client.on(GENERATE, generate)
        result = await ask(client)
    assert calls == [1, 2]
    assert result["transientRetries"] == 1


@pytest.mark.parametrize("answered", [None, "text", {}, {"content": None}, {"text": "x"}])
async def test_an_answer_of_another_shape_is_a_failed_generation(
    tmp_path: Path, answered: Any
) -> None:
    """SEC-4."""
    async with attached(hosted(tmp_path).root) as client:
        client.answers(GENERATE, answered)
        error = await refused(client)
    assert (error.data["reason"], error.data["retryable"]) == ("malformedResponse", False)
    assert error.data["origin"] == "promptkit"


def keyed(root: Path) -> Workspace:
    made = Workspace(root).settings(
        backends={"script": {"kind": "scripted", "credential": {"client": "team-key"}}},
        profiles={"p": {"backend": "script", "model": "m"}},
    )
    return made.prompt("ask", "{{ text }}", profile="p")


async def test_a_key_is_asked_for_by_name_for_each_run_anew(tmp_path: Path) -> None:
    """CFG-4, SEC-1."""
    asked: list[Any] = []

    def get(params: Any, _: Call) -> Any:
        asked.append(params)
        return {"credential": "sk-canary-1234567890"}

    async with attached(keyed(tmp_path).root) as client:
        client.on("promptkit/credential/get", get)
        for _ in range(2):
            await ask(client, capture=True, observe="t")
        assert asked == [{"name": "team-key"}] * 2
        await ask(client, credential="sk-other-1234567890")
        assert len(asked) == 2
        assert "canary" not in str(client.told)


@pytest.mark.parametrize(
    ("answered", "why"),
    [
        ({}, "has no credential 'team-key'"),
        ({"credential": None}, "has no credential 'team-key'"),
        ({"credential": ""}, "team-key"),
        ({"credential": 5}, "'team-key': result.credential: expected a string, got an integer"),
        (None, "'team-key': result: expected an object, got null"),
        (RpcError(5, "locked"), "'team-key': locked"),
    ],
)
async def test_without_a_key_the_run_fails_and_nothing_else_is_tried(
    tmp_path: Path, answered: Any, why: str
) -> None:
    """CFG-4."""

    def get(_params: Any, _: Call) -> Any:
        if isinstance(answered, RpcError):
            raise answered
        return answered

    async with attached(keyed(tmp_path).root) as client:
        client.on("promptkit/credential/get", get)
        error = await refused(client)
    assert error.data["kind"] == "credentialMissing"
    assert why in error.message


async def test_cancelling_a_run_cancels_what_it_asked_of_the_client(tmp_path: Path) -> None:
    """RET-3."""
    async with attached(keyed(tmp_path).root) as client:

        async def never(_params: Any, call: Call) -> Any:
            client.cancel("w")
            with call.signal.scope():
                await _forever()

        client.on("promptkit/credential/get", never)
        error = await client.refused(
            "promptkit/run", {"promptId": "ask", "variables": {"text": "x"}, "workDoneToken": "w"}
        )
        assert error.code == -32800


async def _forever() -> None:
    await asyncio.Event().wait()
