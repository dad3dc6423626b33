"""What a stock server does wrong, and the one that is mounted must not: one test for each."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidRequest

from promptkit_rpc.language.bridge import Server
from promptkit_rpc.rpc.peer import Call
from tests.support.editor import BOUND, Editor
from tests.support.mounted import CANARY, HOVER, PLACE, Held, fine, hover, mounted

Json = Any


async def served(editor: Editor) -> bool:
    """Whether a good request is still answered."""
    return await editor.request(HOVER, {**PLACE}) == {"contents": "fine"}


def nothing(_: Any) -> None:
    pass


async def test_a_request_is_answered_by_its_feature(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with mounted(monkeypatch, tmp_path, {HOVER: fine}) as editor:
        assert await served(editor)


async def test_a_result_of_nothing_is_null(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with mounted(monkeypatch, tmp_path, {HOVER: nothing}) as editor:
        assert await editor.request(HOVER, {**PLACE}) is None


@pytest.mark.parametrize(
    ("params", "path", "message"),
    [
        ({}, "params.textDocument", "is required"),
        (
            {"textDocument": 5, "position": None},
            "params.textDocument.uri",
            "is not what LSP has there",
        ),
        ({**PLACE, "textDocument": {"uri": 5}}, "params.textDocument.uri", "must be a string"),
        (
            {**PLACE, "position": {"line": True, "character": 0}},
            "params.position.line",
            "must be an integer",
        ),
        (
            {**PLACE, "position": {"line": 1, "character": "5"}},
            "params.position.character",
            "must be an integer",
        ),
        (
            {**PLACE, "position": {"line": 1.0, "character": 0}},
            "params.position.line",
            "must be an integer",
        ),
    ],
)
async def test_params_that_cannot_be_read_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, params: Json, path: str, message: str
) -> None:
    """SEC-4: stock, there is no answer at all, and `true` is 1."""
    async with mounted(monkeypatch, tmp_path, {HOVER: fine}) as editor:
        refused = await editor.refused(HOVER, params)
        assert refused.code == -32602
        assert {"path": path, "message": message} in refused.data["invalid"]
        assert refused.data["kind"] == "requestInvalid"
        assert await served(editor)


@pytest.mark.parametrize(
    "method",
    [
        "textDocument/completion",
        "textDocument/unheardOf",
        "workspace/executeCommand",
        "workspace/configuration",
        "textDocument/" + "x" * 5000,
    ],
)
async def test_a_method_without_a_feature_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, method: str
) -> None:
    """SEC-4: whatever its params are, and whether the protocol has the method or not."""
    async with mounted(monkeypatch, tmp_path, {HOVER: fine}) as editor:
        for params in ({}, {"a-b": {"jsonrpc": "2.0"}}, {"type_name": 5}):
            refused = await editor.refused(method, params)
            assert refused.code == -32601
            assert len(refused.message) < 200
        assert await served(editor)


async def test_a_notification_sent_as_a_request_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SEC-4: it would be taken for the notification, and never be answered."""
    document = {"uri": "file:///a", "languageId": "yaml", "version": 1, "text": ""}
    opened: list[Any] = []
    server = Server()
    server.handle("textDocument/didOpen", opened.append)
    async with mounted(monkeypatch, tmp_path, server=server) as editor:
        refused = await editor.refused("textDocument/didOpen", {"textDocument": document})
    assert refused.code == -32600
    assert opened == []


