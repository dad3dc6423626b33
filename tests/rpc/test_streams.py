"""What a run tells while it goes on: observations, streamed text, progress for people."""

from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.rpc.errors import RpcError
from tests.support.session import Client, Gate, attached, hosted
from tests.support.workspace import Workspace, echoing

QUICK = {"attempts": 3, "baseDelay": 0.001, "maxDelay": 0.001}


async def ask(client: Client, **more: Any) -> Any:
    params = {"promptId": "ask", "variables": {"text": "x"}} | more
    return await client.request("promptkit/run", params)


def troubled(root: Path) -> Workspace:
    """Fails once with 429, breaks its contract once, then answers."""
    workspace = Workspace(root).scripted(
        {"fault": {"status": 429}, "times": 1},
        {"chunks": ["not ", "json"], "times": 1},
        {"chunks": ['{"n":', " 1}"], "usage": {"inputTokens": 5, "outputTokens": 2}},
        retry=QUICK,
    )
    return workspace.prompt(
        "ask", "{{ text }}", profile="p", output={"format": "json", "repairs": 1}
    )


async def test_every_event_comes_in_order_before_the_answer(tmp_path: Path) -> None:
    """OBS-1, OBS-2, U-01."""
    async with attached(troubled(tmp_path).root) as client:
        result = await ask(client, observe=7)
        seen = client.events(7)
        assert client.told[-1] == ("answer", result)
        assert {one["runId"] for one in seen} == {result["runId"]}
        assert [one["seq"] for one in seen] == list(range(len(seen)))
        assert [one["event"]["kind"] for one in seen] == [
            "runStarted",
            "admitted",
            "attemptStarted",
            "attemptFinished",
            "retryScheduled",
            "attemptStarted",
            "attemptFinished",
            "repairStarted",
            "attemptStarted",
            "attemptFinished",
            "runFinished",
        ]


async def test_events_have_the_fields_of_their_kind_and_no_content(tmp_path: Path) -> None:
    """OBS-2, DET-5, SEC-1."""
    async with attached(troubled(tmp_path).root) as client:
        result = await ask(client, observe="t", variables={"text": "canary-content"})
        events = [one["event"] for one in client.events("t")]
    assert all(isinstance(event.pop("time"), float) for event in events)
    started, admitted, first, failed, retry, _, _, repair, last, answered, finished = events
    assert started == {
        "kind": "runStarted",
        "promptId": "ask",
        "profile": "p",
        "backend": "script",
        "model": "m",
    }
    assert admitted == {"kind": "admitted", "waitedMs": 0}
    assert first == {"kind": "attemptStarted", "attempt": 1}
    assert failed["error"] == {
        "kind": "generationFailed",
        "reason": "rateLimited",
        "httpStatus": 429,
    }
    assert (retry["reason"], type(retry["delayMs"])) == ("rateLimited", int)
    assert repair == {"kind": "repairStarted", "violations": 1}
    assert last == {"kind": "attemptStarted", "attempt": 3}
    assert answered["usage"]["inputTokens"] == {"value": 5, "complete": True}
    assert answered["usage"]["reasoningTokens"] == {"value": None, "complete": False}
    assert answered["finishReason"] == "stop"
    assert finished == {
        "kind": "runFinished",
        "outcome": "completed",
        "attempts": 3,
        "transientRetries": 1,
        "repairs": 1,
        "usage": result["usage"],
        "validation": "valid",
    }
    assert "canary-content" not in str(events)


async def test_a_continuation_names_its_parent_when_it_starts(tmp_path: Path) -> None:
    """OBS-2."""
    async with attached(echoing(tmp_path).root) as client:
        first = await ask(client, capture=True)
        await ask(client, continueFrom=first["runId"], observe="t")
    assert client.events("t")[0]["event"]["parentRunId"] == first["runId"]


async def test_a_failed_and_a_cancelled_run_have_one_terminal_event_each(tmp_path: Path) -> None:
    """OBS-3."""
    gate = Gate()
    async with attached(hosted(tmp_path).root) as client:
        params = {"promptId": "ask", "variables": {"text": "x"}}
        client.answers("promptkit/backend/generate", {"content": 5})
        await client.refused("promptkit/run", params | {"observe": "failed"})
        client.on("promptkit/backend/generate", gate)
        task = client.start(
            "promptkit/run", params | {"observe": "cancelled", "workDoneToken": "w"}
        )
        await gate.reached()
        client.cancel("w")
        with pytest.raises(RpcError, match="cancel"):
            await task
    for outcome, kind in (("failed", "generationFailed"), ("cancelled", "cancelled")):
        ends = [
            one["event"] for one in client.events(outcome) if one["event"]["kind"] == "runFinished"
        ]
        assert [(end["outcome"], end["error"]["kind"]) for end in ends] == [(outcome, kind)]


