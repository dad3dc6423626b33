"""Diagnostics as an editor gets them: the whole way, over a connection."""

import asyncio
import logging
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.language.bridge import Server
from promptkit_rpc.language.server import WATCHED, Documents
from promptkit_rpc.language.workspace import OpenText, OpenWorkspace, Report
from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.peer import Call
from tests.support.editor import BOUND, DOCUMENTS, editing
from tests.support.mounted import mounted
from tests.support.workspace import Workspace, echoing

Json = Any

ASK = "prompts/ask.prompt.yaml"
GOOD = "messages: [{role: user, content: hi}]\n"
BAD = "messages: [{role: user, content: hi, tone: warm}]\n"
WATCHING = {**DOCUMENTS, "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}


@pytest.fixture
def disk(tmp_path: Path) -> Workspace:
    return echoing(tmp_path)


async def test_the_whole_workspace_is_checked_at_the_start(disk: Workspace) -> None:
    """SEC-4."""
    disk.write("prompts/a.prompt.yaml", BAD).write("prompts/b.prompt.yaml", "messages: [\n")
    async with editing(disk.root) as editor:
        (unknown,) = await editor.problems("prompts/a.prompt.yaml")
        (broken,) = await editor.problems("prompts/b.prompt.yaml")

    assert "tone" in unknown["message"]
    assert unknown["severity"] == broken["severity"] == 1
    assert unknown["source"] == broken["source"] == "promptkit"
    assert (unknown["code"], broken["code"]) == ("unknownKey", "syntax")
    assert "version" not in editor.reports("prompts/a.prompt.yaml")[0]


async def test_a_sound_workspace_is_said_to_be_sound(disk: Workspace) -> None:
    """So an editor that waits for an answer to its start has one."""
    async with editing(disk.root) as editor:
        await editor.cleared("promptkit.yaml")
    assert len(editor.published) == 1


async def test_ranges_are_counted_as_editors_count(disk: Workspace) -> None:
    """Two units for what UTF-16 says with a pair."""
    line = '  - {role: user, content: "😀日本", 💡: 1}'
    async with editing(disk.root) as editor:
        editor.open(ASK, f"messages:\n{line}\n")
        (problem,) = await editor.problems(ASK)

    units = line.encode("utf-16-le")
    start = units.index("💡".encode("utf-16-le")) // 2
    assert problem["range"] == {
        "start": {"line": 1, "character": start},
        "end": {"line": 1, "character": start + 2},
    }


async def test_every_version_of_an_open_prompt_is_reported_until_it_is_mended(
    disk: Workspace,
) -> None:
    async with editing(disk.root) as editor:
        editor.open(ASK, BAD, version=4)
        assert await editor.problems(ASK, version=4)
        editor.change(ASK, BAD.replace("hi", "hello"), version=5)
        assert await editor.problems(ASK, version=5)
        editor.change(ASK, GOOD, version=6)
        assert await editor.problems(ASK, version=6) == []


async def test_what_is_open_counts_and_what_is_closed_is_read_from_disk(disk: Workspace) -> None:
    disk.write(ASK, BAD)
    async with editing(disk.root) as editor:
        assert await editor.problems(ASK)
        editor.open(ASK, GOOD, version=1)
        assert await editor.problems(ASK, version=1) == []
        editor.close(ASK)
        report = await editor.report(ASK, lambda one: one["diagnostics"])
        assert "version" not in report


async def test_runs_use_what_is_saved(disk: Workspace) -> None:
    """The engine reads the disk, whatever an editor has in hand."""
    async with editing(disk.root) as editor:
        editor.open(ASK, BAD)
        assert await editor.problems(ASK)
        params = {"promptId": "ask", "variables": {"text": "hello"}}
        assert (await editor.request("promptkit/run", params))["content"] == "hello"


async def test_a_change_on_disk_is_seen_when_the_editor_tells(disk: Workspace) -> None:
    async with editing(disk.root) as editor:
        await editor.cleared("promptkit.yaml")
        disk.write(ASK, BAD)
        editor.changed_on_disk(ASK)
        assert await editor.problems(ASK)
        disk.write(ASK, GOOD)
        editor.changed_on_disk(ASK)
        await editor.cleared(ASK)


async def test_saving_has_the_files_beside_read_again(disk: Workspace) -> None:
    """A client that watches no files still says what it saved."""
    output = {"format": "schema", "schemaFile": "answer.json"}
    disk.prompt("ask", "hi", output=output).write("prompts/answer.json", '{"type": 1}')
    async with editing(disk.root) as editor:
        assert await editor.problems(ASK)
        disk.write("prompts/answer.json", "{}")
        document = {"uri": editor.uri("prompts/answer.json")}
        editor.peer.notify("textDocument/didSave", {"textDocument": document})
        await editor.cleared(ASK)


async def test_a_file_that_is_gone_has_no_problems_left(disk: Workspace) -> None:
    disk.write("prompts/b.prompt.yaml", BAD)
    async with editing(disk.root) as editor:
        assert await editor.problems("prompts/b.prompt.yaml")
        (disk.root / "prompts/b.prompt.yaml").unlink()
        editor.changed_on_disk("prompts/b.prompt.yaml")
        await editor.cleared("prompts/b.prompt.yaml")


async def test_problems_move_with_the_name_the_editor_has_for_a_file(disk: Workspace) -> None:
    """The report under the other name is taken back."""
    disk.write(ASK, BAD)
    spelled = (disk.root / ASK).as_uri().replace(".yaml", "%2Eyaml")
    async with editing(disk.root) as editor:
        assert await editor.problems(ASK)
        editor.open(spelled, BAD)
        assert await editor.problems(spelled, version=1)
        await editor.cleared(ASK)
        editor.close(spelled)
        assert await editor.problems(ASK)
        await editor.cleared(spelled)


async def test_a_part_of_a_document_can_be_changed_too(disk: Workspace) -> None:
    """Whole documents are asked for; some clients send what was typed all the same."""
    async with editing(disk.root) as editor:
        editor.open(ASK, "messages: [{role: user, content: '😀', x: 1}]\n")
        (problem,) = await editor.problems(ASK)
        start = problem["range"]["start"]
        end = {"line": 0, "character": start["character"] + len("x: 1")}
        change = {"range": {"start": start, "end": end}, "text": ""}
        document = {"uri": editor.uri(ASK), "version": 2}
        editor.peer.notify(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [change]}
        )
        assert await editor.problems(ASK, version=2) == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/didOpen", {}),
        ("textDocument/didOpen", {"textDocument": {"uri": 5, "text": None}}),
        (
            "textDocument/didOpen",
            {"textDocument": {"uri": "file://[/x", "languageId": "", "version": 1, "text": ""}},
        ),
        ("textDocument/didChange", {"textDocument": {"uri": "file:///x", "version": True}}),
        (
            "textDocument/didChange",
            {
                "textDocument": {"uri": "file:///not-open", "version": 1},
                "contentChanges": [{"text": ""}],
            },
        ),
        ("textDocument/didClose", {"textDocument": {"uri": "file:///never-opened"}}),
        ("textDocument/didClose", {"textDocument": {"uri": "%"}}),
        ("textDocument/unheardOf", {"type_name": 3, "a-b": {"jsonrpc": "2.0"}}),
        ("workspace/didChangeConfiguration", {"settings": None}),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": "x", "type": 9}]}),
        ("workspace/executeCommand", {"command": "x"}),
        ("initialized", {"odd": 1}),
    ],
)
async def test_a_notification_that_cannot_be_read_is_dropped(
    disk: Workspace, caplog: pytest.LogCaptureFixture, method: str, params: Json
) -> None:
    """SEC-4: it is no fault of the server's, and good ones are served as before."""
    async with editing(disk.root) as editor:
        editor.peer.notify(method, params)
        editor.open(ASK, BAD)
        assert await editor.problems(ASK)
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []


