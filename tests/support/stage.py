"""What a case needs of the running daemon: a mock provider, a workspace on it, an engine, runs.

    stage = await stages(way, retry={"attempts": 1})     # the fixture of tests/cases
    stage.play("first answer", way.says("second", stop="length"))
    ran = await stage.run("go", capture=True)            # never raises for an error answer
    ran.result["content"], ran.error, ran.kinds, ran.events, ran.text

A `Way` is a kind of provider, streamed or not, and writes one answer in that form. The workspace
has the prompt `ask`, which sends `{{ text }}` as it is, and the profile `p`.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from attrs import field, frozen

from tests.support.daemon import Daemon, Incoming, Outgoing, RpcError
from tests.support.frames import NOTHING
from tests.support.provider import (
    Provider,
    Recorded,
    Script,
    completion,
    delta,
    events,
    message,
)
from tests.support.workspace import Workspace

Json = Any

GOOD = '{"name":"a","n":1}'
VALUE = {"name": "a", "n": 1}
SCHEMA: Json = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["name", "n"],
    "additionalProperties": False,
}
"""The contract of a case that names none, an answer that meets it, and its value."""

_tokens = count()
_ANTHROPIC_STOPS = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}


@frozen
class Way:
    """A kind of HTTP provider, asked for a stream or not."""

    kind: str
    streamed: bool = False

    def says(
        self, content: str, *, stop: str = "stop", usage: tuple[int, int] | None = (10, 5)
    ) -> Script:
        """An answer: why it ended in OpenAI's words, usage as (input, output)."""
        given = self.usage(*usage) if usage else None
        match self.kind, self.streamed:
            case "openai", False:
                return completion(content, finish=stop, usage=given)
            case "openai", True:
                return openai_stream(*_halves(content), finish=stop, usage=given)
            case _, False:
                blocks = (content,) if content else ({"type": "text", "text": ""},)
                return message(*blocks, stop=_ANTHROPIC_STOPS[stop], usage=given)
            case _:
                return anthropic_stream(*_halves(content), stop=_ANTHROPIC_STOPS[stop], usage=given)

    def usage(self, given: int, taken: int) -> Json:
        """Counts as this kind reports them."""
        if self.kind == "openai":
            return {
                "prompt_tokens": given,
                "completion_tokens": taken,
                "total_tokens": given + taken,
            }
        return {"input_tokens": given, "output_tokens": taken}

    def sent(self, request: Recorded) -> list[tuple[str, str]]:
        """(role, text) of each message in a request, in order, an Anthropic system prompt first."""
        body = request.json()
        system = [("system", block["text"]) for block in body.get("system", [])]
        return system + [
            (one["role"], text) for one in body["messages"] for text in _texts(one["content"])
        ]

    def __str__(self) -> str:
        return self.kind + ("-streamed" if self.streamed else "")


OPENAI, OPENAI_STREAMED = Way("openai"), Way("openai", streamed=True)
ANTHROPIC, ANTHROPIC_STREAMED = Way("anthropic"), Way("anthropic", streamed=True)
WAYS = (OPENAI, OPENAI_STREAMED, ANTHROPIC, ANTHROPIC_STREAMED)
PLAIN = (OPENAI, ANTHROPIC)
STREAMED = (OPENAI_STREAMED, ANTHROPIC_STREAMED)


def contract(schema: Json = SCHEMA, repairs: int = 0) -> Json:
    """An output contract."""
    return {"format": "schema", "schema": schema, "repairs": repairs}


def openai_stream(*texts: str, finish: str = "stop", usage: Json = None) -> Script:
    """Chunks with these texts, a finish reason, a usage chunk and `[DONE]`."""
    last: Json = {"choices": [], "usage": usage}
    return events(*map(delta, texts), delta(finish=finish), json.dumps(last), "[DONE]")


