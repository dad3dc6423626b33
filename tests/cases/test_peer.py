"""What broke a stock peer, tried on the daemon's own.

Siblings tried beside each case: the same faults in answers, numbers beyond a double, surrogates,
params of other JSON types, a method that is none (X-03); lengths that are negative, signed, too
long or missing, a header without a colon, JSON line by line, the rest of a body that holds a key
(X-04); a stray error, and cancels of the daemon's own ids by id and by token (X-07); coordinations
at shutdown, shutdown twice, and notifications after it (X-08).
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import REQUEST_CANCELLED, Daemon, RpcError
from tests.support.frames import frame
from tests.support.process import RawDaemon
from tests.support.stage import OPENAI, Stages, stage
from tests.support.workspace import echoing

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, NO_METHOD = -32700, -32600, -32602, -32601
STATUS = '"method":"promptkit/session/status"'
FIRST = b'{"jsonrpc":"2.0","id":1,"method":"promptkit/run","params":'

BAD: list[tuple[bytes, Json, int]] = [
    (b"{", None, PARSE_ERROR),
    (b"", None, PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":1,"method":"x"}}', None, PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', None, PARSE_ERROR),
    (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"x"}', None, PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', None, PARSE_ERROR),
    (b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', None, INVALID_REQUEST),
    (b'{"id":1,"method":"promptkit/session/status"}', 1, INVALID_REQUEST),
    (b'{"jsonrpc":"1.0","id":1,"method":"promptkit/session/status"}', 1, INVALID_REQUEST),
    (b'{"jsonrpc":2.0,"id":1,"method":"promptkit/session/status"}', 1, INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"method":5}', 1, INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":1,"method":"nowhere"}', 1, NO_METHOD),
    (b'{"jsonrpc":"2.0","id":"a","method":"promptkit/run"}', "a", INVALID_PARAMS),
    (b'{"jsonrpc":"2.0","id":"a","method":"promptkit/run","params":[1]}', "a", INVALID_PARAMS),
    (b'{"jsonrpc":"2.0","id":"a","method":"promptkit/run","params":7}', "a", INVALID_PARAMS),
    (
        b'{"jsonrpc":"2.0","id":1,"method":"promptkit/run","params":{"promptId":1e999}}',
        1,
        INVALID_REQUEST,
    ),
    (
        b'{"jsonrpc":"2.0","id":1,"method":"promptkit/run","params":{"promptId":"\\ud800"}}',
        1,
        INVALID_REQUEST,
    ),
    (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + b"1" * 5000 + b"}}",
        1,
        INVALID_REQUEST,
    ),
    (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        1,
        INVALID_REQUEST,
    ),
    (FIRST + b'{"a":' + b"[" * 20_000, 1, INVALID_REQUEST),
]


@pytest.mark.parametrize("number", range(len(BAD)))
async def test_a_malformed_message_is_answered_once(daemon: Daemon, number: int) -> None:
    """X-03: with the code that is due, under its id where it can be read; the next is served."""
    body, ident, code = BAD[number]
    before, told = len(daemon.strays), len(daemon.log)
    await daemon.write(frame(body))
    await daemon.request("promptkit/session/status")
    (answer,) = daemon.strays[before:]
    assert (answer["id"], answer["error"]["code"]) == (ident, code)
    assert "Traceback" not in answer["error"]["message"]
    assert len(daemon.log) - told == 2


async def test_params_may_be_left_out_where_nothing_is_required(daemon: Daemon) -> None:
    """X-03: absent, null, an empty array and an empty object are the same."""
    for params in ("", ',"params":null', ',"params":[]', ',"params":{}'):
        before = len(daemon.log)
        await daemon.send(f'{{"jsonrpc":"2.0","id":"p",{STATUS}{params}}}'.encode())
        await daemon.request("promptkit/session/status")
        assert "result" in daemon.log[before]


BEYOND = {
    b"[" * 500 + b"]" * 500: "nested deeper than 416 levels",
    b"1" * 5000: "an integer of more than 4300 characters",
    b"-" + b"1" * 5000: "an integer of more than 4300 characters",
    b"1e999": "a number beyond the largest that a double can hold",
    b'"\\ud800"': "a string holds a lone surrogate",
}


async def test_a_message_beyond_a_limit_is_told_which(daemon: Daemon) -> None:
    """X-03: in words that name no part of the program."""
    for value, why in BEYOND.items():
        before = len(daemon.strays)
        await daemon.write(frame(b'{"jsonrpc":"2.0","id":"q","method":"x","params":[%b]}' % value))
        await daemon.request("promptkit/session/status")
        (answer,) = daemon.strays[before:]
        assert (answer["id"], answer["error"]["code"]) == ("q", INVALID_REQUEST)
        assert answer["error"]["message"] == why


async def test_an_answer_beyond_a_limit_is_no_answer(stages: Stages, daemon: Daemon) -> None:
    """X-03: whoever waits for it is told what is wrong with it, as with any other bad answer."""
    one = await stages()
    one.workspace.settings(
        backends={
            "s": {"kind": "scripted"},
            "c": {"kind": "client"},
            "k": {**one.backend(), "credential": {"client": "vault"}},
        },
        profiles={name: {"backend": name, "model": "m"} for name in "sck"},
    )
    start = (await one.run(profile="s", capture=True)).result["runId"]
    turn = {"exchange": start, "additionalTurns": 1, "engineId": one.engine}
    for value, why in BEYOND.items():
        for method, call, kind, reason in (
            ("promptkit/backend/generate", one.start(profile="c").call, "generationFailed",
             "malformedResponse"),
            ("promptkit/credential/get", one.start(profile="k").call, "credentialMissing", None),
            ("promptkit/coordinator/next", daemon.start("promptkit/coordinate", turn),
             "callbackInvalid", None),
        ):  # fmt: skip
            asked = await daemon.incoming(method)
            await daemon.write(frame(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (asked.id, value)))
            with pytest.raises(RpcError) as caught:
                await call
            failed = caught.value
            assert (failed.code, failed.kind) == (-32803, kind)
            assert failed.data.get("reason") == reason
            assert why in failed.message, failed.message
    assert one.requests == []


UNREADABLE = [
    b"Content-Length: abc\r\n\r\n",
    b"Content-Length: 10\r\nContent-Length: 5\r\n\r\n12345",
    b"Content-Type: text/plain\r\n\r\n{}",
    b'{"jsonrpc":"2.0","id":1,"method":"x"}\n',
    b'"credential":"sk-canary"}}',
]
"""More of them are at the framer's own tests."""


