"""Every limit that is stated, over the wire: what passes it is refused by a name of its own."""

import gzip
import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from attrs import frozen

from tests.support.daemon import Daemon, Outgoing
from tests.support.frames import frame
from tests.support.probe import resident
from tests.support.provider import End, Provider, completion, respond
from tests.support.workspace import Workspace

Json = Any
MIB = 1024 * 1024
MAX_BODY = 20 * MIB
"""The message size that the daemon under test is started with."""


@frozen
class Refused:
    """How a request that passes a limit is answered."""

    code: int
    kind: str | None
    words: str


LIMITS: Mapping[str, tuple[Json, Refused]] = {
    "rendered text": (
        {"promptId": "ask", "variables": {"text": "x" * (16 * MIB + 1)}},
        Refused(-32803, "templateFailed", "more than 16777216 characters"),
    ),
    "rendered text of a loop": (
        {"promptId": "large"},
        Refused(-32803, "templateFailed", "more than 16777216 characters"),
    ),
    "template steps": (
        {"promptId": "long"},
        Refused(-32803, "templateFailed", "more than 2000000 steps"),
    ),
    "range": (
        {"promptId": "range"},
        Refused(-32803, "templateFailed", "100000"),
    ),
    "input file": (
        {"promptId": "input"},
        Refused(-32803, "inputFailed", "larger than 16777216 bytes"),
    ),
    "definition file": (
        {"promptId": "file"},
        Refused(-32803, "promptInvalid", "4194304"),
    ),
    "depth of a file": (
        {"promptId": "deep"},
        Refused(-32803, "promptInvalid", "100"),
    ),
    "answer": (
        {"promptId": "ask", "profile": "answer", "variables": {"text": "x"}},
        Refused(-32803, "generationFailed", "longer than 67108864 bytes"),
    ),
    "run id": (
        {"promptId": "ask", "continueFrom": "x" * 100_000},
        Refused(-32803, "exchangeNotFound", "no exchange of run 'xxx"),
    ),
    "faults told": (
        {"promptId": "ask", **{f"field{number}": 1 for number in range(30)}},
        Refused(-32602, "requestInvalid", "params.field19: unknown field"),
    ),
}


