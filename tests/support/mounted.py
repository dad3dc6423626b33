"""A language server with a test's own handlers, mounted behind a connection in this process."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from lsprotocol import types

from promptkit_rpc.language.bridge import Bridge, Server
from promptkit_rpc.rpc import documents
from promptkit_rpc.rpc.peer import Handler
from tests.support.editor import DOCUMENTS, Editor, editing

Json = Any
CANARY = "canary-0123456789"
"""Content that nobody else may see."""
HOVER = "textDocument/hover"
PLACE: Mapping[str, Json] = MappingProxyType(
    {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}
)
"""Good params of a hover."""


def hover(text: str) -> types.Hover:
    """What a hover answers."""
    return types.Hover(contents=text)


def fine(_: Any) -> types.Hover:
    """A hover that is well."""
    return hover("fine")


def serving(server: Server, features: Mapping[str, Callable[[Any], Any]]) -> None:
    """Registers handlers, as any feature is registered."""
    register: Any = server.feature
    for method, handler in features.items():
        register(method)(handler)


@asynccontextmanager
async def mounted(
    monkeypatch: pytest.MonkeyPatch,
    root: Path,
    features: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),
    *,
    server: Server | None = None,
    capabilities: Mapping[str, Json] = DOCUMENTS,
    methods: Mapping[str, Handler] = MappingProxyType({}),
) -> AsyncGenerator[Editor, None]:
    """An editor whose language server has these handlers and no others."""
    mine = server or Server()
    serving(mine, features)

    def load(root: Path, _: str | None, capabilities: dict[str, Any]) -> Bridge:
        return Bridge(mine, root.as_uri(), capabilities)

    monkeypatch.setattr(documents, "load", load)
    async with editing(root, capabilities=capabilities, methods=methods) as editor:
        yield editor


class Held:
    """A handler that waits; knows whether it was begun and whether it was cancelled."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.gate = asyncio.Event()

    async def __call__(self, _: Any) -> None:
        self.begun.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
