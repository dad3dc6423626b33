"""The played server: it takes what a client may choose, and nothing else."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.frames import frame
from tests.support.process import RawDaemon
from tests.transcripts import play, record
from tests.transcripts.scenarios import SCENARIOS

Json = Any


def player(file: Path) -> RawDaemon:
    """The played server, still to be started, told `--stdio` as some clients do."""
    return RawDaemon(command=[sys.executable, play.__file__, str(file), "--stdio"])


async def said(daemon: RawDaemon, *messages: Json) -> None:
    """Says messages of a client."""
    await daemon.write(b"".join(map(frame, messages)))


async def heard(daemon: RawDaemon) -> Json:
    """The next message of the server."""
    async with asyncio.timeout(30):
        return json.loads(await daemon.read_frame() or b"null")


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_recorded_client_is_answered_as_recorded(name: str) -> None:
    async with player(record.path(name)) as daemon:
        for line in record.read(name):
            if line["from"] == "client":
                await said(daemon, line["message"])
            else:
                assert await heard(daemon) == line["message"]
        assert await daemon.wait() == 0, daemon.stderr


async def test_a_client_chooses_its_ids_its_names_and_what_it_leaves_out(tmp_path: Path) -> None:
    run: Json = {"promptId": "hello", "variables": {}, "observe": "a", "partialResultToken": "b"}
    lines: Json = [
        {"from": "client", "message": {"id": 1, "method": "promptkit/run", "params": run}},
        {"from": "server", "message": {"method": "$/progress", "params": {"token": "b"}}},
        {
            "from": "server",
            "message": {"method": "promptkit/observation", "params": {"token": "a"}},
        },
        {"from": "server", "message": {"id": 1, "result": {}}},
        {"from": "client", "message": {"method": "$/cancelRequest", "params": {"id": 1}}},
        {"from": "client", "message": {"method": "exit", "params": {}}},
    ]
    file = tmp_path / "a.jsonl"
    file.write_text(record.text(lines), encoding="utf-8")
    async with player(file) as daemon:
        own: Json = {"promptId": "hello", "profile": None, "variables": [], "observe": 7}
        trace = {"method": "$/setTrace", "params": {"value": "off"}}
        await said(daemon, trace, {"id": "x", "method": "promptkit/run", "params": own})
        assert (await heard(daemon))["params"] == {"token": 7}
        assert await heard(daemon) == {"id": "x", "result": {}}
        token = {"method": "window/workDoneProgress/cancel", "params": {"token": "work"}}
        await said(daemon, {"method": "exit"}, token)
        assert await daemon.wait() == 0, daemon.stderr


async def test_an_answer_to_what_the_server_cancelled_is_dropped(tmp_path: Path) -> None:
    lines: Json = [
        {"from": "server", "message": {"id": 4, "method": "promptkit/backend/generate"}},
        {"from": "server", "message": {"method": "$/cancelRequest", "params": {"id": 4}}},
        {"from": "client", "message": {"method": "exit"}},
    ]
    file = tmp_path / "a.jsonl"
    file.write_text(record.text(lines), encoding="utf-8")
    async with player(file) as daemon:
        await said(daemon, {"id": 4, "error": {"code": -32800, "message": "cancelled"}})
        await said(daemon, {"method": "exit"})
        assert await daemon.wait() == 0, daemon.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 1, "method": "promptkit/run", "params": {"promptId": "other"}},
        {"id": 1, "method": "promptkit/run", "params": {"promptId": "hello", "capture": True}},
        {"id": 1, "method": "promptkit/prepare", "params": {"promptId": "hello"}},
        {"method": "$/cancelRequest", "params": {"id": 1}},
        None,
    ],
)
async def test_a_client_that_says_something_else_is_told_so(wrong: Json, tmp_path: Path) -> None:
    request = {"id": 1, "method": "promptkit/run", "params": {"promptId": "hello"}}
    file = tmp_path / "a.jsonl"
    file.write_text(record.text([{"from": "client", "message": request}]), encoding="utf-8")
    async with player(file) as daemon:
        if wrong is None:
            daemon.close_stdin()
        else:
            await said(daemon, wrong)
        assert await daemon.wait() == 1
    assert daemon.stderr.startswith("transcript: ")
    assert daemon.stderr.count("\n") == 1
