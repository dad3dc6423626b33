"""The client as a host: the model, the keys and the next actions that the server asks for."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from promptkit_client._codec import decode, encode
from promptkit_client._connection import Connection, Handler, Receiver
from promptkit_client.errors import METHOD_NOT_FOUND, PromptKitError, to_wire
from promptkit_client.types import GenerateParams, GenerateResult, NextParams

Generate = Callable[
    [GenerateParams],
    Awaitable[str | GenerateResult] | AsyncIterator[str | GenerateResult],
]
"""The host's own model: gives the answer, or its pieces one by one and perhaps a result at last.

To fail, it raises `GenerateError`.
"""

Credential = Callable[[str], Awaitable[str | None]]
"""The host's keys, by name; None if there is none."""

_log = logging.getLogger("promptkit_client")
_LEVELS = {1: logging.ERROR, 2: logging.WARNING, 3: logging.INFO}


class Branch:
    """One coordination's callback, and what it raised."""

    def __init__(self, callback: Callable[[NextParams], Awaitable[Any]]) -> None:
        self._callback = callback
        self._failure: Exception | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def next(self, params: dict[str, Any]) -> Any:
        """The action that the callback chooses."""
        if task := asyncio.current_task():
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            return await self._callback(decode(NextParams, params))
        except Exception as raised:
            self._failure = raised
            raise

    def original(self, error: PromptKitError) -> Exception:
        """What the callback raised, where this error is its echo; else the error."""
        failure = self._failure
        if failure is None:
            return error
        wire = to_wire(failure)
        same = (error.code, error.message) == (wire["code"], wire["message"])
        return failure if same and error.data == wire.get("data") else error

    async def settle(self, patience: float) -> None:
        """Waits for a callback that was cancelled."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=patience)


class Host:
    """Serves the server's requests and hands on its notifications."""

    def __init__(self, generate: Generate | None, credential: Credential | None) -> None:
        self.connection: Connection
        self.branches: dict[str, Branch] = {}
        self.listeners: dict[Any, Callable[[dict[str, Any]], None]] = {}
        self._generate = generate
        self._credential = credential
        self.handlers: dict[str, Handler] = {
            "promptkit/coordinator/next": self._next,
            "promptkit/backend/generate": self._answer,
            "promptkit/credential/get": self._key,
        }
        self.receivers: dict[str, Receiver] = {
            "promptkit/observation": self._told,
            "$/progress": self._told,
            "window/logMessage": self._logged,
        }

    async def _next(self, params: dict[str, Any]) -> Any:
        return await self.branches[params["coordinationId"]].next(params)

    async def _answer(self, params: dict[str, Any]) -> Any:
        if self._generate is None:
            raise PromptKitError("connect(generate=…) was not given", code=METHOD_NOT_FOUND)
        asked = decode(GenerateParams, params)
        answering = self._generate(asked)
        if isinstance(answering, AsyncIterator):
            answer = await self._pieces(answering, asked.partial_result_token)
        else:
            answer = await answering
        return {"content": answer} if isinstance(answer, str) else encode(answer)

    async def _pieces(
        self, pieces: AsyncIterator[str | GenerateResult], token: int | str | None
    ) -> str | GenerateResult:
        texts: list[str] = []
        async for piece in pieces:
            if not isinstance(piece, str):
                return piece
            texts.append(piece)
            if token is not None:
                told = {"token": token, "value": {"text": piece}}
                self.connection.notify("$/progress", told)
        return "".join(texts)

    async def _key(self, params: dict[str, Any]) -> Any:
        if self._credential is None:
            raise PromptKitError("connect(credential=…) was not given", code=METHOD_NOT_FOUND)
        return {"credential": await self._credential(params["name"])}

    def _told(self, params: dict[str, Any]) -> None:
        if listener := self.listeners.get(params["token"]):
            listener(params)

    def _logged(self, params: dict[str, Any]) -> None:
        level = _LEVELS.get(params.get("type", 0), logging.DEBUG)
        _log.log(level, "%s", params.get("message"))