async def test_where_the_next_frame_begins_is_never_guessed(tmp_path: Path) -> None:
    """X-04: what came before is answered, one line on stderr says why, and the process ends."""

    async def ended(root: Path, head: bytes) -> None:
        async with RawDaemon(root) as daemon:
            hello: Json = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
            good = {"jsonrpc": "2.0", "id": 1, "method": "promptkit/session/status"}
            await daemon.write(frame(hello) + frame(good) + head + frame(good | {"id": 2}))
            answers = [json.loads(await daemon.read_frame() or b"")["id"] for _ in range(2)]
            assert answers == [0, 1]
            assert await daemon.read_rest() == b""
            assert await daemon.wait() == 1
            (line,) = daemon.stderr.splitlines()
            assert line.startswith("promptkit-rpc: the input is out of step: ")
            assert len(line) < 300
            assert "canary" not in line

    root = echoing(tmp_path).root
    await asyncio.gather(*(ended(root, head) for head in UNREADABLE))


async def test_a_stray_answer_does_not_touch_the_request_of_its_id(
    stages: Stages, daemon: Daemon
) -> None:
    """X-07: nor does a cancel of the daemon's own id: each direction has its own ids."""
    one = await stages()
    one.play("start")
    start = (await one.run(capture=True)).result["runId"]
    coordinating = daemon.start(
        "promptkit/coordinate",
        {"exchange": start, "additionalTurns": 0, "workDoneToken": "coordination"},
    )
    asked = await one.next_call()
    gate = asyncio.Event()
    one.play((gate, *OPENAI.says("never")))
    params = {"engineId": one.engine, "promptId": "ask", "variables": {"text": "x"}}
    run = daemon.start("promptkit/run", params, request_id=asked.id)
    await one.provider.arrived(2)
    for stray in ({"result": 1}, {"error": {"code": 1, "message": "m"}}, {"result": None}):
        await daemon.send({"jsonrpc": "2.0", "id": str(asked.id), **stray})
        await daemon.send({"jsonrpc": "2.0", "id": 10**9, **stray})
    await daemon.notify("$/cancelRequest", {"id": asked.id})
    with pytest.raises(RpcError) as caught:
        await run
    assert caught.value.code == REQUEST_CANCELLED
    await one.provider.hung_up(1)
    assert not coordinating.done
    assert not asked.cancelled.is_set()
    await daemon.notify("window/workDoneProgress/cancel", {"token": asked.id})
    await daemon.request("promptkit/session/status")
    assert not coordinating.done
    await asked.answer({"action": "stop"})
    assert await coordinating == {"outcome": "stopped"}