async def test_text_comes_with_its_attempt_and_an_abandoned_one_is_reset(tmp_path: Path) -> None:
    """OUT-3."""
    async with attached(troubled(tmp_path).root) as client:
        result = await ask(client, partialResultToken="t")
        assert client.told[-1] == ("answer", result)
        pieces = client.progress("t")
    assert pieces == [
        {"attempt": 1, "reset": True},
        {"attempt": 2, "text": "not "},
        {"attempt": 2, "text": "json"},
        {"attempt": 2, "reset": True},
        {"attempt": 3, "text": '{"n":'},
        {"attempt": 3, "text": " 1}"},
    ]
    assert result["content"] == '{"n": 1}'


async def test_the_final_result_carries_everything_that_was_streamed(tmp_path: Path) -> None:
    async with attached(echoing(tmp_path).root) as client:
        result = await ask(client, partialResultToken=0)
    assert "".join(piece["text"] for piece in client.progress(0)) == result["content"]


async def test_progress_begins_tells_what_happens_and_ends_before_the_answer(
    tmp_path: Path,
) -> None:
    async with attached(troubled(tmp_path).root) as client:
        result = await ask(client, workDoneToken="w")
        assert client.told[-1] == ("answer", result)
        shown = client.progress("w")
    assert shown[0] == {"kind": "begin", "title": "ask", "cancellable": True}
    assert shown[-1] == {"kind": "end", "message": "done"}
    assert {one["kind"] for one in shown[1:-1]} == {"report"}
    messages = [one["message"] for one in shown[1:-1]]
    assert messages[0] == "waiting for capacity of script"
    assert messages[1] == "attempt 1"
    assert messages[2].startswith("attempt 2 after 429 in ")
    assert messages[3] == "attempt 2 after 429"
    assert messages[4] == "repair 1: the answer has 1 fault"


async def test_progress_names_what_broke_where_the_status_was_good(tmp_path: Path) -> None:
    """OBS-2: a stream that breaks off did so after 200."""
    workspace = Workspace(tmp_path).scripted(
        {"fault": {"kind": "brokenBody"}, "times": 1}, retry={"baseDelay": 0}
    )
    workspace.prompt("ask", "hi", profile="p")
    async with attached(workspace.root) as client:
        await client.request("promptkit/run", {"promptId": "ask", "workDoneToken": "w"})
        told = [value.get("message") for value in client.progress("w")]
    assert "attempt 2 after connection" in told


async def test_progress_ends_when_the_run_fails_or_is_cancelled(tmp_path: Path) -> None:
    gate = Gate()
    async with attached(hosted(tmp_path).root) as client:
        params = {"promptId": "ask", "variables": {"text": "x"}}
        await client.refused("promptkit/run", params | {"variables": {}, "workDoneToken": "bad"})
        assert client.progress("bad")[-1] == {"kind": "end", "message": "failed"}
        client.on("promptkit/backend/generate", gate)
        task = client.start("promptkit/run", params | {"workDoneToken": "w"})
        await gate.reached()
        client.cancel("w")
        with pytest.raises(RpcError):
            await task
        assert client.progress("w")[-1] == {"kind": "end", "message": "cancelled"}
        client.answers("promptkit/backend/generate", {"content": "x"})
        await client.request("promptkit/prepare", params | {"workDoneToken": "p"})
        assert [one["kind"] for one in client.progress("p")] == ["begin", "end"]


async def test_a_coordination_shows_its_turns(tmp_path: Path) -> None:
    async with attached(echoing(tmp_path).root) as client:
        request = {"promptId": "ask", "variables": {"text": "more"}}
        client.answers("promptkit/coordinator/next", {"action": "continue", "request": request})
        start = await ask(client, capture=True)
        await client.request(
            "promptkit/coordinate",
            {"exchange": start["runId"], "additionalTurns": 2, "workDoneToken": "w"},
        )
        shown = client.progress("w")
    assert shown[0]["kind"] == "begin"
    assert shown[-1] == {"kind": "end", "message": "exhausted"}
    messages = [one["message"] for one in shown[1:-1]]
    assert messages[0] == "waiting for the client"
    assert "turn 1: attempt 1" in messages
    assert "turn 2: attempt 1" in messages


async def test_without_tokens_nothing_is_told(tmp_path: Path) -> None:
    """OBS-1."""
    async with attached(troubled(tmp_path).root) as client:
        result = await ask(client)
    assert client.told == [("answer", result)]
