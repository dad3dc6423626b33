"""What the mounted server does by itself: asks, starts, ends, and what it never gets to see."""

import asyncio
import gc
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from promptkit_rpc.language.bridge import Bridge, Server
from promptkit_rpc.language.server import mount
from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.peer import Call
from tests.support.editor import BOUND
from tests.support.mounted import CANARY, HOVER, PLACE, Held, fine, hover, mounted, serving
from tests.support.workspace import echoing

Json = Any


async def test_the_server_asks_the_client_under_an_id_of_the_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Stock, both directions share one table: here, cancelling one's own touches nobody else's."""
    server = Server()
    asked: list[Json] = []

    def configure(params: Json, call: Call) -> Json:
        asked.append((type(call.id), params))
        editor.peer.notify("$/cancelRequest", {"id": call.id})
        return [{"my-key": {"jsonrpc": "2.0"}}, None]

    async def ask(_: Any) -> types.Hover:
        items = [types.ConfigurationItem(section="a"), types.ConfigurationItem(section="b")]
        got = await server.workspace_configuration_async(types.ConfigurationParams(items=items))
        return hover(repr(list(got)))

    methods = {"workspace/configuration": configure}
    async with mounted(
        monkeypatch, tmp_path, {HOVER: ask}, server=server, methods=methods
    ) as editor:
        answer = await editor.request(HOVER, {**PLACE})

    assert answer == {"contents": "[{'my-key': {'jsonrpc': '2.0'}}, None]"}
    assert asked == [(int, {"items": [{"section": "a"}, {"section": "b"}]})]


@pytest.mark.parametrize("answer", [RpcError(-32000, "no", {"x": 1}), 5])
async def test_a_client_that_answers_with_an_error_or_with_nonsense_gives_the_feature_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: Json
) -> None:
    """SEC-4."""
    server = Server()

    def configure(_params: Json, _call: Call) -> Json:
        if isinstance(answer, RpcError):
            raise answer
        return answer

    async def ask(_: Any) -> types.Hover:
        try:
            await server.workspace_configuration_async(types.ConfigurationParams(items=[]))
        except JsonRpcException as error:
            return hover(str(error.code))
        return hover("answered")

    methods = {"workspace/configuration": configure}
    async with mounted(
        monkeypatch, tmp_path, {HOVER: ask}, server=server, methods=methods
    ) as editor:
        expected = "-32000" if isinstance(answer, RpcError) else "-32600"
        assert await editor.request(HOVER, {**PLACE}) == {"contents": expected}


class Nobody:
    """A client that keeps what it is told, and is asked nothing."""

    def __init__(self) -> None:
        self.told: list[Json] = []

    def notify(self, method: str, params: Any) -> None:
        self.told.append((method, params))

    async def ask(self, method: str, params: Any) -> Json:
        raise AssertionError(f"asked {method} {params}")


@pytest.mark.parametrize("method", ["initialize", "shutdown", "exit", "$/cancelRequest"])
async def test_the_life_cycle_is_not_the_servers(tmp_path: Path, method: str) -> None:
    """Stock, `shutdown` silences it and `exit` ends the process, whoever passes them on."""
    server = Server()
    serving(server, {HOVER: fine})
    bridge = Bridge(server, tmp_path.as_uri(), {})
    bridge.connect(Nobody())

    assert (await bridge.request(method, {"id": 1}))["error"]["code"] == -32601
    bridge.notification(method, {"id": 1})
    assert await bridge.request(HOVER, {**PLACE}) == {"result": {"contents": "fine"}}
    await bridge.close()


async def test_what_a_feature_raises_goes_no_further_than_the_bridge(tmp_path: Path) -> None:
    """SEC-1: stock, the message is the exception's, and the data its traceback."""

    def raises(_: Any) -> None:
        raise ValueError(CANARY)

    server = Server()
    serving(server, {HOVER: raises})
    bridge = Bridge(server, tmp_path.as_uri(), {})
    answer = await bridge.request(HOVER, {**PLACE})
    assert answer == {"error": {"code": -32603, "message": "internal error"}}


async def test_nothing_is_kept_of_a_notification(tmp_path: Path) -> None:
    """Stock, every one leaves a record behind."""
    bridge = mount(echoing(tmp_path).root, None, {})
    bridge.connect(Nobody())
    document = {"uri": "untitled:a", "languageId": "yaml", "version": 1, "text": ""}
    bridge.notification("textDocument/didOpen", {"textDocument": document})

    def futures() -> int:
        gc.collect()
        return sum(type(one) is Future for one in gc.get_objects())

    before = futures()
    for version in range(2, 500):
        changed = {"uri": "untitled:a", "version": version}
        change = {"textDocument": changed, "contentChanges": [{"text": "x"}]}
        bridge.notification("textDocument/didChange", change)
    assert futures() <= before + 2  # a check may be under way
    await bridge.close()


async def test_closing_ends_what_the_server_was_doing(tmp_path: Path) -> None:
    server = Server()
    held = Held()
    bridge = Bridge(server, tmp_path.as_uri(), {})
    client = Nobody()
    bridge.connect(client)
    server.spawn(held(None))
    async with asyncio.timeout(BOUND):
        await held.begun.wait()
        await bridge.close()
    assert held.cancelled.is_set()
    server.window_log_message(types.LogMessageParams(types.MessageType.Info, "late"))
    assert client.told == []


async def test_only_the_capabilities_at_fault_are_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-4: an editor may be newer than this server's types."""
    server = Server()
    watched = {"dynamicRegistration": True}
    kinds = {"symbolKind": {"valueSet": [1, 999]}}
    Bridge(
        server,
        tmp_path.as_uri(),
        {
            "textDocument": {"documentSymbol": kinds, "hover": {"contentFormat": ["markdown"]}},
            "workspace": {"didChangeWatchedFiles": watched},
            "window": 7,
            "general": {"staleRequestSupport": {"cancel": CANARY}},
        },
    )
    got = server.client_capabilities
    assert got.workspace is not None
    assert got.workspace.did_change_watched_files is not None
    assert got.text_document is not None
    assert (got.text_document.document_symbol, got.window) == (None, None)
    assert got.text_document.hover is not None
    assert "params.capabilities.textDocument.documentSymbol" in caplog.text
    assert CANARY not in caplog.text


async def test_positions_are_counted_in_utf_16_whatever_the_client_offers(tmp_path: Path) -> None:
    """The answer to `initialize` says so."""
    server = Server()
    Bridge(server, tmp_path.as_uri(), {"general": {"positionEncodings": ["utf-8", "utf-16"]}})
    assert server.workspace.position_encoding == "utf-16"
