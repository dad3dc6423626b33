"""`promptkit/prepare` and `promptkit/prepared/*` over the wire."""

from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.rpc.errors import RpcError
from tests.support.session import Client, attached
from tests.support.workspace import Workspace, echoing

REQUEST: dict[str, Any] = {"promptId": "ask", "variables": {"text": "one"}}


async def prepare(client: Client, **more: Any) -> Any:
    return await client.request("promptkit/prepare", REQUEST | more)


async def test_details_show_everything_that_will_be_sent(tmp_path: Path) -> None:
    """ENG-2, DET-2."""
    workspace = Workspace(tmp_path).settings(
        backends={"script": {"kind": "scripted", "credential": {"env": "CANARY_KEY"}}},
        profiles={
            "p": {
                "backend": "script",
                "model": "m",
                "parameters": {"temperature": 0.5, "maxTokens": 9, "stop": ["END"]},
            }
        },
    )
    cache = {"type": "ephemeral"}
    workspace.prompt(
        "ask", ("system", "be brief"), "{{ text }}", profile="p", session="s-{{ text }}"
    )
    async with attached(workspace.root) as client:
        prepared = await prepare(
            client,
            parameters={"temperature": 1, "seed": 7, "extra": {"logit_bias": {}}},
            messages=[{"role": "user", "content": "more", "cache": cache}],
            output={"format": "json", "repairs": 2},
        )
        assert prepared["details"] == {
            "promptId": "ask",
            "profile": "p",
            "backend": "script",
            "model": "m",
            "parameters": {
                "temperature": 1,
                "maxTokens": 9,
                "stop": ["END"],
                "seed": 7,
                "extra": {"logit_bias": {}},
            },
            "sessionId": "s-one",
            "output": {"format": "json", "repairs": 2},
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "one"},
                {"role": "user", "content": "more", "cache": cache},
            ],
            "capture": False,
            "credentialSource": "env:CANARY_KEY",
        }
        again = await client.request(
            "promptkit/prepared/details", {"preparedId": prepared["preparedId"]}
        )
        assert again == prepared["details"]


async def test_a_direct_key_shows_only_that_there_is_one(tmp_path: Path) -> None:
    """ENG-2, SEC-1."""
    async with attached(echoing(tmp_path).root) as client:
        plain = await prepare(client)
        assert plain["details"]["credentialSource"] is None
        keyed = await prepare(client, credential="sk-canary-1234567890")
    assert keyed["details"]["credentialSource"] == "request"
    assert "canary" not in str(client.told)


async def test_preparing_makes_no_exchange_and_executing_makes_the_one_chosen(
    tmp_path: Path,
) -> None:
    """CAP-3, DET-4."""
    async with attached(echoing(tmp_path).root) as client:
        prepared = await prepare(client, capture=True)
        assert prepared["details"]["capture"] is True
        status = await client.request("promptkit/session/status")
        assert status["prepared"] == {"count": 1}
        assert status["exchanges"] == {"count": 0, "bytes": 0}
        result = await client.request(
            "promptkit/prepared/execute", {"preparedId": prepared["preparedId"]}
        )
        details = await client.request(
            "promptkit/exchange/details", {"runId": result["exchange"]["runId"]}
        )
        assert details["messages"][:-1] == prepared["details"]["messages"]
        status = await client.request("promptkit/session/status")
    assert status["prepared"] == {"count": 0}
    assert status["exchanges"]["count"] == 1


async def test_what_was_prepared_is_sent_although_the_files_changed(tmp_path: Path) -> None:
    """ENG-1, OWN-2."""
    workspace = echoing(tmp_path)
    async with attached(workspace.root) as client:
        prepared = await prepare(client, capture=True)
        workspace.prompt("ask", "changed {{ text }}", profile="p")
        await client.request("promptkit/engine/reload")
        result = await client.request(
            "promptkit/prepared/execute", {"preparedId": prepared["preparedId"]}
        )
        details = await client.request("promptkit/exchange/details", {"runId": result["runId"]})
    assert details["messages"][0]["content"] == "one"


