"""An editor's view: one daemon for the module, driven by a stock LSP client.

Thin on purpose: that the parts meet, through types and checks which are not ours.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tests.support.process import BOUND, environment
from tests.support.workspace import Workspace

Json = Any

BROKEN = "messages:\n  - role: narrator\n    content: Once upon a time\n"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A prompt that is echoed, one that is answered too late for anybody, and one file at fault."""
    never = {"match": {"promptId": "never"}, "content": "at last", "delay": 86400}
    return (
        Workspace(tmp_path_factory.mktemp("workspace"))
        .scripted(never)
        .prompt("ask", "{{ text }}", profile="p")
        .prompt("never", "Are you there?", profile="p")
        .write("prompts/broken.prompt.yaml", BROKEN)
    )


@pytest_lsp.fixture(  # pyright: ignore[reportUnknownMemberType] - it is not typed
    scope="module",
    config=ClientServerConfig(
        server_command=[sys.executable, "-m", "promptkit_rpc", "serve"],
        server_env=environment({}),
    ),
)
async def client(lsp_client: LanguageClient, workspace: Workspace) -> AsyncGenerator[None, None]:
    """The session of an editor with text documents."""
    answer = await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=client_capabilities("neovim"),
            root_uri=workspace.uri,
            workspace_folders=[types.WorkspaceFolder(uri=workspace.uri, name="w")],
        )
    )
    experimental: Json = answer.capabilities.experimental
    assert experimental["promptkit"]["protocolVersion"] == 1
    yield
    await lsp_client.shutdown_session()


async def until(client: LanguageClient, is_so: Callable[[], bool]) -> None:
    """Waits for diagnostics that make it so."""
    async with asyncio.timeout(BOUND):
        while not is_so():
            await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)


async def run(client: LanguageClient, text: str, **more: Json) -> Json:
    params = {"promptId": "ask", "variables": {"text": text}, **more}
    return await client.protocol.send_request_async("promptkit/run", params)


async def test_a_run_is_answered_and_observed_before_it_is(client: LanguageClient) -> None:
    """OBS-1, ENG-1."""
    events: list[Json] = []

    def observed(params: Json) -> None:
        events.append(params)

    client.feature("promptkit/observation")(observed)
    result = await run(client, "hello", observe="here")

    assert result.content == "hello"
    assert [event.seq for event in events] == list(range(len(events)))
    assert {(event.token, event.runId) for event in events} == {("here", result.runId)}
    assert events[-1].event.kind == "runFinished"


async def test_an_exchange_is_continued(client: LanguageClient) -> None:
    """CAP-2, CAP-4, DET-1."""
    first = await run(client, "one", capture=True)
    second = await run(client, "two", continueFrom=first.runId)
    details = await client.protocol.send_request_async(
        "promptkit/exchange/details", {"runId": second.runId}
    )

    assert second.parentRunId == first.runId
    contents = [message.content for message in details.messages]
    assert contents == ["one", "one", "two", "two"]


async def test_a_branch_is_driven_and_collected(client: LanguageClient) -> None:
    """COO-3, COO-4, GRP-3."""
    delivered: list[Json] = []

    async def next_turn(params: Json) -> Json:
        if params.deliveryIndex:
            delivered.append(params.result)
            return {"action": "stop"}
        request = {"promptId": "ask", "variables": {"text": "go on"}}
        return {"action": "continue", "request": request}

    client.feature("promptkit/coordinator/next")(next_turn)
    first = await run(client, "start", capture=True)
    group = await client.protocol.send_request_async("promptkit/group/create", {})
    outcome = await client.protocol.send_request_async(
        "promptkit/coordinate",
        {"exchange": first.runId, "additionalTurns": 3, "groups": [group.groupId]},
    )
    snapshot = await client.protocol.send_request_async(
        "promptkit/group/snapshot", {"groupId": group.groupId}
    )

    assert outcome.outcome == "stopped"
    assert [result.content for result in delivered] == ["go on"]
    assert [(one.runId, one.terminal) for one in snapshot.runs] == [(delivered[0].runId, True)]


async def test_a_run_is_cancelled_as_editors_cancel(client: LanguageClient) -> None:
    """RET-3."""
    under_way = asyncio.ensure_future(
        client.protocol.send_request_async(
            "promptkit/run", {"promptId": "never"}, msg_id="to-cancel"
        )
    )
    await asyncio.sleep(0)  # the request is sent when its task first steps
    client.cancel_request(types.CancelParams(id="to-cancel"))
    with pytest.raises(JsonRpcException) as caught:
        await under_way

    assert caught.value.code == -32800
    status = await client.protocol.send_request_async("promptkit/session/status", {})
    assert status.runs.active == 0


async def test_a_broken_prompt_is_marked_until_it_is_mended(
    client: LanguageClient, workspace: Workspace
) -> None:
    """SEC-4."""
    uri = Path(workspace.root, "prompts/broken.prompt.yaml").as_uri()
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            text_document=types.TextDocumentItem(
                uri=uri, language_id="yaml", version=1, text=BROKEN
            )
        )
    )
    await until(client, lambda: bool(client.diagnostics.get(uri)))
    (problem,) = client.diagnostics[uri]
    assert problem.range.start.line == 1
    assert "system, developer, user, assistant" in problem.message

    whole = types.TextDocumentContentChangeWholeDocument(BROKEN.replace("narrator", "user"))
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            text_document=types.VersionedTextDocumentIdentifier(uri=uri, version=2),
            content_changes=[whole],
        )
    )
    await until(client, lambda: not client.diagnostics[uri])