def written(root: Path, url: str) -> Workspace:
    """A workspace with something too large of every sort."""
    http = {"kind": "openai", "baseUrl": url, "retry": {"attempts": 1}}
    backends: dict[str, Json] = {
        "echo": {"kind": "scripted"},
        "answer": http,
        "narrow": http | {"capacity": 1, "queue": 2},
    }
    profiles = {name: {"backend": name, "model": "m"} for name in backends}
    nested = "[" * 101 + "]" * 101
    return (
        Workspace(root)
        .settings(backends=backends, profiles=profiles)
        .prompt("ask", "{{ text }}", profile="echo")
        .prompt("large", "{% for a in range(9999) %}{{ 'x' * 9999 }}{% endfor %}", profile="echo")
        .prompt(
            "long",
            "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
            profile="echo",
        )
        .prompt("range", "{{ range(100001) | length }}", profile="echo")
        .write("big.txt", "x" * (16 * MIB + 1))
        .prompt("input", "{{ inputs.i }}", inputs={"i": {"file": "big.txt"}}, profile="echo")
        .write("prompts/file.prompt.yaml", "# " + "x" * (4 * MIB))
        .write("prompts/deep.prompt.yaml", f"x-deep: {nested}\nmessages: []")
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def provider() -> AsyncGenerator[Provider, None]:
    """A provider whose answer is small on the wire and too large when it is unpacked."""
    async with Provider() as provider:
        answer = json.dumps({"choices": [{"message": {"content": "x" * 64 * MIB}}]}).encode()
        packed = gzip.compress(answer, 1)
        provider.always(respond(200, packed, headers=[("Content-Encoding", "gzip")]))
        yield provider


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def daemon(
    provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Daemon, None]:
    """One daemon for all: it is the same after every refusal."""
    workspace = written(tmp_path_factory.mktemp("workspace"), provider.url)
    async with Daemon(workspace.root, args=("--max-body", str(MAX_BODY))) as daemon:
        yield daemon
        daemon.received.clear()


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def served(daemon: Daemon) -> None:
    """Shows that the daemon goes on."""
    params = {"promptId": "ask", "variables": {"text": "still here"}}
    assert (await daemon.request("promptkit/run", params))["content"] == "still here"
    status = await daemon.request("promptkit/session/status")
    assert status["runs"]["active"] == 0


@pytest.mark.parametrize("limit", LIMITS)
async def test_a_run_that_passes_a_limit_is_refused_by_its_name(daemon: Daemon, limit: str) -> None:
    """SEC-4, SEC-2: and the next one is served."""
    params, refused = LIMITS[limit]
    error = await daemon.refused("promptkit/run", params)
    assert (error.code, error.kind) == (refused.code, refused.kind)
    assert refused.words in error.message
    assert len(error.message) < 5000
    await served(daemon)


def raw(daemon: Daemon, ident: str, variables: bytes) -> Outgoing:
    """A run whose variables are written as they are."""
    call = daemon.expect(ident)
    daemon.put(
        frame(
            b'{"jsonrpc":"2.0","id":"%b","method":"promptkit/run","params":{"promptId":"ask",'
            b'"variables":{"text":%b}}}' % (ident.encode(), variables)
        )
    )
    return call


@pytest.mark.parametrize(
    ("ident", "variables", "words"),
    [
        ("size", b'"%b"' % (b"x" * MAX_BODY), f"the limit is {MAX_BODY}"),
        ("nesting", b"[" * 5000 + b"]" * 5000, "nested deeper than"),
        ("digits", b"9" * 5000, "an integer of more than 4300 characters"),
        ("surrogate", b'"\\ud800"', "lone surrogate"),
    ],
)
async def test_a_message_that_passes_a_limit_is_refused_under_its_id(
    daemon: Daemon, ident: str, variables: bytes, words: str
) -> None:
    """R-14, X-03: it is not even held in memory."""
    before = resident(daemon.process.pid)
    call = raw(daemon, ident, variables)
    await call.settled()
    error = call.answer.exception()
    assert getattr(error, "code", None) == -32600
    assert words in str(error)
    assert resident(daemon.process.pid) - before < 5 * MIB
    await served(daemon)


async def test_what_is_within_every_limit_is_served(daemon: Daemon) -> None:
    """R-14: just as large, just as deep, just as long as it may be."""
    largest = "x" * (16 * MIB)
    params = {"promptId": "ask", "variables": {"text": largest}}
    assert (await daemon.request("promptkit/run", params))["content"] == largest
    for ident, text in (("deep", b"[" * 390 + b"]" * 390), ("digits", b"9" * 4000)):
        answer = await raw(daemon, f"just {ident}", text)
        assert answer["content"].replace(" ", "").encode() == text


async def test_a_queue_that_is_full_refuses_the_next_run(
    daemon: Daemon, provider: Provider
) -> None:
    """ADM-4: those that wait keep their places."""
    provider.play((End.NEVER,), completion("one"), completion("two"))
    params = {"promptId": "ask", "profile": "narrow", "variables": {"text": "x"}}
    came = len(provider.requests)
    runs = [daemon.start("promptkit/run", params) for _ in range(3)]
    await provider.arrived(came + 1)
    error = await daemon.refused("promptkit/run", params)
    assert (error.code, error.kind) == (-32803, "admissionRejected")
    assert error.data["retryable"] is True
    assert "2 waiting" in error.message
    await runs[0].cancel()
    assert [(await run)["content"] for run in runs[1:]] == ["one", "two"]


async def test_the_bytes_that_are_held_are_told(daemon: Daemon) -> None:
    """OWN-7: what is shared counts once, and what is let go of no more."""
    text = "é" * 1000
    params = {"promptId": "ask", "variables": {"text": text}, "capture": True}
    first = await daemon.request("promptkit/run", params)
    second = await daemon.request("promptkit/run", params | {"continueFrom": first["runId"]})
    status = await daemon.request("promptkit/session/status")
    assert status["exchanges"] == {"count": 2, "bytes": 4 * 2000}
    await daemon.request("promptkit/exchange/release", {"runId": first["runId"]})
    status = await daemon.request("promptkit/session/status")
    assert status["exchanges"] == {"count": 1, "bytes": 4 * 2000}
    await daemon.request("promptkit/exchange/release", {"runId": second["runId"]})
    status = await daemon.request("promptkit/session/status")
    assert status["exchanges"] == {"count": 0, "bytes": 0}
