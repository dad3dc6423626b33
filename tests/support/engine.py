"""A workspace of two scripted backends, an engine on it, and requests to it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from promptkit_rpc import system
from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.engine import Engine
from promptkit_rpc.execution.request import RunRequest, RunResult
from tests.support.fakes import BOUND, file

SETTINGS = """
version: 1
inputs: [data]
backends:
  one: {kind: scripted, capacity: 1}
  two: {kind: scripted}
profiles:
  first: {backend: one, model: m1, parameters: {temperature: 0.5, maxTokens: 9}}
  second: {backend: two, model: m2}
"""
ASK = """
profile: first
session: "case-{{ text }}"
messages:
  - {role: system, content: "rules", cache: {type: ephemeral, odd: [1, 2.50]}}
  - {role: user, content: "{{ text }}"}
output: {format: json}
"""
MORE = """
messages:
  - {role: developer, content: "note"}
  - {role: user, content: "{{ text }}"}
"""


def workspace(root: Path) -> Path:
    (root / "data").mkdir(parents=True, exist_ok=True)
    file(root, "promptkit.yaml", SETTINGS)
    file(root, "prompts/ask.prompt.yaml", ASK)
    file(root, "prompts/more.prompt.yaml", MORE)
    return root


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    opened = Engine.open(workspace(tmp_path), services=system.services())
    yield opened
    await opened.close()


async def run(engine: Engine, request: RunRequest) -> RunResult:
    async with asyncio.timeout(BOUND):
        return await engine.run(request, CancelSignal())


def ask(text: str, *, capture: bool = True, session_id: str | None = None) -> RunRequest:
    return RunRequest(
        prompt_id="ask", variables={"text": text}, capture=capture, session_id=session_id
    )


def more(source: Exchange, text: str, profile: str | None = "second") -> RunRequest:
    return RunRequest(
        prompt_id="more", variables={"text": text}, profile=profile, continue_from=source
    )


async def captured(engine: Engine, text: str = "one") -> Exchange:
    exchange = (await run(engine, ask(text))).exchange
    assert exchange is not None
    return exchange


def contents(exchange: Exchange) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in exchange.history]
