"""The language server is loaded behind everything else, and only for those who want it."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.rpc import documents
from promptkit_rpc.rpc.documents import load
from promptkit_rpc.rpc.session import Session
from tests.support.editor import BOUND, Editor, editing
from tests.support.workspace import Workspace, echoing

Json = Any
ASK = "prompts/ask.prompt.yaml"
BAD = "messages: [{role: user, content: hi, tone: warm}]\n"
RUN = {"promptId": "ask", "variables": {"text": "hello"}}
OPENED = {"uri": "file:///a", "languageId": "yaml", "version": 1, "text": ""}


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch) -> Generator[threading.Event]:
    """Loading stops until the event is set, at the latest when the block is left."""
    gate = threading.Event()

    def slowly(*arguments: Any) -> Any:
        gate.wait(BOUND)
        return load(*arguments)

    monkeypatch.setattr(documents, "load", slowly)
    try:
        yield gate
    finally:
        gate.set()


@pytest.fixture
def disk(tmp_path: Path) -> Workspace:
    return echoing(tmp_path)


async def run(editor: Editor) -> str:
    return (await editor.request("promptkit/run", RUN))["content"]


async def test_our_own_methods_are_served_while_the_language_server_is_loaded(
    monkeypatch: pytest.MonkeyPatch, disk: Workspace
) -> None:
    with held(monkeypatch) as gate:
        async with editing(disk.root) as editor:
            editor.open(ASK, BAD)
            assert await run(editor) == "hello"
            assert editor.published == []
            gate.set()
            assert await editor.problems(ASK, version=1)


async def test_what_comes_before_it_is_there_is_taken_in_order(
    monkeypatch: pytest.MonkeyPatch, disk: Workspace
) -> None:
    """Every document has its last text, and every request is answered."""
    with held(monkeypatch) as gate:
        async with editing(disk.root) as editor:
            editor.open(ASK, BAD, version=1)
            early = asyncio.create_task(editor.refused("textDocument/hover", {}))
            as_request = {"textDocument": OPENED}
            wrong = asyncio.create_task(editor.refused("textDocument/didOpen", as_request))
            editor.change(ASK, BAD.replace("tone", "mood"), version=2)
            await run(editor)
            assert not early.done()
            gate.set()
            (problem,) = await editor.problems(ASK, version=2)
            assert "mood" in problem["message"]
            assert ((await early).code, (await wrong).code) == (-32601, -32600)
            assert all(report["version"] == 2 for report in editor.reports(ASK))


async def test_a_request_can_be_cancelled_before_it_is_there(
    monkeypatch: pytest.MonkeyPatch, disk: Workspace
) -> None:
    """RET-3, SEC-4: and what comes after such a request is served as ever."""
    with held(monkeypatch) as gate:
        async with editing(disk.root) as editor:
            params = {"workDoneToken": "t"}
            early = asyncio.create_task(editor.refused("textDocument/hover", params))
            await run(editor)
            editor.peer.notify("window/workDoneProgress/cancel", {"token": "t"})
            assert (await early).code == -32800
            editor.open(ASK, BAD)
            gate.set()
            assert await editor.problems(ASK, version=1)


async def test_without_it_all_else_is_served_and_no_request_is_left_unanswered(
    monkeypatch: pytest.MonkeyPatch, disk: Workspace, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-1, SEC-4: an installation may be broken."""
    words = "canary-0123456789"

    def broken(*_: Any) -> None:
        raise ImportError(words)

    monkeypatch.setattr(documents, "load", broken)
    async with editing(disk.root) as editor:
        for _ in range(2):
            refused = await editor.refused("textDocument/hover", {})
            assert (refused.code, refused.data["kind"]) == (-32803, "internal")
        editor.open(ASK, BAD)
        assert await run(editor) == "hello"
    assert "ImportError" in caplog.text
    assert words not in caplog.text


async def test_leaving_while_it_is_loaded_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, disk: Workspace
) -> None:
    with held(monkeypatch):
        async with editing(disk.root) as editor:
            editor.open(ASK, BAD)
            early = asyncio.create_task(editor.refused("textDocument/hover", {}))
            await run(editor)
        assert (await early).code == -32800


async def test_a_client_without_text_documents_gets_no_language_server(
    monkeypatch: pytest.MonkeyPatch, disk: Workspace
) -> None:
    """SEC-4: its methods are unknown then."""

    def never(*_: Any) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(documents, "load", never)
    async with editing(disk.root, capabilities={"textDocument": None}) as editor:
        editor.open(ASK, BAD)
        assert (await editor.refused("textDocument/hover", {})).code == -32601
        assert await run(editor) == "hello"
        assert isinstance(editor.session, Session)
        assert editor.session.documents is None


async def test_the_life_cycle_and_our_methods_stay_our_own(disk: Workspace) -> None:
    async with editing(disk.root) as editor:
        assert (await editor.refused("initialize", {"capabilities": {}})).code == -32600
        assert (await editor.refused("window/showMessage", {})).code == -32601
        assert (await editor.refused("promptkit/nothing", {})).code == -32601
        await editor.cleared("promptkit.yaml")
        assert await editor.request("shutdown") is None
        assert (await editor.refused("textDocument/hover", {})).code == -32600
