"""Keys where they should not show, on the running daemon.

Siblings tried beside each case: keys from files, commands, the client and the request, keys of
white space alone (K-02); `--log-level debug` with Python's and asyncio's own debug modes (K-03);
keys under other names, with escapes, alone, echoed by the provider (K-04); prepared runs, exchanges
and inspections after a refusal, copies of errors (K-09); placeholders in every source, in headers
and in URLs (K-10).
"""

import copy
import json
import pickle
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.engine import Engine
from promptkit_rpc.errors import GenerationFailed
from promptkit_rpc.execution.request import RunRequest
from promptkit_rpc.secret import Secret
from promptkit_rpc.system import services
from tests.support.daemon import Daemon
from tests.support.provider import Provider, answered, completion, redirect, refusal, respond
from tests.support.stage import OPENAI, PLAIN, Stage, Stages, Way, stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any

KEY = "sk-canary-DDDD"
EACH_KIND = pytest.mark.parametrize("way", PLAIN, ids=str)


def shown(one: Stage) -> list[bytes]:
    """Where a canary is in what the daemon has written."""
    written = bytes(one.daemon.received) + one.daemon.stderr.encode()
    return re.findall(b".{60}canary.{60}", written)


def sent_key(one: Stage) -> str:
    headers = one.requests[-1].headers
    return headers.get("x-api-key") or headers["authorization"].removeprefix("Bearer ")


def printing(text: str) -> list[str]:
    words = f"import sys; sys.stdout.buffer.write({text.encode()!r})"
    return [sys.executable, "-c", words]


@EACH_KIND
async def test_white_space_around_a_key_is_no_part_of_it(tmp_path: Path, way: Way) -> None:
    """K-02: as a Windows file has it, its mark too, from every source; within it none is sent."""
    async with (
        Daemon(env={"TEST_KEY": f" {KEY}\r", "TEST_BAD": "sk-canary-é"}) as daemon,
        stage(daemon, tmp_path, way) as one,
    ):
        one.provider.always(way.says("hi"))
        spaced = f"\t{KEY}\r\n"
        one.workspace.write("key.txt", spaced).write("bad.txt", b"sk-canary-\xc3\xa9")
        one.workspace.write("marked.txt", b"\xef\xbb\xbf" + spaced.encode())
        keys = {"spaced": spaced, "bad": "sk-canary-\0"}
        daemon.on("promptkit/credential/get", lambda asked: {"credential": keys[asked["name"]]})
        good: list[Json] = [
            {"env": "TEST_KEY"},
            {"file": "key.txt"},
            {"file": "marked.txt"},
            {"command": printing(spaced)},
            {"client": "spaced"},
        ]
        for source in good:
            one.configure(credential=source)
            assert (await one.run()).result["content"] == "hi"
            assert sent_key(one) == KEY
        one.configure()
        await one.run(credential=spaced)
        assert sent_key(one) == KEY
        sent = len(one.requests)
        bad: list[Json] = [
            {"env": "TEST_BAD"},
            {"file": "bad.txt"},
            {"command": printing("sk-canary\r\nsecond-line")},
            {"client": "bad"},
        ]
        for source in bad:
            one.configure(credential=source)
            failed = (await one.run()).failure
            assert failed.kind == "configInvalid"
            assert "TEST_BAD" in failed.message or "env" not in source
        for wrong in ("sk-canary-é", "sk-canary\n-x", "", " \r\n"):
            failed = (await one.run(credential=wrong)).failure
            assert (failed.code, failed.kind) == (-32602, "requestInvalid")
        assert len(one.requests) == sent
        assert b"canary" not in daemon.received
        assert "canary" not in daemon.stderr