def anthropic_stream(*texts: str, stop: str = "end_turn", usage: Json = None) -> Script:
    """A message in events; the input is reported at its start, the output at its end."""
    given = dict(usage or {})
    taken = given.pop("output_tokens", None)
    end = {} if taken is None else {"output_tokens": taken}
    return sse(
        {"type": "message_start", "message": {"type": "message", "usage": given}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *map(text_delta, texts),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": end},
        {"type": "message_stop"},
    )


def text_delta(text: str) -> Json:
    """The event of a piece of text in an Anthropic stream."""
    delta = {"type": "text_delta", "text": text}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def sse(*values: Json, end: bool = True) -> Script:
    """Anthropic events."""
    steps = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in values]
    return events(*steps, end=end)


def _halves(content: str) -> tuple[str, ...]:
    middle = len(content) // 2
    return (content[:middle], content[middle:]) if content else ()


def _texts(content: Json) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content]


@frozen(kw_only=True)
class Ran:
    """What became of a run: its result or its error, and what was told of it meanwhile."""

    answer: Json = None
    error: RpcError | None = None
    events: list[Json] = field(factory=list[Json])
    pieces: list[Json] = field(factory=list[Json])

    @property
    def result(self) -> Json:
        """The result; fails the test where there is none."""
        assert self.error is None, (self.error, self.error and self.error.data)
        return self.answer

    @property
    def failure(self) -> RpcError:
        """The error; fails the test where there is none."""
        assert self.error is not None, self.answer
        return self.error

    @property
    def structured(self) -> Json:
        """The decoded answer."""
        return self.result.get("structured", NOTHING)

    @property
    def status(self) -> str:
        """The verdict."""
        return self.result["validation"]["status"]

    @property
    def violations(self) -> list[tuple[str, str]]:
        """(keyword, message) of each."""
        listed = self.result["validation"]["violations"]
        return [(one["keyword"], one["message"]) for one in listed]

    @property
    def kinds(self) -> list[str]:
        """The observations by kind."""
        return [event["kind"] for event in self.events]

    @property
    def finished(self) -> Json:
        """The terminal observation, the only one and the last."""
        (last,) = [event for event in self.events if event["kind"] == "runFinished"]
        assert self.events[-1] is last
        return last

    @property
    def text(self) -> str:
        """What was streamed of the last attempt."""
        text = ""
        for piece in self.pieces:
            text = "" if piece.get("reset") else text + piece["text"]
        return text

    def all(self, kind: str) -> list[Json]:
        """The observations of one kind."""
        return [event for event in self.events if event["kind"] == kind]


class Running:
    """A run under way."""

    def __init__(self, stage: "Stage", call: Outgoing, token: str) -> None:
        self._stage = stage
        self._token = token
        self.call = call

    async def cancel(self) -> None:
        """Sends `$/cancelRequest`."""
        await self.call.cancel()

    async def event(self, kind: str) -> Json:
        """Waits for the first observation of this kind; fails if the run ends without."""
        found = await self._stage.daemon.notification(
            "promptkit/observation",
            lambda one: (
                one["token"] == self._token and one["event"]["kind"] in (kind, "runFinished")
            ),
        )
        assert found["event"]["kind"] == kind, found
        return found["event"]

    async def ran(self) -> Ran:
        """What became of it."""
        answer, error = None, None
        try:
            answer = await self.call
        except RpcError as failure:
            error = failure
        daemon = self._stage.daemon
        told = daemon.notifications("promptkit/observation")
        progress = daemon.notifications("$/progress")
        return Ran(
            answer=answer,
            error=error,
            events=[one["event"] for one in told if one["token"] == self._token],
            pieces=[one["value"] for one in progress if one["token"] == self._token],
        )