async def test_a_run_goes_on_when_an_answer_of_its_id_comes_in(
    stages: Stages, daemon: Daemon
) -> None:
    """X-07: and it can still be cancelled."""
    one = await stages()
    for cancel in (False, True):
        gate = asyncio.Event()
        one.play((gate, *OPENAI.says("hi")))
        params = {"engineId": one.engine, "promptId": "ask", "variables": {"text": "x"}}
        sent = len(one.requests)
        run = daemon.start("promptkit/run", params, request_id=7000)
        await one.provider.arrived(sent + 1)
        await daemon.send({"jsonrpc": "2.0", "id": 7000, "result": 1})
        if cancel:
            await run.cancel()
            with pytest.raises(RpcError):
                await run
        else:
            gate.set()
            assert (await run)["content"] == "hi"


async def test_at_shutdown_what_is_in_flight_is_finished_and_nothing_else_begins(
    tmp_path: Path,
) -> None:
    """X-08: later requests get -32600; the run is answered, and so is the coordination."""
    async with Daemon(tmp_path) as daemon, stage(daemon, tmp_path / "w", OPENAI) as one:
        one.play("start")
        start = (await one.run(capture=True)).result["runId"]
        gate = asyncio.Event()
        one.provider.always((gate, *OPENAI.says("hi")))
        run = one.start()
        await one.provider.arrived(2)
        coordinating = daemon.start(
            "promptkit/coordinate",
            {"exchange": start, "additionalTurns": 2, "engineId": one.engine},
        )
        asked = await one.next_call()
        await daemon.request("shutdown")
        for method in ("promptkit/run", "promptkit/session/status", "shutdown", "initialize", "x"):
            assert (await daemon.refused(method, {"promptId": "ask"})).code == INVALID_REQUEST
        await daemon.notify("promptkit/nothing", {})
        assert not run.call.done
        gate.set()
        assert (await run.ran()).result["content"] == "hi"
        await asked.answer({"action": "stop"})
        assert await coordinating == {"outcome": "stopped"}
        await daemon.notify("exit")
        assert await daemon.wait() == 0


async def test_before_initialize_nothing_is_served() -> None:
    """X-08: -32002, and `initialize` still works after it."""
    async with Daemon(greet=False) as daemon:
        for method in ("promptkit/run", "x", "shutdown"):
            assert (await daemon.refused(method)).code == -32002
        await daemon.initialize()
        assert (await daemon.refused("initialize", {})).code == INVALID_REQUEST