NOISY: Mapping[str, str] = {"PYTHONASYNCIODEBUG": "1", "PYTHONDEVMODE": "1"}
LOGGING = """
import logging, sys
logging.basicConfig(level=1, stream=sys.stderr)
for name in ("httpx", "httpcore", "httpcore.http11", "h11", "asyncio", "promptkit_rpc"):
    logging.getLogger(name).setLevel(1)
from promptkit_rpc.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "command",
    [
        [sys.executable, "-m", "promptkit_rpc", "serve", "--log-level", "debug"],
        [sys.executable, "-c", LOGGING, "serve", "--log-level", "debug"],
    ],
    ids=["its own", "the host's"],
)
async def test_the_most_talkative_log_tells_no_key(tmp_path: Path, command: list[str]) -> None:
    """K-03: not of a good run, a refusal, a timeout, a redirect; nor what a secret header holds."""
    env = {**NOISY, "TEST_KEY": KEY, "TEST_GATE": "canary-gate-1234"}
    async with Daemon(tmp_path, command=command, env=env) as daemon:
        for way in PLAIN:
            headers: Json = {"X-Gate": {"env": "TEST_GATE"}, "X-Auth": "canary-auth-1234"}
            backend: Json = {
                "credential": {"env": "TEST_KEY"},
                "headers": headers,
                "retry": {"attempts": 1},
            }
            async with stage(daemon, tmp_path / way.kind, way, **backend) as one:
                body = {"error": {"message": f"no such key: {KEY}"}}
                one.play(f"you sent {KEY}", refusal(401, body), redirect(f"/x?key={KEY}"), ())
                ran = await one.run()
                assert ran.result["content"] == "you sent ***"
                reasons = [(await one.run()).failure.data["reason"] for _ in range(2)]
                one.configure(**backend, timeouts={"read": 0.05})
                reasons.append((await one.run()).failure.data["reason"])
                assert reasons == ["authentication", "redirect", "timeout"]
                assert sent_key(one) == KEY
                assert one.requests[0].headers["x-gate"] == "canary-gate-1234"
                assert one.requests[0].headers["x-auth"] == "canary-auth-1234"
        await daemon.request("promptkit/session/status")
    assert b"canary" not in daemon.received
    assert "canary" not in daemon.stderr


@EACH_KIND
async def test_the_query_of_a_base_url_is_sent_and_never_shown(stages: Stages, way: Way) -> None:
    """K-04: in errors of every sort, observations and inspections; whatever its names are."""
    one = await stages(way, retry={"attempts": 1})
    query = "key=canary-EEEE&api_version=2024&sig=canary%2FFFFF&flag&canary-GGGG"
    url = f"{one.provider.url}/v1?{query}"
    one.configure(baseUrl=url, retry={"attempts": 1})
    told = {"error": {"message": f"POST {url} failed for canary-EEEE, canary/FFFF"}}
    one.play(refusal(404, told), refusal(500, told), redirect(url), "canary-EEEE")
    failures = [(await one.run()).failure for _ in range(3)]
    assert [one.data["httpStatus"] for one in failures] == [404, 500, 302]
    assert one.requests[0].target.endswith(f"?{query}")
    ran = await one.run()
    assert ran.result["content"] == "***"
    inspected = await one.ask("promptkit/backend/inspect", backend="b")
    hidden = "key=***&api_version=***&sig=***&***&***"
    assert inspected["baseUrl"] == f"{one.provider.url}/v1?{hidden}"
    async with Provider() as closed:
        gone = closed.url
    one.configure(baseUrl=f"{gone}/v1?{query}", retry={"attempts": 1})
    assert (await one.run()).failure.data["reason"] == "connection"
    assert not shown(one)


@EACH_KIND
async def test_after_a_refused_key_nothing_holds_it(stages: Stages, way: Way) -> None:
    """K-09: neither what is prepared nor exchanges, inspections, observations and status."""
    one = await stages(way)
    told = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
    one.play(refusal(401, told), f"thanks for {KEY}")
    failed = await one.run(credential=KEY, capture=True, variables={"text": "x"})
    assert failed.failure.data["reason"] == "authentication"
    assert "Incorrect API key provided: ***" in failed.failure.message
    prepared = await one.ask(
        "promptkit/prepare", promptId="ask", variables={"text": "x"}, credential=KEY, capture=True
    )
    assert prepared["details"]["credentialSource"] == "request"
    named = {"preparedId": prepared["preparedId"]}
    await one.daemon.request("promptkit/prepared/details", named)
    ran = await one.daemon.request("promptkit/prepared/execute", named)
    assert ran["content"] == "thanks for ***"
    assert sent_key(one) == KEY
    details = await one.details(ran["runId"])
    assert details["content"] == "thanks for ***"
    for kind, name in (("prompt", "ask"), ("profile", "p"), ("backend", "b")):
        field = "promptId" if kind == "prompt" else kind
        await one.ask(f"promptkit/{kind}/inspect", **{field: name})
    one.play("next")
    assert (await one.run(continueFrom=ran["runId"])).result["content"] == "next"
    assert not one.requests[-1].headers.keys() & {"authorization", "x-api-key"}
    assert not shown(one)


TOLD: Json = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
FAILURES = [
    refusal(401, TOLD),
    answered({"status": 401, **TOLD}),
    respond(200, f"<html>{KEY}".encode(), kind="text/html"),
    respond(302, headers=[("Location", f"/{KEY}?k={KEY}")]),
    (f"HTTP/1.1 200 {KEY}\r\n{KEY}\r\n\r\n".encode(),),
]


@pytest.mark.parametrize("number", range(len(FAILURES)))
async def test_no_object_of_a_failed_run_shows_its_key(tmp_path: Path, number: int) -> None:
    """K-09: representations, copies, pickles and chains, in process."""
    async with Provider() as provider:
        provider.play(FAILURES[number], completion(f"thanks for {KEY}"))
        one = Stage(Daemon(), provider, tmp_path, OPENAI)
        one.configure(credential={"file": "key.txt"}, retry={"attempts": 1})
        one.workspace.write("key.txt", KEY).prompt("ask", "hello", profile="p")
        engine = Engine.open(tmp_path, services=services())
        request = RunRequest(prompt_id="ask", credential=Secret(KEY), capture=True)
        prepared = await engine.prepare(request, CancelSignal())
        with pytest.raises(GenerationFailed) as caught:
            await engine.execute(prepared, CancelSignal())
        result = await engine.run(RunRequest(prompt_id="ask", capture=True), CancelSignal())
        assert result.exchange is not None
        things = [
            request, prepared, prepared.plan, prepared.plan.provider.backend, engine, result,
            engine.inspect_backend("b"), engine.inspect_profile("p"), result.exchange,
            *_chain(caught.value),
        ]  # fmt: skip
        for thing in things:
            texts = [repr(thing), str(thing), f"{thing}", repr(copy.copy(thing))]
            texts += [json.dumps(thing, default=repr), json.dumps(_parts(thing), default=repr)]
            assert not any("canary" in text for text in texts), (type(thing), texts)
        with pytest.raises(TypeError):
            pickle.dumps(request.credential)
        kept = pickle.dumps(result.exchange)
        assert b"canary" not in kept
        assert pickle.loads(kept).content == "thanks for ***"  # noqa: S301 - the test's own
        again = pickle.loads(pickle.dumps(copy.deepcopy(caught.value)))  # noqa: S301 - likewise
        assert (again.reason, again.message) == (caught.value.reason, caught.value.message)
        await engine.close()


def _chain(error: BaseException | None) -> list[Any]:
    """The errors behind an error, shown in a traceback or not, with what they were made of."""
    found: list[Any] = []
    waiting = [error]
    while waiting:
        error = waiting.pop()
        if error is not None and not any(error is one for one in found):
            found += [error, *error.args]
            waiting += [error.__cause__, error.__context__]
    return found


def _parts(thing: Any) -> Json:
    """What an object holds, its errors' parts too."""
    return dict(getattr(thing, "__dict__", {}))