class Stage:
    """A provider, a workspace whose backend `b` it is, and an engine on that workspace."""

    def __init__(self, daemon: Daemon, provider: Provider, root: Path, way: Way) -> None:
        self.daemon = daemon
        self.provider = provider
        self.workspace = Workspace(root)
        self.way = way
        self.engine = ""
        self.problems: list[Json] = []

    async def open(self, **backend: Json) -> "Stage":
        """Writes the settings, opens the engine."""
        self.configure(**backend)
        self.workspace.prompt("ask", "{{ text }}", profile="p")
        return await self.reopen()

    async def reopen(self) -> "Stage":
        """Opens another engine on the workspace as it is now."""
        opened = await self.daemon.request(
            "promptkit/engine/open", {"root": str(self.workspace.root)}
        )
        self.engine, self.problems = opened["engineId"], opened["problems"]
        return self

    def configure(self, **backend: Json) -> None:
        """Writes `promptkit.yaml`; retries are quick unless the backend says otherwise."""
        self.workspace.settings(
            backends={"b": self.backend(**backend)},
            profiles={"p": {"backend": "b", "model": "m"}},
        )

    def backend(self, **backend: Json) -> Json:
        """The definition of a backend at this provider."""
        quick = {"attempts": 3, "baseDelay": 0.001, "maxDelay": 0.002}
        made = {"kind": self.way.kind, "baseUrl": self.provider.url, "retry": quick, **backend}
        return {name: value for name, value in made.items() if value is not None}

    def play(self, *scripts: str | Script) -> None:
        """Adds answers; a text is said in the stage's way."""
        self.provider.play(
            *(self.way.says(one) if isinstance(one, str) else one for one in scripts)
        )

    @property
    def requests(self) -> list[Recorded]:
        """What the provider was sent."""
        return self.provider.requests

    def sent(self, index: int = -1) -> list[tuple[str, str]]:
        """(role, text) of each message in one request."""
        return self.way.sent(self.requests[index])

    def start(self, text: str | None = "go", **params: Json) -> Running:
        """Sends a run without awaiting it; `text` None gives no such variable."""
        token = f"t{next(_tokens)}"
        full: Json = {"engineId": self.engine, "promptId": "ask", "observe": token, **params}
        if text is not None:
            full["variables"] = {"text": text, **full.get("variables", {})}
        if self.way.streamed:
            full["partialResultToken"] = token
        return Running(self, self.daemon.start("promptkit/run", full), token)

    async def run(self, text: str | None = "go", **params: Json) -> Ran:
        """One run, whatever becomes of it."""
        return await self.start(text, **params).ran()

    async def ask(self, method: str, **params: Json) -> Json:
        """Another request of this engine's."""
        return await self.daemon.request(method, {"engineId": self.engine, **params})

    async def refused(self, method: str, **params: Json) -> RpcError:
        """The same, where it must fail."""
        return await self.daemon.refused(method, {"engineId": self.engine, **params})

    async def details(self, run_id: str) -> Json:
        """A held exchange."""
        return await self.daemon.request("promptkit/exchange/details", {"runId": run_id})

    async def messages(self, run_id: str) -> list[tuple[str, str]]:
        """(role, content) of each message of a held exchange."""
        return [(m["role"], m["content"]) for m in (await self.details(run_id))["messages"]]

    async def held(self, run_id: str) -> bool:
        """Whether an exchange of this run is held."""
        try:
            await self.details(run_id)
        except RpcError as error:
            if error.kind != "exchangeNotFound":
                raise
            return False
        return True

    async def load(self) -> Json:
        """The load of the backend `b`."""
        status = await self.daemon.request("promptkit/session/status")
        (mine,) = [one for one in status["engines"] if one["engineId"] == self.engine]
        return next(one for one in mine["backends"] if one["name"] == "b")

    async def next_call(self) -> Incoming:
        """The next callback of a coordination, to be answered by hand."""
        return await self.daemon.incoming("promptkit/coordinator/next")


@asynccontextmanager
async def stage(
    daemon: Daemon, root: Path, way: Way, **backend: Json
) -> AsyncGenerator[Stage, None]:
    """A stage as long as the block lasts; None takes a field of the backend away."""
    async with Provider() as provider:
        yield await Stage(daemon, provider, root, way).open(**backend)


class Stages:
    """Makes stages below one folder, each its own, and closes them together."""

    def __init__(self, daemon: Daemon, folder: Path) -> None:
        self._daemon = daemon
        self._folder = folder
        self._stack = AsyncExitStack()
        self._made = count()

    async def __call__(self, way: Way = OPENAI, **backend: Json) -> Stage:
        folder = self._folder / f"stage{next(self._made)}"
        return await self._stack.enter_async_context(stage(self._daemon, folder, way, **backend))

    async def close(self) -> None:
        """Closes their providers."""
        await self._stack.aclose()