@pytest.mark.parametrize(
    "text",
    ["", "\0", "\ufeff", "[" * 100_000, "&a [*a, *a]", "a: !!python/object:os.system x", "- \t- x"],
)
async def test_no_text_stops_the_server(disk: Workspace, text: str) -> None:
    """SEC-4."""
    async with editing(disk.root) as editor:
        editor.open(ASK, text, version=1)
        assert await editor.problems(ASK, version=1)
        editor.change(ASK, GOOD, version=2)
        assert await editor.problems(ASK, version=2) == []


async def test_the_editor_is_asked_to_watch_the_files_where_it_can(disk: Workspace) -> None:
    asked: asyncio.Future[Json] = asyncio.Future()

    def register(params: Json, _: Call) -> None:
        asked.set_result(params)

    async with editing(
        disk.root, capabilities=WATCHING, methods={"client/registerCapability": register}
    ) as editor:
        (registration,) = (await asyncio.wait_for(asked, 30))["registrations"]
        assert registration["method"] == "workspace/didChangeWatchedFiles"
        assert registration["registerOptions"] == {"watchers": [{"globPattern": WATCHED}]}
        editor.open(ASK, BAD)
        assert await editor.problems(ASK)


async def test_an_editor_that_refuses_to_watch_is_served_all_the_same(disk: Workspace) -> None:
    def register(_params: Json, _call: Call) -> None:
        raise RpcError(-32601, "no")

    async with editing(
        disk.root, capabilities=WATCHING, methods={"client/registerCapability": register}
    ) as editor:
        editor.open(ASK, BAD)
        assert await editor.problems(ASK)


async def test_capabilities_that_cannot_be_read_take_nothing_away(disk: Workspace) -> None:
    """SEC-4."""
    odd = {"textDocument": {"hover": {"contentFormat": "markdown"}}, "general": 5}
    async with editing(disk.root, capabilities=odd) as editor:
        editor.open(ASK, BAD)
        assert await editor.problems(ASK)


class Gated(OpenWorkspace):
    """Stops at every check until it is let through."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, None)
        self.begun = threading.Event()
        self.gate = threading.Event()
        self.checks = 0

    def check(self, opened: Iterable[OpenText]) -> tuple[Report, ...]:
        texts = list(opened)
        self.checks += 1
        self.begun.set()
        self.gate.wait(BOUND)
        return super().check(texts)


async def test_what_changes_during_a_check_is_seen_by_one_more(
    monkeypatch: pytest.MonkeyPatch, disk: Workspace
) -> None:
    """However much was typed meanwhile; and the loop is free for all else."""
    workspace, server = Gated(disk.root), Server()
    Documents(server, workspace)
    async with mounted(monkeypatch, disk.root, server=server) as editor:
        await asyncio.to_thread(workspace.begun.wait, BOUND)
        editor.open(ASK, GOOD, version=1)
        for version in range(2, 100):
            editor.change(ASK, BAD, version)
        params = {"promptId": "ask", "variables": {"text": "hello"}}
        assert (await editor.request("promptkit/run", params))["content"] == "hello"
        workspace.gate.set()
        assert await editor.problems(ASK, version=99)
    assert workspace.checks == 2
