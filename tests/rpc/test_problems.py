"""A client that shows no documents is told of its workspace's problems in a line to log."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from promptkit_rpc import system
from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.errors import Location
from promptkit_rpc.rpc.hello import Hello
from promptkit_rpc.rpc.local import connect
from promptkit_rpc.rpc.peer import Peer
from promptkit_rpc.rpc.problems import SHOWN, summary
from promptkit_rpc.rpc.session import Session
from promptkit_rpc.secret import Secret
from promptkit_rpc.services import ClientCredential, ClientGenerate, Services, Timer
from tests.support.workspace import Workspace, echoing

Json = Any
BAD = "messages: [{role: user, content: hi, tone: warm}]\n"


class Due:
    """What is due later, done when the test says so."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], object]] = []

    def later(self, _delay: float, callback: Callable[[], object]) -> Timer:
        self.callbacks.append(callback)
        return asyncio.get_running_loop().call_later(3600, callback)

    def services(self, generate: ClientGenerate, credential: ClientCredential) -> Services:
        return evolve(system.services(generate, credential), later=self.later)

    def all(self) -> None:
        """Everything that is due is done."""
        callbacks, self.callbacks = self.callbacks, []
        for callback in callbacks:
            callback()


async def lines(root: Path, capabilities: Mapping[str, Json]) -> list[Json]:
    """What a client is told to log because of two requests of ours."""
    due = Due()
    told: list[Json] = []
    sessions: list[Session] = []

    def make(peer: Peer, hello: Hello) -> Session:
        sessions.append(Session(peer, hello, due.services))
        return sessions[0]

    async with connect(make, {}, {"window/logMessage": told.append}) as client:
        params = {"rootUri": root.as_uri(), "capabilities": capabilities}
        await client.request("initialize", params)
        due.callbacks.clear()  # what is loaded ahead is nothing that is told
        for _ in range(2):
            await client.request("promptkit/prompt/list", {})
            due.all()
        log = sessions[0].problems
        if log is not None:
            async with asyncio.timeout(10):
                await log.told()
        await client.request("promptkit/session/status", {})
    return told


@pytest.fixture
def disk(tmp_path: Path) -> Workspace:
    return echoing(tmp_path)


async def test_the_first_problems_are_told_once(disk: Workspace) -> None:
    """SEC-4."""
    disk.write("prompts/bad.prompt.yaml", BAD)
    (line,) = await lines(disk.root, {})
    assert line["type"] == 2
    assert line["message"].startswith("the workspace has 1 problem\n")
    assert "prompts/bad.prompt.yaml:1:38: 'tone'" in line["message"]


async def test_nothing_is_told_of_a_sound_workspace(disk: Workspace) -> None:
    assert await lines(disk.root, {}) == []


async def test_a_client_with_text_documents_is_shown_them_there(disk: Workspace) -> None:
    disk.write("prompts/bad.prompt.yaml", BAD)
    assert await lines(disk.root, {"textDocument": {}}) == []


def problem(number: int, message: str) -> Problem:
    return Problem(location=Location("a.yaml", number, 1), message=message)


def test_of_many_problems_the_first_are_named_and_the_rest_counted() -> None:
    text = summary(tuple(problem(number, f"wrong {number}") for number in range(1, 30)))
    assert text.splitlines()[0] == "the workspace has 29 problems"
    assert f"a.yaml:{SHOWN}:1: wrong {SHOWN}" in text
    assert f"wrong {SHOWN + 1}" not in text
    assert f"and {29 - SHOWN} more" in text


def test_no_credential_is_told() -> None:
    """SEC-1."""
    key = Secret("canary-0123456789")
    assert "canary" not in summary((problem(1, f"{key.reveal()!r} is not a key here"),))
