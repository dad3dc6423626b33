"""`promptkit/engine/*` and `promptkit/session/status` over the wire."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.rpc.errors import RpcError
from tests.support.session import Client, Gate, attached, hosted
from tests.support.workspace import Workspace, echoing


async def ask(client: Client, **more: Any) -> Any:
    params = {"promptId": "ask", "variables": {"text": "x"}} | more
    return await client.request("promptkit/run", params)


def other(root: Path) -> Workspace:
    return Workspace(root).scripted({"content": "other"}).prompt("ask", "{{ text }}", profile="p")


async def test_engines_are_opened_beside_the_default_one(tmp_path: Path) -> None:
    """OWN-3, CFG-1."""
    other(tmp_path / "side")
    async with attached(echoing(tmp_path / "main").root) as client:
        for root in (
            str(tmp_path / "side"),
            (tmp_path / "side").as_uri(),
            "../side",
        ):
            opened = await client.request("promptkit/engine/open", {"root": root})
            assert opened["problems"] == []
            assert (await ask(client, engineId=opened["engineId"]))["content"] == "other"
        assert (await ask(client))["content"] != "other"
        assert (await ask(client, engineId="default"))["content"] != "other"
        status = await client.request("promptkit/session/status")
        roots = {one["engineId"]: one["root"] for one in status["engines"]}
        assert len(roots) == 4
        assert roots["default"] == str(tmp_path / "main")
        assert roots[opened["engineId"]] == str(tmp_path / "side")


async def test_another_settings_file_of_the_same_root_makes_another_engine(tmp_path: Path) -> None:
    workspace = echoing(tmp_path)
    workspace.write(
        "other.yaml",
        "version: 1\nbackends: {b: {kind: scripted, replies: [{content: other}]}}\n"
        "profiles: {p: {backend: b, model: m}}\n",
    )
    async with attached(workspace.root) as client:
        opened = await client.request("promptkit/engine/open", {"config": "other.yaml"})
        assert (await ask(client, engineId=opened["engineId"]))["content"] == "other"
    async with attached(workspace.root, options={"config": "other.yaml"}) as client:
        assert (await ask(client))["content"] == "other"


async def test_a_settings_file_or_folder_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    async with attached(echoing(tmp_path / "main").root) as client:
        opened = await client.request("promptkit/engine/open", {"config": "nope.yaml"})
        assert [one["location"]["file"] for one in opened["problems"]] == ["nope.yaml"]
        with pytest.raises(RpcError, match="the settings file does not exist") as caught:
            await ask(client, engineId=opened["engineId"])
        assert caught.value.data["kind"] == "configInvalid"
        opened = await client.request("promptkit/engine/open", {"root": "nowhere"})
        (problem,) = opened["problems"]
        assert problem["message"].endswith("/nowhere' does not exist")
        with pytest.raises(RpcError, match=r"the workspace's folder '.*/nowhere' does not exist"):
            await ask(client, engineId=opened["engineId"])


async def test_a_broken_workspace_opens_with_its_problems_and_places(tmp_path: Path) -> None:
    """SEC-4."""
    broken = other(tmp_path / "side").write("prompts/bad.prompt.yaml", "messages: [{rol: user}]\n")
    async with attached(echoing(tmp_path / "main").root) as client:
        opened = await client.request("promptkit/engine/open", {"root": str(broken.root)})
        assert opened["problems"]
        for problem in opened["problems"]:
            assert problem["location"]["file"] == "prompts/bad.prompt.yaml"
            assert problem["location"]["line"] == 1
            assert problem["message"]
        assert (await ask(client, engineId=opened["engineId"]))["content"] == "other"
        empty = await client.request("promptkit/engine/open", {"root": str(tmp_path / "nowhere")})
        assert empty["problems"]


async def test_a_reload_takes_what_changed_and_lists_what_is_wrong(tmp_path: Path) -> None:
    workspace = echoing(tmp_path)
    async with attached(workspace.root) as client:
        assert await client.request("promptkit/engine/reload") == {"problems": []}
        workspace.prompt("ask", "changed {{ text }}", profile="p")
        workspace.write("prompts/bad.prompt.yaml", "- no\n- mapping\n")
        problems = (await client.request("promptkit/engine/reload", {"engineId": "default"}))[
            "problems"
        ]
        assert {problem["location"]["file"] for problem in problems} == {"prompts/bad.prompt.yaml"}
        result = await ask(client, capture=True)
        details = await client.request("promptkit/exchange/details", {"runId": result["runId"]})
    assert details["messages"][0]["content"] == "changed x"


async def test_reading_a_large_workspace_delays_no_other_request(tmp_path: Path) -> None:
    """R-20."""
    workspace = echoing(tmp_path)
    for number in range(80):
        workspace.prompt(f"more/p{number:03}", "{{ text }}", profile="p")
    async with attached(workspace.root) as client:
        for method in ("prompt/list", "engine/reload", "engine/open"):
            reading = client.start(f"promptkit/{method}")
            await asyncio.sleep(0)
            await client.request("promptkit/session/status")
            assert not reading.done(), method
            await reading


async def test_a_closed_engine_takes_no_request_and_its_run_in_flight_finishes(
    tmp_path: Path,
) -> None:
    """OWN-3."""
    gate = Gate()
    async with attached(hosted(tmp_path).root) as client:
        client.on("promptkit/backend/generate", gate)
        prepared = await client.request(
            "promptkit/prepare", {"promptId": "ask", "variables": {"text": "x"}}
        )
        running = client.start(
            "promptkit/run", {"promptId": "ask", "variables": {"text": "x"}, "capture": True}
        )
        await gate.reached()
        assert await client.request("promptkit/engine/close", {"engineId": "default"}) is None
        for method, params in (
            ("promptkit/run", {"promptId": "ask", "variables": {"text": "x"}}),
            ("promptkit/prompt/list", {}),
            ("promptkit/engine/reload", {}),
            ("promptkit/engine/close", {}),
            ("promptkit/prepared/execute", {"preparedId": prepared["preparedId"]}),
        ):
            error = await client.refused(method, params)
            assert (error.code, error.data["kind"]) == (-32803, "engineNotFound"), method
        gate.open()
        result = await running
        assert result["content"] == "after x"
        assert await client.request("promptkit/exchange/details", {"runId": result["runId"]})
        assert (await client.request("promptkit/session/status"))["engines"] == []


async def test_a_run_that_is_being_prepared_when_its_engine_closes_finishes_too(
    tmp_path: Path,
) -> None:
    """OWN-3, ENG-1: it was in flight, whatever it was at."""
    workspace = echoing(tmp_path)
    workspace.write("report.txt", "the report")
    workspace.write(
        "prompts/read.prompt.yaml",
        "profile: p\ninputs: {report: {file: report.txt}}\n"
        "messages: [{role: user, content: '{{ inputs.report }}'}]\n",
    )
    async with attached(workspace.root) as client:
        running = client.start("promptkit/run", {"promptId": "read"})
        closing = client.start("promptkit/engine/close", {"engineId": "default"})
        assert (await running)["content"] == "the report"
        assert await closing is None
        error = await client.refused("promptkit/run", {"promptId": "read"})
        assert error.data["kind"] == "engineNotFound"


async def test_status_counts_what_is_held_and_how_busy_each_backend_is(tmp_path: Path) -> None:
    """ADM-1."""
    gate = Gate()
    async with attached(hosted(tmp_path, capacity=3, permits=1).root) as client:
        fresh = await client.request("promptkit/session/status")
        assert fresh == {
            "exchanges": {"count": 0, "bytes": 0},
            "groups": {"count": 0},
            "prepared": {"count": 0},
            "runs": {"active": 0},
            "engines": [{"engineId": "default", "root": str(tmp_path), "backends": []}],
        }
        client.on("promptkit/backend/generate", gate)
        await client.request("promptkit/group/create")
        await client.request("promptkit/prepare", {"promptId": "ask", "variables": {"text": "x"}})
        running = [
            client.start(
                "promptkit/run",
                {"promptId": "ask", "variables": {"text": "zoë"}, "capture": True},
            )
            for _ in range(4)
        ]
        await gate.reached()
        busy = await client.status(lambda status: status["runs"]["active"] == 4)
        assert (busy["groups"], busy["prepared"]) == ({"count": 1}, {"count": 1})
        assert busy["engines"][0]["backends"] == [
            {
                "name": "host",
                "capacity": 3,
                "leases": 3,
                "waiting": 1,
                "permits": 1,
                "generating": 1,
            }
        ]
        gate.open()
        for run in running:
            await run
        done = await client.request("promptkit/session/status")
    # "zoë" and "after zoë", four times, in bytes
    assert done["exchanges"] == {"count": 4, "bytes": 4 * (4 + 10)}
    assert done["runs"] == {"active": 0}
    (backend,) = done["engines"][0]["backends"]
    assert (backend["leases"], backend["waiting"], backend["generating"]) == (0, 0, 0)


async def test_an_unlimited_backend_shows_no_limits(tmp_path: Path) -> None:
    async with attached(echoing(tmp_path).root) as client:
        await ask(client)
        status = await client.request("promptkit/session/status")
    assert status["engines"][0]["backends"] == [
        {"name": "script", "leases": 0, "waiting": 0, "generating": 0}
    ]


async def test_status_takes_no_fields(tmp_path: Path) -> None:
    async with attached(echoing(tmp_path).root) as client:
        assert await client.request("promptkit/session/status", {"_meta": {"any": [1]}})
        error = await client.refused("promptkit/session/status", {"engineId": "default"})
    assert error.code == -32602
