"""A client that stops reading while fifty runs stream to it, and then reads on.

The long form, `-m load`, streams 8 MB a run.
"""

import asyncio
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.figures import megabytes, tell
from tests.support.frames import frame
from tests.support.probe import PROBED, resident
from tests.support.process import BOUND, RawDaemon
from tests.support.provider import Provider, streamed_completion
from tests.support.workspace import Workspace

Json = Any
RUNS = 50
PIECE = "0123456789abcde " * 256
"""4 KB of text, which is one event of a stream."""

HELD_AT_MOST = 40_000_000
"""Bytes that the daemon may take for fifty streams that nobody reads, however long they are."""


class Client:
    """Speaks to a daemon, and reads only when it is told to."""

    def __init__(self, daemon: RawDaemon) -> None:
        self._daemon = daemon

    def ask(self, ident: Json, method: str, params: Json) -> None:
        message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
        self._daemon.put(frame(message))

    async def next(self) -> Json:
        body = await self._daemon.read_frame()
        self._daemon.received.clear()
        assert body is not None, self._daemon.stderr
        return json.loads(body)

    async def call(self, method: str, params: Json) -> Json:
        self.ask(method, method, params)
        while (message := await self.next()).get("id") != method:
            pass
        return message["result"]


async def quiet(daemon: RawDaemon, provider: Provider) -> int:
    """Waits until the daemon has had all requests out and takes no more; its peak in bytes."""
    sizes: list[int] = []
    async with asyncio.timeout(BOUND):
        await provider.arrived(RUNS + 1)
        while len(sizes) < 10 or max(sizes[-10:]) - min(sizes[-10:]) > 100_000:
            sizes.append(resident(daemon.process.pid))
            await asyncio.sleep(0.05)
    return max(sizes)


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(300, id="short"),
        pytest.param(2000, id="long", marks=pytest.mark.load),
    ],
)
async def test_a_client_that_stops_reading_costs_bounded_memory_and_loses_nothing(
    tmp_path: Path, pieces: int
) -> None:
    """R-20: every piece comes in its order, and every run is answered once."""
    async with Provider() as provider:
        provider.always(streamed_completion(*[PIECE] * pieces))
        workspace = (
            Workspace(tmp_path)
            .settings(
                backends={"main": {"kind": "openai", "baseUrl": provider.url}},
                profiles={"p": {"backend": "main", "model": "m"}},
            )
            .prompt("ask", "hi", profile="p")
        )
        async with RawDaemon(workspace.root, command=PROBED) as daemon:
            client = Client(daemon)
            await client.call("initialize", {"processId": None, "rootUri": workspace.uri})
            await client.call("promptkit/run", {"promptId": "ask"})
            before = (await client.call("test/probe", {}))["residentBytes"]

            for number in range(RUNS):
                params = {"promptId": "ask", "partialResultToken": number}
                client.ask(number, "promptkit/run", params)
            stopped = await quiet(daemon, provider)
            assert stopped - before < HELD_AT_MOST

            await _read_on(client, PIECE * pieces)
            probe = await client.call("test/probe", {})
        assert "Traceback" not in daemon.stderr
        tell(
            f"{RUNS} streams of {megabytes(len(PIECE) * pieces)}, nobody reading:"
            f" {megabytes(stopped - before)} held; then read on, longest stall"
            f" {probe['stallMs']} ms"
        )


async def _read_on(client: Client, text: str) -> None:
    """Reads until every run is answered: each answer once, after all its pieces."""
    told: defaultdict[int, list[str]] = defaultdict(list)
    answered: set[int] = set()
    while len(answered) < RUNS:
        match await client.next():
            case {"method": "$/progress", "params": {"token": token, "value": value}}:
                assert token not in answered
                told[token].append(value["text"])
            case {"id": ident, "result": result}:
                assert ident not in answered
                answered.add(ident)
                assert result["content"] == text == "".join(told.pop(ident))
            case other:
                raise AssertionError(f"unexpected: {str(other)[:200]}")
