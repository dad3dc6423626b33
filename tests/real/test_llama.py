"""The daemon over the wire against a real model: what is sent is understood, what comes is read.

Temperature 0 and short answers; `tests/support/llama.py` says what the model was seen to answer.
"""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.support.llama import CONTEXT, KEY, Llama
from tests.support.workspace import Workspace

Json = Any

pytestmark = pytest.mark.real

CITY = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Berlin"]}, "n": {"type": "integer", "maximum": 9}},
    "required": ["city", "n"],
    "additionalProperties": False,
}
QUESTION = "What is the capital of France?"
WRONG = "sk-canary-wrong-81c2"


@pytest.fixture
async def d(llama: Llama, tmp_path: Path) -> AsyncGenerator[Daemon]:
    """A daemon whose profiles `main` and `claude` speak to the server in its two languages."""
    short = {"temperature": 0, "maxTokens": 16}
    workspace = Workspace(tmp_path).settings(
        backends={
            "main": {
                "kind": "openai",
                "baseUrl": llama.openai,
                "credential": {"env": "LLAMA_KEY"},
                "capacity": 2,
            },
            "claude": {
                "kind": "anthropic",
                "baseUrl": llama.url,
                "credential": {"env": "LLAMA_KEY"},
            },
        },
        profiles={
            "main": {"backend": "main", "model": llama.model, "parameters": short},
            "claude": {"backend": "claude", "model": llama.model, "parameters": short},
        },
    )
    workspace.prompt("ask", "{{ text }}", profile="main")
    workspace.prompt("more", "{{ text }}", profile="main")
    workspace.prompt(
        "city",
        "Name a city and a number as JSON.",
        profile="main",
        output={"format": "schema", "schema": CITY},
    )
    async with Daemon(tmp_path, env={"LLAMA_KEY": KEY}) as daemon:
        yield daemon
        everything = daemon.received.decode() + daemon.stderr
        assert KEY not in everything
        assert WRONG not in everything


def ask(text: str, **more: Json) -> Json:
    return {"promptId": "ask", "variables": {"text": text}, **more}


def known(usage: Json, *fields: str) -> None:
    for field in fields:
        assert usage[field]["complete"], field
        assert usage[field]["value"] is not None, field


async def test_a_captured_run_holds_what_was_sent_and_answered(d: Daemon) -> None:
    """CAP-2, CAP-5, DET-1."""
    result = await d.request("promptkit/run", ask(QUESTION, capture=True))

    assert "Paris" in result["content"]
    assert result["finishReason"] == "stop"
    assert result["validation"] == {"status": "notRequired", "violations": []}
    assert result["exchange"]["runId"] == result["runId"]
    details = await d.request("promptkit/exchange/details", {"runId": result["runId"]})
    assert [(m["role"], m["content"]) for m in details["messages"]] == [
        ("user", QUESTION),
        ("assistant", result["content"]),
    ]
    assert details["content"] == result["content"]


async def test_the_usage_of_a_real_answer_is_known_and_what_is_not_reported_is_not(
    d: Daemon,
) -> None:
    """USE-1, USE-2."""
    usage = (await d.request("promptkit/run", ask(QUESTION)))["usage"]

    known(usage, "inputTokens", "outputTokens", "totalTokens", "cachedInputTokens")
    value = {field: total["value"] for field, total in usage.items()}
    assert value["inputTokens"] > value["cachedInputTokens"] >= 0
    assert value["totalTokens"] == value["inputTokens"] + value["outputTokens"]
    assert value["reasoningTokens"] is None
    assert not usage["reasoningTokens"]["complete"]


async def test_a_continuation_is_understood_in_the_light_of_what_was_said(d: Daemon) -> None:
    """CAP-4, OWN-1, CFG-7, USE-3."""
    first = await d.request("promptkit/run", ask(QUESTION, capture=True))
    more = {"promptId": "more", "variables": {"text": "And of Germany?"}}
    alone = await d.request("promptkit/run", more)
    after = await d.request("promptkit/run", {**more, "continueFrom": first["runId"]})

    assert "Berlin" in after["content"]
    assert "Berlin" not in alone["content"]
    assert after["parentRunId"] == first["runId"]
    value = {field: total["value"] for field, total in after["usage"].items()}
    assert value["inputTokens"] > first["usage"]["totalTokens"]["value"]
    assert value["totalTokens"] == value["inputTokens"] + value["outputTokens"]


async def test_two_branches_of_one_exchange_differ_and_leave_it_as_it_was(d: Daemon) -> None:
    """OWN-1, COO-17."""
    first = await d.request("promptkit/run", ask(QUESTION, capture=True))
    details = await d.request("promptkit/exchange/details", {"runId": first["runId"]})
    germany = d.start("promptkit/run", ask("And of Germany?", continueFrom=first["runId"]))
    italy = d.start("promptkit/run", ask("And of Italy?", continueFrom=first["runId"]))

    assert "Berlin" in (await germany)["content"]
    assert "Rome" in (await italy)["content"]
    again = await d.request("promptkit/exchange/details", {"runId": first["runId"]})
    assert again == details


