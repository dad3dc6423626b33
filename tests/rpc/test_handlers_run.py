"""`promptkit/run` over the wire: what it answers, what it refuses."""

from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.rpc.errors import RpcError
from tests.support.session import Gate, attached, hosted
from tests.support.workspace import Workspace, echoing

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
UNKNOWN = {"value": None, "complete": False}


def known(value: int, *, complete: bool = True) -> dict[str, Any]:
    return {"value": value, "complete": complete}


async def test_a_result_has_every_field_of_its_shape(tmp_path: Path) -> None:
    """ENG-1, USE-1, USE-2."""
    workspace = Workspace(tmp_path).scripted(
        {"content": "hello", "usage": {"inputTokens": 12, "outputTokens": 0}}
    )
    workspace.prompt("ask", "{{ text }}", profile="p", session="case-{{ text }}")
    async with attached(workspace.root) as client:
        result = await client.request(
            "promptkit/run", {"promptId": "ask", "variables": {"text": "x"}}
        )
    assert result.pop("runId").startswith("run-")
    assert result == {
        "content": "hello",
        "validation": {"status": "notRequired", "violations": []},
        "finishReason": "stop",
        "usage": {
            "inputTokens": known(12),
            "outputTokens": known(0),
            "totalTokens": known(12),
            "cachedInputTokens": UNKNOWN,
            "cacheCreationTokens": UNKNOWN,
            "reasoningTokens": UNKNOWN,
        },
        "attempts": 1,
        "transientRetries": 0,
        "repairs": 0,
        "profile": "p",
        "backend": "script",
        "model": "m",
        "sessionId": "case-x",
    }


async def test_a_decoded_answer_comes_digit_for_digit(tmp_path: Path) -> None:
    """OUT-1, S-16."""
    workspace = Workspace(tmp_path).scripted({"content": '{"n": 12345678901234567890, "f": 1.10}'})
    workspace.prompt("ask", "x", profile="p", output={"format": "schema", "schema": SCHEMA})
    async with attached(workspace.root) as client:
        result = await client.request("promptkit/run", {"promptId": "ask"})
    assert result["structured"] == {"n": 12345678901234567890, "f": 1.1}
    assert result["validation"] == {"status": "valid", "violations": []}


async def test_a_broken_contract_is_a_result_with_every_violation(tmp_path: Path) -> None:
    """OUT-2, CAP-7."""
    workspace = Workspace(tmp_path).scripted({"content": '{"n": "one"}'})
    workspace.prompt("ask", "x", profile="p")
    async with attached(workspace.root) as client:
        result = await client.request(
            "promptkit/run",
            {
                "promptId": "ask",
                "capture": True,
                "output": {"format": "schema", "schema": SCHEMA, "repairs": 1},
            },
        )
        assert result["validation"]["status"] == "invalid"
        (violation,) = result["validation"]["violations"]
        assert (violation["path"], violation["keyword"]) == ("/n", "type")
        assert violation["message"]
        assert (result["attempts"], result["repairs"]) == (2, 1)
        details = await client.request("promptkit/exchange/details", {"runId": result["runId"]})
    assert [one["content"] for one in details["messages"]] == ["x", '{"n": "one"}']


async def test_a_refusal_is_told_in_the_models_words(tmp_path: Path) -> None:
    """S-11."""
    workspace = Workspace(tmp_path).scripted(
        {"content": "", "refusal": "I will not.", "finishReason": "refusal"}
    )
    workspace.prompt("ask", "x", profile="p", output={"format": "json"})
    async with attached(workspace.root) as client:
        result = await client.request("promptkit/run", {"promptId": "ask"})
    assert (result["refusal"], result["finishReason"]) == ("I will not.", "refusal")
    assert result["validation"]["status"] == "invalid"


async def test_without_capture_nothing_is_held(tmp_path: Path) -> None:
    """CAP-1."""
    async with attached(echoing(tmp_path).root) as client:
        result = await client.request(
            "promptkit/run", {"promptId": "ask", "variables": {"text": "x"}}
        )
        assert "exchange" not in result
        error = await client.refused("promptkit/exchange/details", {"runId": result["runId"]})
        assert error.data["kind"] == "exchangeNotFound"
        status = await client.request("promptkit/session/status")
    assert status["exchanges"] == {"count": 0, "bytes": 0}


