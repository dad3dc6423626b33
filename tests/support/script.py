"""A scripted backend, a call for it, and a place for the pieces it streams."""

from collections.abc import Awaitable
from typing import Any

from promptkit_rpc.backends.scripted import ScriptedBackend
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.definitions.settings import (
    BackendKind,
    BackendSettings,
    Fault,
    Match,
    Reply,
    RetryPolicy,
)
from promptkit_rpc.definitions.template import Template
from promptkit_rpc.execution.admission import Admission
from promptkit_rpc.execution.provider import Provider
from promptkit_rpc.generation import Call, Deltas, FinishReason, Parameters
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import TEXT, Contract
from promptkit_rpc.secret import Secret
from promptkit_rpc.services import Services
from promptkit_rpc.usage import TokenCounts
from tests.support.fakes import HERE, World


def reply(
    content: str | None = None,
    *,
    json: Any = None,
    chunks: tuple[str, ...] | None = None,
    fault: Fault | None = None,
    match: Match | None = None,
    usage: TokenCounts | None = None,
    finish_reason: FinishReason = FinishReason.STOP,
    refusal: str | None = None,
    delay: float = 0.0,
    times: int | None = None,
) -> Reply:
    return Reply(
        match=match,
        content=None if content is None else Template(content, HERE),
        json=None if json is None else Json.of(json),
        chunks=chunks,
        fault=fault,
        usage=usage,
        finish_reason=finish_reason,
        refusal=refusal,
        delay=delay,
        times=times,
        location=HERE,
    )


def settings(*replies: Reply, retry: RetryPolicy | None = None) -> BackendSettings:
    return BackendSettings(
        name="demo",
        kind=BackendKind.SCRIPTED,
        location=HERE,
        replies=replies or None,
        retry=retry or RetryPolicy(),
    )


def backend(*replies: Reply, services: Services | None = None) -> ScriptedBackend:
    return ScriptedBackend(settings(*replies), services or World().services)


def scripted_provider(world: World, *replies: Reply, attempts: int = 3) -> Provider:
    """For whole runs, with a retry policy that waits for nothing."""
    made = settings(*replies, retry=RetryPolicy(attempts=attempts, base_delay=0.0))
    return Provider(
        made, ScriptedBackend(made, world.services), Admission("demo", None, None, None)
    )


def history(*texts: str) -> History:
    """User and assistant in turn, the user first."""
    roles = (Role.USER, Role.ASSISTANT)
    return History(tuple(Message(roles[i % 2], text) for i, text in enumerate(texts)))


def call(
    sent: History | str = "hello there",
    *,
    prompt_id: str = "ask",
    deltas: Deltas | None = None,
    contract: Contract = TEXT,
    credential: Secret | None = None,
) -> Call:
    return Call(
        run_id="run-1",
        attempt=1,
        prompt_id=prompt_id,
        model="small",
        history=history(sent) if isinstance(sent, str) else sent,
        parameters=Parameters(),
        contract=contract,
        deltas=deltas,
        credential=credential,
    )


class Pieces:
    """Keeps what is streamed; `full` makes it ask for a pause before each piece."""

    def __init__(self, *, full: bool = False) -> None:
        self.texts: list[str] = []
        self.pauses = 0
        self._full = full

    def begin(self, attempt: int) -> None:
        self.texts.append(f"<{attempt}>")

    def push(self, text: str) -> None:
        self.texts.append(text)

    def room(self) -> Awaitable[None] | None:
        return self._pause() if self._full else None

    async def _pause(self) -> None:
        self.pauses += 1
