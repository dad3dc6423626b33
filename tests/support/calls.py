"""Calls for backends under test, and a sink that keeps what is streamed into it."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from attrs import evolve

from promptkit_rpc.backends.anthropic import AnthropicBackend
from promptkit_rpc.backends.openai import OpenAIBackend
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.definitions.settings import BackendKind, BackendSettings
from promptkit_rpc.errors import GenerationFailed, Location
from promptkit_rpc.generation import Backend, Call, CallFailed, Parameters
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract, Format
from promptkit_rpc.secret import Secret
from promptkit_rpc.services import Services
from promptkit_rpc.system import services
from tests.support.provider import BOUND

HERE = Location("promptkit.yaml", 3)

NAME_AND_NUMBER = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["name", "n"],
    "additionalProperties": False,
}


class Sink:
    """Keeps the pieces; while `full` is set there is no room until `space` is."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.full = False
        self.space = asyncio.Event()
        self.asked = asyncio.Event()
        self._pushed = asyncio.Event()

    async def until(self, count: int) -> None:
        """Waits for so many pieces."""
        while len(self.pieces) < count:
            self._pushed.clear()
            await self._pushed.wait()

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def push(self, text: str) -> None:
        self.pieces.append(text)
        self._pushed.set()

    def room(self) -> Awaitable[None] | None:
        self.asked.set()
        return self._wait() if self.full else None

    async def _wait(self) -> None:
        await self.space.wait()
        self.full = False


def settings(kind: BackendKind, url: str, **fields: Any) -> BackendSettings:
    return BackendSettings(name="main", kind=kind, location=HERE, base_url=url, **fields)


NOW = 1_800_000_000.0
"""What the clock of a backend under test says, in seconds since the epoch."""


def still() -> Services:
    """Services whose clock stands still."""
    return evolve(services(), time=lambda: NOW)


def openai(url: str, **fields: Any) -> OpenAIBackend:
    """A backend at a URL, below `/v1` unless the URL has a query."""
    made = settings(BackendKind.OPENAI, url if "?" in url else f"{url}/v1", **fields)
    return OpenAIBackend(made, Path(), still())


def anthropic(url: str, **fields: Any) -> AnthropicBackend:
    made = settings(BackendKind.ANTHROPIC, url, **fields)
    return AnthropicBackend(made, Path(), still())


def said(*messages: str | tuple[Role, str] | Message) -> History:
    """A history of one segment; a bare text is a user's."""
    return History(
        tuple(
            m
            if isinstance(m, Message)
            else Message(Role.USER, m)
            if isinstance(m, str)
            else Message(*m)
            for m in messages
        )
    )


def schema(value: Any, repairs: int = 0) -> Contract:
    return Contract(format=Format.SCHEMA, schema=Json.of(value), repairs=repairs)


def call(
    history: History | str = "why?",
    *,
    key: Secret | str | None = None,
    model: str = "m",
    **fields: Any,
) -> Call:
    given: dict[str, Any] = {"parameters": Parameters(), "contract": Contract()}
    return Call(
        run_id="run-1",
        attempt=1,
        prompt_id="p",
        model=model,
        history=said(history) if isinstance(history, str) else history,
        credential=Secret(key) if isinstance(key, str) else key,
        **(given | fields),
    )


async def failure(backend: Backend, made: Call | None = None) -> CallFailed:
    """How a call fails that must fail."""
    try:
        async with asyncio.timeout(BOUND):
            answer = await backend.generate(made or call())
    except CallFailed as failed:
        return failed
    raise AssertionError(f"an answer came: {answer!r}")


async def error(backend: Backend, made: Call | None = None) -> GenerationFailed:
    """The error of a call that must fail."""
    return (await failure(backend, made)).error


async def settled() -> None:
    """Gives everything that is ready in the loop its turns."""
    for _ in range(200):
        await asyncio.sleep(0)