async def test_a_continuation_always_captures_and_names_its_parent(tmp_path: Path) -> None:
    """CAP-2, CAP-4, OWN-1, DET-1, CFG-7."""
    async with attached(echoing(tmp_path).root) as client:
        first = await client.request(
            "promptkit/run", {"promptId": "ask", "variables": {"text": "one"}, "capture": True}
        )
        assert first["exchange"] == {"runId": first["runId"]}
        second = await client.request(
            "promptkit/run",
            {
                "promptId": "ask",
                "variables": {"text": "two"},
                "continueFrom": first["runId"],
                "messages": [{"role": "user", "content": "three"}],
            },
        )
        assert second["parentRunId"] == first["runId"]
        assert second["exchange"] == {"runId": second["runId"], "parentRunId": first["runId"]}
        details = await client.request("promptkit/exchange/details", {"runId": second["runId"]})
    said = [(one["role"], one["content"]) for one in details["messages"]]
    assert said == [
        ("user", "one"),
        ("assistant", first["content"]),
        ("user", "two"),
        ("user", "three"),
        ("assistant", second["content"]),
    ]


async def test_user_content_passes_untouched(tmp_path: Path) -> None:
    """CAP-5, ENG-4."""
    cache = {"type": "ephemeral", "my-key": {"jsonrpc": "2.0", "n": 12345678901234567890}}
    content = "Zoë \U0001f600\u2028 {{ not rendered }} \n"
    async with attached(echoing(tmp_path).root) as client:
        result = await client.request(
            "promptkit/run",
            {
                "promptId": "ask",
                "variables": {"text": "{{ 1 + 1 }}", "jsonrpc": {"id": [None]}},
                "messages": [{"role": "developer", "content": content, "cache": cache}],
                "capture": True,
            },
        )
        details = await client.request("promptkit/exchange/details", {"runId": result["runId"]})
    assert details["messages"][0]["content"] == "{{ 1 + 1 }}"
    assert details["messages"][1] == {"role": "developer", "content": content, "cache": cache}


async def test_nothing_runs_when_a_handle_is_unknown(tmp_path: Path) -> None:
    """GRP-2, ENG-5."""
    async with attached(echoing(tmp_path).root) as client:
        group = (await client.request("promptkit/group/create"))["groupId"]
        base = {"promptId": "ask", "variables": {"text": "x"}, "observe": "t"}
        for more, kind in (
            ({"groups": [group, "nowhere"]}, "groupNotFound"),
            ({"continueFrom": "run-none", "groups": [group]}, "exchangeNotFound"),
            ({"engineId": "nowhere", "groups": [group]}, "engineNotFound"),
        ):
            error = await client.refused("promptkit/run", base | more)
            assert (error.code, error.data["kind"]) == (-32803, kind)
        snapshot = await client.request("promptkit/group/snapshot", {"groupId": group})
        assert snapshot["runs"] == []
        assert client.events("t") == []


async def test_failures_are_told_apart_by_kind(tmp_path: Path) -> None:
    """ENG-5, CFG-2, SEC-2."""
    workspace = echoing(tmp_path).prompt("bare", "x").prompt("lost", "x", profile="gone")
    async with attached(workspace.root) as client:
        for params, kind in (
            ({"promptId": "nowhere"}, "promptNotFound"),
            ({"promptId": "../promptkit"}, "promptNotFound"),
            ({"promptId": "bare"}, "profileMissing"),
            ({"promptId": "lost"}, "profileNotFound"),
            ({"promptId": "ask", "profile": "gone"}, "profileNotFound"),
            ({"promptId": "ask"}, "templateFailed"),
        ):
            error = await client.refused("promptkit/run", params)
            assert (error.code, error.data["kind"], error.data["retryable"]) == (
                -32803,
                kind,
                False,
            )
            assert str(tmp_path) not in f"{error.message}{error.data}"


async def test_a_broken_prompt_fails_with_its_place_and_the_others_go_on(tmp_path: Path) -> None:
    """SEC-4."""
    workspace = echoing(tmp_path).write("prompts/bad.prompt.yaml", "messages:\n  - rol: user\n")
    async with attached(workspace.root) as client:
        error = await client.refused("promptkit/run", {"promptId": "bad"})
        assert error.data["kind"] == "promptInvalid"
        assert error.data["location"]["file"] == "prompts/bad.prompt.yaml"
        assert error.data["location"]["line"] == 2
        result = await client.request(
            "promptkit/run", {"promptId": "ask", "variables": {"text": "x"}}
        )
    assert result["content"]