async def test_content_may_hold_a_key_named_jsonrpc(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Stock, an object with such a key is taken for a message, and the request never answered."""
    inner = {"jsonrpc": "2.0", "id": 1, "method": "exit", "my-key": {"jsonrpc": "1.0"}}

    def echo(params: types.CodeActionParams) -> list[types.CodeAction]:
        return [types.CodeAction(title="x", data=params.context.diagnostics[0].data)]

    params = {
        "textDocument": PLACE["textDocument"],
        "range": {"start": PLACE["position"], "end": PLACE["position"]},
        "context": {
            "diagnostics": [
                {
                    "range": {"start": PLACE["position"], "end": PLACE["position"]},
                    "message": "m",
                    "data": inner,
                }
            ]
        },
    }
    async with mounted(monkeypatch, tmp_path, {"textDocument/codeAction": echo}) as editor:
        assert await editor.request("textDocument/codeAction", params) == [
            {"title": "x", "data": inner}
        ]


def raises(_: Any) -> None:
    raise ValueError(f"/secret/path {CANARY}")


async def raises_later(_: Any) -> None:
    await asyncio.sleep(0)
    raise ValueError(f"/secret/path {CANARY}")


def cannot_be_sent(_: Any) -> Any:
    return {"when": {CANARY}, "what": object()}


async def cannot_be_sent_later(_: Any) -> Any:
    await asyncio.sleep(0)
    return types.Hover(contents=object())  # pyright: ignore[reportArgumentType] - on purpose


@pytest.mark.parametrize("handler", [raises, raises_later, cannot_be_sent, cannot_be_sent_later])
async def test_a_feature_that_fails_is_answered_for_and_tells_nothing_of_itself(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    handler: Callable[[Any], Any],
) -> None:
    """SEC-1, SEC-4: stock, tracebacks go out, and what cannot be sent is never answered."""
    features = {HOVER: handler, "textDocument/definition": nothing}
    async with mounted(monkeypatch, tmp_path, features) as editor:
        refused = await editor.refused(HOVER, {**PLACE})
        assert (refused.code, refused.data["kind"]) == (-32803, "internal")
        assert await editor.request("textDocument/definition", {**PLACE}) is None

    assert CANARY not in f"{refused} {refused.data} {caplog.text}"
    assert "Traceback" not in f"{refused.data}{refused.message}"
    assert any(record.levelno == logging.ERROR for record in caplog.records)


async def test_a_notification_whose_handler_fails_is_said_to_nobody_but_the_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Stock, the client is shown a message box with the exception."""
    shown: list[Any] = []
    server = Server()
    server.handle("textDocument/didClose", raises)

    def show(params: Json, _: Call) -> None:
        shown.append(params)

    async with mounted(
        monkeypatch, tmp_path, {HOVER: fine}, server=server, methods={"window/showMessage": show}
    ) as editor:
        editor.close("a.yaml")
        assert await served(editor)
    assert shown == []
    assert "ValueError" in caplog.text
    assert CANARY not in caplog.text


async def test_a_feature_may_refuse_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: Any) -> None:
        raise JsonRpcInvalidRequest("not here")

    async with mounted(monkeypatch, tmp_path, {HOVER: refuse}) as editor:
        refused = await editor.refused(HOVER, {**PLACE})
    assert (refused.code, refused.message) == (-32600, "not here")
    assert not caplog.records


class Kept(logging.Handler):
    """A log, as a program sets one up on the root logger."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += self.format(record)


async def test_nothing_of_a_message_reaches_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-1, K-03: stock, whole messages are logged; here no level brings them back."""
    kept = Kept()
    monkeypatch.setattr(logging.root, "handlers", [*logging.root.handlers, kept])
    async with mounted(monkeypatch, tmp_path, {HOVER: lambda _: hover(CANARY)}) as editor:
        for name in (None, "pygls", "pygls.protocol.json_rpc", "pygls.workspace.workspace"):
            caplog.set_level(logging.DEBUG, name)
        assert await editor.request(HOVER, {**PLACE, CANARY: CANARY}) == {"contents": CANARY}
        editor.open("a.prompt.yaml", CANARY)
        editor.peer.notify("textDocument/didOpen", {"textDocument": {"uri": CANARY}})
        await editor.refused(HOVER, {"textDocument": CANARY, "position": {"line": CANARY}})
        logging.getLogger("other").debug("is kept")
    assert "is kept" in kept.text
    assert CANARY not in kept.text


async def test_a_request_under_way_is_cancelled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """RET-3: the feature is stopped, and the one answer is the cancel's."""
    held = Held()

    async def wait(params: Any) -> None:
        await held(params)

    async with mounted(monkeypatch, tmp_path, {HOVER: wait}) as editor:
        under_way = asyncio.create_task(editor.refused(HOVER, {**PLACE, "workDoneToken": "t"}))
        async with asyncio.timeout(BOUND):
            await held.begun.wait()
            editor.peer.notify("window/workDoneProgress/cancel", {"token": "t"})
            assert (await under_way).code == -32800
            await held.cancelled.wait()


async def test_an_answer_after_the_cancel_is_dropped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Stock, the reader is told of an invalid state."""
    begun, gate = asyncio.Event(), asyncio.Event()

    async def stubborn(_: Any) -> types.Hover:
        begun.set()
        try:
            await gate.wait()
        except asyncio.CancelledError:
            await gate.wait()
        return hover("late")

    features = {HOVER: stubborn, "textDocument/definition": nothing}
    async with mounted(monkeypatch, tmp_path, features) as editor:
        under_way = asyncio.create_task(editor.refused(HOVER, {**PLACE, "workDoneToken": "t"}))
        async with asyncio.timeout(BOUND):
            await begun.wait()
            editor.peer.notify("window/workDoneProgress/cancel", {"token": "t"})
            assert (await under_way).code == -32800
        gate.set()
        assert await editor.request("textDocument/definition", {**PLACE}) is None