async def test_a_second_execution_fails_is_not_observed_and_joins_no_group(tmp_path: Path) -> None:
    """OWN-6, GRP-2."""
    async with attached(echoing(tmp_path).root) as client:
        group = (await client.request("promptkit/group/create"))["groupId"]
        prepared = await prepare(client, groups=[group], observe="t")
        named = {"preparedId": prepared["preparedId"]}
        snapshot = await client.request("promptkit/group/snapshot", {"groupId": group})
        assert snapshot["runs"] == []
        first = await client.request("promptkit/prepared/execute", named)
        seen = len(client.events("t"))
        assert seen > 0
        for method in ("execute", "discard", "details"):
            error = await client.refused(f"promptkit/prepared/{method}", named)
            assert error.data["kind"] == "preparedClaimed"
        assert len(client.events("t")) == seen
        snapshot = await client.request("promptkit/group/snapshot", {"groupId": group})
    assert snapshot["runs"] == [{"runId": first["runId"], "terminal": True}]


async def test_a_discarded_one_cannot_be_executed(tmp_path: Path) -> None:
    """OWN-6."""
    async with attached(echoing(tmp_path).root) as client:
        named = {"preparedId": (await prepare(client))["preparedId"]}
        assert await client.request("promptkit/prepared/discard", named) is None
        error = await client.refused("promptkit/prepared/execute", named)
        assert error.data["kind"] == "preparedClaimed"
        unknown = await client.refused("promptkit/prepared/execute", {"preparedId": "prepared-99"})
        assert unknown.data["kind"] == "preparedNotFound"


async def test_of_a_closed_engine_it_is_not_used_up(tmp_path: Path) -> None:
    """OWN-6: only an execution or a discard claims it."""
    async with attached(echoing(tmp_path).root) as client:
        engine = await client.request("promptkit/engine/open")
        handle = {"preparedId": (await prepare(client, engineId=engine["engineId"]))["preparedId"]}
        await client.request("promptkit/engine/close", {"engineId": engine["engineId"]})
        for _ in range(2):
            with pytest.raises(RpcError) as refused:
                await client.request("promptkit/prepared/execute", handle)
            assert refused.value.data["kind"] == "engineNotFound"
        assert await client.request("promptkit/prepared/discard", handle) is None


async def test_two_executions_at_once_make_one_run(tmp_path: Path) -> None:
    """OWN-6."""
    async with attached(echoing(tmp_path).root) as client:
        named = {"preparedId": (await prepare(client))["preparedId"]}
        first = client.start("promptkit/prepared/execute", named)
        second = client.start("promptkit/prepared/execute", named)
        assert (await first)["attempts"] == 1
        with pytest.raises(RpcError, match="before"):
            await second


async def test_tokens_of_the_request_are_kept_and_those_of_the_execution_win(
    tmp_path: Path,
) -> None:
    """ENG-4, OBS-1."""
    async with attached(echoing(tmp_path).root) as client:
        kept = await prepare(client, observe="kept", partialResultToken="text")
        await client.request("promptkit/prepared/execute", {"preparedId": kept["preparedId"]})
        assert client.events("kept")
        assert client.progress("text")
        given = await prepare(client, observe="before", partialResultToken="before")
        await client.request(
            "promptkit/prepared/execute",
            {"preparedId": given["preparedId"], "observe": 5, "partialResultToken": 6},
        )
        assert client.events("before") == []
        assert client.progress("before") == []
        assert client.events(5)
        assert client.progress(6)


async def test_a_prepared_continuation_outlives_the_exchange_it_continues(tmp_path: Path) -> None:
    """OWN-5, CAP-4."""
    async with attached(echoing(tmp_path).root) as client:
        first = await client.request("promptkit/run", REQUEST | {"capture": True})
        prepared = await prepare(client, continueFrom=first["runId"])
        assert prepared["details"]["parentRunId"] == first["runId"]
        assert prepared["details"]["capture"] is True
        await client.request("promptkit/exchange/release", {"runId": first["runId"]})
        result = await client.request(
            "promptkit/prepared/execute", {"preparedId": prepared["preparedId"]}
        )
    assert result["exchange"] == {"runId": result["runId"], "parentRunId": first["runId"]}