async def test_params_that_do_not_fit_are_refused_by_name(tmp_path: Path) -> None:
    """SEC-4."""
    async with attached(echoing(tmp_path).root) as client:
        error = await client.refused(
            "promptkit/run", {"promptId": "ask", "parameters": {"temprature": 1}, "timeoutMs": "5"}
        )
        assert error.code == -32602
        assert "params.parameters.temprature: unknown field, did you mean temperature" in (
            error.message
        )
        assert error.data["kind"] == "requestInvalid"
        assert [fault["path"] for fault in error.data["invalid"]] == [
            "params.parameters.temprature",
            "params.timeoutMs",
        ]


async def test_an_unusable_direct_key_is_refused_and_no_other_is_used(tmp_path: Path) -> None:
    """CFG-4, K-02, K-10."""
    async with attached(echoing(tmp_path).root) as client:
        for key in ("", "  \n", "sk-canary-é", "sk\x00canary", "${CANARY_KEY}"):
            error = await client.refused(
                "promptkit/run",
                {"promptId": "ask", "variables": {"text": "x"}, "credential": key},
            )
            assert (error.code, error.data["kind"]) == (-32602, "requestInvalid")
            assert "sk" not in error.message


async def test_a_failed_generation_says_how_often_it_was_tried(tmp_path: Path) -> None:
    """RET-1, T-19."""
    workspace = Workspace(tmp_path).scripted(
        {"fault": {"status": 503}}, retry={"attempts": 3, "baseDelay": 0.001, "maxDelay": 0.001}
    )
    workspace.prompt("ask", "x", profile="p")
    async with attached(workspace.root) as client:
        error = await client.refused("promptkit/run", {"promptId": "ask"})
    assert error.data["kind"] == "generationFailed"
    assert error.data["retryable"] is True
    assert (error.data["httpStatus"], error.data["attempts"]) == (503, 3)
    assert error.data["runId"].startswith("run-")
    assert error.data["origin"] in ("provider", "promptkit")


async def test_a_run_ends_at_its_time_limit(tmp_path: Path) -> None:
    """RET-2."""
    async with attached(hosted(tmp_path).root) as client:
        client.on("promptkit/backend/generate", Gate())
        error = await client.refused(
            "promptkit/run", {"promptId": "ask", "variables": {"text": "x"}, "timeoutMs": 1}
        )
    assert error.data["kind"] == "deadlineExceeded"
    assert error.data["retryable"] is True


async def test_a_cancelled_run_stops_wherever_it_is(tmp_path: Path) -> None:
    """RET-3, ADM-4, R-11."""
    gate = Gate()
    async with attached(hosted(tmp_path, capacity=1).root) as client:
        client.on("promptkit/backend/generate", gate)
        params = {"promptId": "ask", "variables": {"text": "x"}}
        slow = client.start("promptkit/run", params)
        await gate.reached()
        queued = [
            client.start("promptkit/run", params | {"workDoneToken": f"w{n}"}) for n in range(30)
        ]
        status = await client.status(lambda status: status["runs"]["active"] == 31)
        (backend,) = status["engines"][0]["backends"]
        assert (backend["leases"], backend["waiting"]) == (1, 30)
        for number in range(30):
            client.cancel(f"w{number}")
        for task in queued:
            with pytest.raises(RpcError) as caught:
                await task
            assert caught.value.code == -32800
        assert gate.came == 1
        gate.open()
        assert (await slow)["content"] == "after x"
        status = await client.request("promptkit/session/status")
        assert status["runs"] == {"active": 0}
        assert status["engines"][0]["backends"][0]["leases"] == 0


async def test_a_repair_leaves_no_trace_in_history(tmp_path: Path) -> None:
    """CAP-6, H-01."""
    workspace = Workspace(tmp_path).scripted(
        {"content": "not json", "times": 1}, {"content": '{"n": 1}'}
    )
    contract = {"format": "schema", "schema": SCHEMA, "repairs": 1}
    workspace.prompt("ask", "x", profile="p", output=contract)
    async with attached(workspace.root) as client:
        result = await client.request("promptkit/run", {"promptId": "ask", "capture": True})
        assert (result["validation"]["status"], result["repairs"]) == ("valid", 1)
        assert result["attempts"] == 1 + result["transientRetries"] + result["repairs"]
        details = await client.request("promptkit/exchange/details", {"runId": result["runId"]})
    assert [(one["role"], one["content"]) for one in details["messages"]] == [
        ("user", "x"),
        ("assistant", '{"n": 1}'),
    ]
