"""`promptkit/group/*` over the wire."""

from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.rpc.errors import RpcError
from tests.support.session import Client, Gate, attached, hosted
from tests.support.workspace import Workspace, echoing


async def create(client: Client) -> str:
    return (await client.request("promptkit/group/create"))["groupId"]


async def snapshot(client: Client, group: str) -> Any:
    return await client.request("promptkit/group/snapshot", {"groupId": group})


async def run(client: Client, *groups: str, text: str = "x", **more: Any) -> str:
    params = {"promptId": "ask", "variables": {"text": text}, "groups": list(groups)} | more
    return (await client.request("promptkit/run", params))["runId"]


def total(value: int | None, *, complete: bool) -> dict[str, Any]:
    return {"value": value, "complete": complete}


async def test_an_empty_group_is_covered_and_knows_nothing(tmp_path: Path) -> None:
    """GRP-6, GRP-8, USE-1."""
    async with attached(echoing(tmp_path).root) as client:
        group = await create(client)
        nothing = total(None, complete=True)
        assert await snapshot(client, group) == {
            "groupId": group,
            "runs": [],
            "complete": True,
            "attempts": 0,
            "transientRetries": 0,
            "repairs": 0,
            "usage": dict.fromkeys(
                [
                    "inputTokens",
                    "outputTokens",
                    "totalTokens",
                    "cachedInputTokens",
                    "cacheCreationTokens",
                    "reasoningTokens",
                ],
                nothing,
            ),
        }


async def test_sums_are_over_terminal_events_and_each_run_counts_once(tmp_path: Path) -> None:
    """GRP-1, GRP-4, GRP-6, GRP-7, USE-3."""
    workspace = Workspace(tmp_path).scripted(
        {"content": "x", "usage": {"inputTokens": 10, "outputTokens": 5}, "times": 1},
        {"content": "x", "usage": {"inputTokens": 0}},
    )
    workspace.prompt("ask", "{{ text }}", profile="p")
    async with attached(workspace.root) as client:
        all_, some = await create(client), await create(client)
        first = await run(client, all_, some, all_, capture=True)
        second = await run(client, all_, continueFrom=first)
        shown = await snapshot(client, all_)
        assert shown["runs"] == [
            {"runId": first, "terminal": True},
            {"runId": second, "terminal": True},
        ]
        assert (shown["complete"], shown["attempts"]) == (True, 2)
        assert shown["usage"]["inputTokens"] == total(10, complete=True)
        assert shown["usage"]["outputTokens"] == total(5, complete=False)
        assert shown["usage"]["reasoningTokens"] == total(None, complete=False)
        assert [one["runId"] for one in (await snapshot(client, some))["runs"]] == [first]


async def test_coverage_tells_of_a_run_that_has_not_ended(tmp_path: Path) -> None:
    """GRP-5, GRP-8, GRP-9, GRP-10."""
    gate = Gate()
    async with attached(hosted(tmp_path).root) as client:
        group = await create(client)
        client.answers("promptkit/backend/generate", {"content": "x"})
        done = await run(client, group)
        full = await snapshot(client, group)
        assert full["complete"] is True
        client.on("promptkit/backend/generate", gate)
        open_ = client.start(
            "promptkit/run", {"promptId": "ask", "variables": {"text": "x"}, "groups": [group]}
        )
        await gate.reached()
        shown = await snapshot(client, group)
        assert shown["complete"] is False
        assert [one["terminal"] for one in shown["runs"]] == [True, False]
        assert shown["attempts"] == 1
        gate.open()
        result = await open_
        shown = await snapshot(client, group)
        assert shown["runs"] == [
            {"runId": done, "terminal": True},
            {"runId": result["runId"], "terminal": True},
        ]
        assert full["runs"] == [{"runId": done, "terminal": True}]


async def test_a_failed_and_a_cancelled_run_count_too(tmp_path: Path) -> None:
    """OBS-3, GRP-7, U-10."""
    gate = Gate()
    workspace = hosted(tmp_path)
    async with attached(workspace.root) as client:
        group = await create(client)
        client.answers("promptkit/backend/generate", {"no": "content"})
        await client.refused(
            "promptkit/run", {"promptId": "ask", "variables": {"text": "x"}, "groups": [group]}
        )
        client.on("promptkit/backend/generate", gate)
        task = client.start(
            "promptkit/run",
            {
                "promptId": "ask",
                "variables": {"text": "x"},
                "groups": [group],
                "workDoneToken": "w",
            },
        )
        await gate.reached()
        client.cancel("w")
        with pytest.raises(RpcError):
            await task
        shown = await snapshot(client, group)
        assert [one["terminal"] for one in shown["runs"]] == [True, True]
        assert (shown["complete"], shown["attempts"]) == (True, 2)
        assert shown["usage"]["totalTokens"] == total(None, complete=False)


async def test_releasing_a_group_touches_no_run_and_no_other_group(tmp_path: Path) -> None:
    """OWN-5."""
    async with attached(echoing(tmp_path).root) as client:
        kept, dropped = await create(client), await create(client)
        run_id = await run(client, kept, dropped, capture=True)
        assert await client.request("promptkit/group/release", {"groupId": dropped}) is None
        for method in ("snapshot", "release"):
            error = await client.refused(f"promptkit/group/{method}", {"groupId": dropped})
            assert (error.code, error.data["kind"]) == (-32803, "groupNotFound")
        assert [one["runId"] for one in (await snapshot(client, kept))["runs"]] == [run_id]
        assert await client.request("promptkit/exchange/details", {"runId": run_id})
        status = await client.request("promptkit/session/status")
    assert status["groups"] == {"count": 1}


async def test_a_call_made_inside_a_callback_joins_only_what_it_names(tmp_path: Path) -> None:
    """GRP-1, GRP-3, OBS-5."""
    async with attached(echoing(tmp_path).root) as client:
        branch, inside = await create(client), await create(client)
        nested: list[str] = []

        async def callback(params: Any, _: Any) -> Any:
            nested.append(await run(client, inside))
            if params["remainingTurns"] == 0:
                return {"action": "stop"}
            request = {"promptId": "ask", "variables": {"text": "turn"}}
            return {"action": "continue", "request": request}

        client.on("promptkit/coordinator/next", callback)
        start = await run(client, capture=True)
        await client.request(
            "promptkit/coordinate",
            {"exchange": start, "additionalTurns": 1, "groups": [branch]},
        )
        turns = [one["runId"] for one in (await snapshot(client, branch))["runs"]]
        assert len(turns) == 1
        assert not {start, *nested} & set(turns)
        assert [one["runId"] for one in (await snapshot(client, inside))["runs"]] == nested
