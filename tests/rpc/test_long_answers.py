"""A long answer is encoded in strides; between them other requests get their turn."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.execution.observe import RunStarted
from promptkit_rpc.rpc.session import Session
from tests.support.session import Client, attached
from tests.support.workspace import echoing

MEMBERS, TURNS = 50_000, 3000


def session_of(client: Client) -> Session:
    assert client.session is not None
    return client.session


async def overtaken(client: Client, method: str, params: Any) -> Any:
    """The answer to a request that another one overtakes, made when it is being served."""
    asked = client.start(method, params)
    for _ in range(5):
        await asyncio.sleep(0)
    status = client.start("promptkit/session/status")
    result = await asked
    assert status.done()
    return result


async def a_group(client: Client) -> tuple[str, dict[str, Any]]:
    group = (await client.request("promptkit/group/create"))["groupId"]
    collect = session_of(client).state.groups.get(group)
    for number in range(MEMBERS):
        collect(
            RunStarted(
                run_id=f"run-{number}",
                time=0.0,
                prompt_id="ask",
                profile="p",
                backend="b",
                model="m",
                parent_run_id=None,
            )
        )
    return "promptkit/group/snapshot", {"groupId": group}


def hold(client: Client) -> str:
    """A held exchange of many turns."""
    history: History | None = None
    for _ in range(TURNS):
        history = History((Message(Role.USER, "x" * 2000),), history)
    assert history is not None
    session_of(client).state.exchanges.hold(Exchange("long", None, history))
    return "long"


async def an_exchange(client: Client) -> tuple[str, dict[str, Any]]:
    return "promptkit/exchange/details", {"runId": hold(client)}


async def a_preparation(client: Client) -> tuple[str, dict[str, Any]]:
    request = {"promptId": "ask", "variables": {"text": "x"}, "continueFrom": hold(client)}
    return "promptkit/prepare", request


async def prepared_details(client: Client) -> tuple[str, dict[str, Any]]:
    method, request = await a_preparation(client)
    prepared = await client.request(method, request)
    return "promptkit/prepared/details", {"preparedId": prepared["preparedId"]}


@pytest.mark.parametrize("made", [a_group, an_exchange, a_preparation, prepared_details])
async def test_a_request_made_after_one_for_a_long_answer_is_answered_before_it(
    tmp_path: Path, made: Any
) -> None:
    """GRP-5, DET-4, ENG-2: and the long answer is whole."""
    async with attached(echoing(tmp_path).root) as client:
        method, params = await made(client)
        result = await overtaken(client, method, params)
    whole = result.get("runs") or result.get("details", result)["messages"]
    assert len(whole) >= TURNS