async def test_a_coordinator_drives_two_turns_and_a_group_counts_them(d: Daemon) -> None:
    """COO-2, COO-3, COO-6, GRP-3, GRP-6."""
    group = (await d.request("promptkit/group/create", {}))["groupId"]
    first = await d.request("promptkit/run", ask(QUESTION, capture=True))
    questions = ("And of Germany?", "And of Italy?", "And of Spain?")
    calls: list[dict[str, Any]] = []

    def next_turn(call: dict[str, Any]) -> Json:
        calls.append(call)
        turn: int = call["deliveryIndex"]
        return {"action": "continue", "request": ask(questions[turn])}

    d.on("promptkit/coordinator/next", next_turn)
    outcome = await d.request(
        "promptkit/coordinate",
        {"exchange": first["runId"], "additionalTurns": 2, "groups": [group]},
    )

    assert outcome["outcome"] == "exhausted"
    assert [call["remainingTurns"] for call in calls] == [2, 1, 0]
    assert calls[0].get("result") is None
    results = [call["result"] for call in calls[1:]]
    assert "Berlin" in results[0]["content"]
    assert "Rome" in results[1]["content"]
    assert [r["parentRunId"] for r in results] == [first["runId"], results[0]["runId"]]
    snapshot = await d.request("promptkit/group/snapshot", {"groupId": group})
    assert [run["runId"] for run in snapshot["runs"]] == [r["runId"] for r in results]
    assert snapshot["complete"]
    assert snapshot["attempts"] == 2
    total = sum(r["usage"]["totalTokens"]["value"] for r in results)
    assert snapshot["usage"]["totalTokens"] == {"value": total, "complete": True}


async def test_a_schema_is_enforced_by_the_server_and_checked_here(d: Daemon) -> None:
    """OUT-1, OUT-4."""
    parameters = {"maxTokens": 60}
    result = await d.request("promptkit/run", {"promptId": "city", "parameters": parameters})

    assert result["validation"] == {"status": "valid", "violations": []}
    assert result["structured"]["city"] in {"Paris", "Berlin"}
    assert json.loads(result["content"]) == result["structured"]
    assert (result["attempts"], result["repairs"]) == (1, 0)


async def test_an_answer_that_the_limit_cut_off_is_a_result_and_not_valid(d: Daemon) -> None:
    """CAP-7, S-09."""
    parameters = {"maxTokens": 3}
    result = await d.request(
        "promptkit/run", {"promptId": "city", "parameters": parameters, "capture": True}
    )

    assert result["finishReason"] == "length"
    assert result["validation"]["status"] == "invalid"
    assert result["exchange"]["runId"] == result["runId"]


@pytest.mark.parametrize("profile", ["main", "claude"])
async def test_streamed_pieces_add_up_to_the_answer(d: Daemon, profile: str) -> None:
    """ENG-4, U-11."""
    plain = await d.request("promptkit/run", ask(QUESTION, profile=profile))
    result = await d.request(
        "promptkit/run", ask(QUESTION, profile=profile, partialResultToken="pieces")
    )

    values = [p["value"] for p in d.notifications("$/progress") if p["token"] == "pieces"]
    assert len(values) > 1
    assert "".join(value["text"] for value in values) == result["content"] == plain["content"]
    assert {value["attempt"] for value in values} == {1}
    known(result["usage"], "inputTokens", "outputTokens", "totalTokens")
    for field in ("inputTokens", "outputTokens"):
        assert result["usage"][field] == plain["usage"][field]


async def test_a_conversation_goes_on_under_the_other_kind_of_backend(d: Daemon) -> None:
    """CFG-6, H-10."""
    first = await d.request("promptkit/run", ask(QUESTION, capture=True))
    after = await d.request(
        "promptkit/run", ask("And of Germany?", continueFrom=first["runId"], profile="claude")
    )
    back = await d.request("promptkit/run", ask("And of Italy?", continueFrom=after["runId"]))

    assert (after["backend"], back["backend"]) == ("claude", "main")
    assert "Berlin" in after["content"]
    assert "Rome" in back["content"]
    known(after["usage"], "inputTokens", "outputTokens", "totalTokens")


@pytest.mark.parametrize("profile", ["main", "claude"])
async def test_a_history_too_long_for_the_model_is_an_ordinary_generation_error(
    d: Daemon, profile: str
) -> None:
    """CFG-8, CAP-7, RET-1."""
    first = await d.request("promptkit/run", ask(QUESTION, capture=True))
    long = ask("word " * (2 * CONTEXT), continueFrom=first["runId"], profile=profile)
    error = await d.refused("promptkit/run", long)

    assert error.code == -32803
    assert error.kind == "generationFailed"
    assert error.data["reason"] == "contextLength"
    assert error.data["httpStatus"] == 400
    assert error.data["attempts"] == 1
    assert not error.data["retryable"]
    after = await d.request("promptkit/run", ask("And of Italy?", continueFrom=first["runId"]))
    assert "Rome" in after["content"]


@pytest.mark.parametrize("profile", ["main", "claude"])
async def test_a_key_for_one_run_replaces_the_profiles_own_and_is_refused_without_a_trace(
    d: Daemon, profile: str
) -> None:
    """CFG-4, SEC-1, RET-1."""
    error = await d.refused("promptkit/run", ask(QUESTION, profile=profile, credential=WRONG))

    assert error.data["reason"] == "authentication"
    assert error.data["httpStatus"] == 401
    assert error.data["attempts"] == 1
    assert "Paris" in (await d.request("promptkit/run", ask(QUESTION, profile=profile)))["content"]
