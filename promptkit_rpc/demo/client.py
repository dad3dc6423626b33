"""The demo's connection: the server as a subprocess, callbacks as functions."""

import asyncio
import itertools
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

from promptkit_rpc.rpc.errors import ConnectionLost, RpcError
from promptkit_rpc.rpc.framing import Framer, Lost, header
from promptkit_rpc.rpc.peer import Call, Peer, Table

NextAction = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
_CHUNK = 65536


class RequestFailed(Exception):  # noqa: N818 - what happened
    """The server refused a request; the message says which and why."""


class _Pipe:
    """The server's input. What is sent in one step of the loop goes out in one write."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._parts: list[bytes] = []

    def send(self, body: bytes, *, last: bool = False) -> None:
        del last
        if not self._parts:
            asyncio.get_running_loop().call_soon(self._flush)
        self._parts += (header(len(body)), body)

    def room(self) -> None:
        return None

    def _flush(self) -> None:
        self._writer.write(b"".join(self._parts))
        self._parts.clear()


class DemoClient:
    """A session with a server of its own; leaving the context shuts it down."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._callbacks: dict[str, NextAction] = {}
        self._names = itertools.count(1)
        self._answer: str | None = None
        self._latest: str | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "promptkit_rpc", "serve"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        if self._server.stdin is None or self._server.stdout is None:
            raise RuntimeError("the server has no pipes")
        self._peer = Peer(
            _Pipe(self._server.stdin),
            Table(
                {
                    "promptkit/coordinator/next": self._next,
                    "promptkit/backend/generate": self._generate,
                }
            ),
        )
        self._reading = asyncio.create_task(self._read(self._server.stdout))
        await self.request("initialize", {"rootUri": self._root.as_uri(), "capabilities": {}})
        self._peer.notify("initialized", {})
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server.returncode is None and not self._reading.done():
            await self.request("shutdown", {})
            self._peer.notify("exit", {})
        await self._server.wait()
        await self._reading

    async def _read(self, source: asyncio.StreamReader) -> None:
        framer = Framer()
        while data := await source.read(_CHUNK):
            for event in framer.feed(data):
                if not isinstance(event, Lost):
                    self._peer.receive(event)
        self._peer.lose()

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """One request's result.

        Raises:
            RequestFailed: the server answered with an error, or ended.
        """
        try:
            return await self._peer.request(method, params)
        except RpcError as error:
            raise RequestFailed(f"{method}: {error.message}") from error
        except ConnectionLost as error:
            raise RequestFailed(f"{method}: the server has ended") from error

    async def coordinate(self, params: dict[str, Any], next_action: NextAction) -> dict[str, Any]:
        """Drives one branch; `next_action` gets each turn and answers the next action."""
        name = f"branch-{next(self._names)}"
        self._callbacks[name] = next_action
        self._latest = name
        named = {**params, "coordinationId": name, "workDoneToken": name}
        return await self.request("promptkit/coordinate", named)

    def answer_and_cancel(self, answer: str) -> None:
        """Answers the next generation as the model, and cancels the coordination behind it."""
        self._answer = answer

    async def _next(self, turn: dict[str, Any], _: Call) -> dict[str, Any]:
        return await self._callbacks[turn["coordinationId"]](turn)

    def _generate(self, _: dict[str, Any], __: Call) -> dict[str, Any]:
        # The answer goes into the pipe when this returns, and the cancel right behind it.
        asyncio.get_running_loop().call_soon(self._cancel)
        return {"content": self._answer}

    def _cancel(self) -> None:
        self._peer.notify("window/workDoneProgress/cancel", {"token": self._latest})