PLACEHOLDERS = ["${OPENAI_API_KEY}", "$OPENAI_API_KEY", "OPENAI_API_KEY", "API_KEY"]


async def test_the_name_of_a_variable_is_no_key(tmp_path: Path) -> None:
    """K-10: a configuration error that names the variable, before any request."""
    env = {"OPENAI_API_KEY": None, "API_KEY": None, "TEST_KEY": "${OPENAI_API_KEY}",
           "TEST_WORD": "US_EAST"}  # fmt: skip
    async with Daemon(env=env) as daemon, stage(daemon, tmp_path, OPENAI) as one:
        daemon.on("promptkit/credential/get", lambda asked: {"credential": asked["name"]})
        for name in PLACEHOLDERS:
            variable = name.strip("${}")
            for written in (name, {"env": name}, {"env": variable}):
                one.configure(credential=written)
                failed = (await one.run()).failure
                assert failed.kind in ("configInvalid", "credentialMissing")
                assert variable in failed.message
                assert failed.data["location"]["file"] == "promptkit.yaml"
            one.workspace.write("key.txt", name)
            sources: list[Json] = [{"file": "key.txt"}, {"command": printing(name)}]
            if "$" not in name:
                sources.append({"client": name})
            for source in sources:
                one.configure(credential=source)
                failed = (await one.run()).failure
                assert (failed.kind, variable in failed.message) == ("configInvalid", True)
            one.configure()
            failed = (await one.run(credential=name)).failure
            assert (failed.code, variable in failed.message) == (-32602, True)
        one.configure(credential={"env": "TEST_KEY"})
        assert "OPENAI_API_KEY" in (await one.run()).failure.message
        wrong: list[Json] = [
            {"baseUrl": "http://${HOST}/v1"},
            {"headers": {"X-A": "${API_KEY}"}},
            {"headers": {"X-A": {"env": "TEST_KEY"}}},
            {"headers": {"X-Auth": {"env": "TEST_WORD"}}},
        ]
        for settings in wrong:
            one.configure(**settings)
            assert (await one.run()).failure.kind == "configInvalid"
        assert one.requests == []
        one.configure(headers={"X-Region": {"env": "TEST_WORD"}})
        one.play("a word in capitals is a value where no key is expected")
        assert (await one.run()).result["content"]
        assert one.requests[0].headers["x-region"] == "US_EAST"
