"""Frames, ids and many requests at once, on the real daemon's pipes.

Siblings tried beside each case: a module of the workspace's with a library's name, Python's
development mode, a command for a key that prints to stdout (R-03); ids of other JSON types and in
cancels (R-04, R-05); answers to no callback while one is open (R-07); cancels of runs in admission,
of prepared ones and by token (R-11); large appended messages and answers from the client's side
(R-14); batches of answers and notifications, nested batches (R-19); a slow preparation and a slow
template (R-20). The ways in which the daemon starts and ends are in `test_json_rpc_process.py`.
"""

import asyncio
import json
from typing import Any

import pytest

from promptkit_rpc.definitions.sandbox.budget import MAX_TEXT
from promptkit_rpc.rpc.framing import MAX_BODY
from tests.support.daemon import REQUEST_CANCELLED, Daemon, RpcError
from tests.support.frames import frame
from tests.support.process import RawDaemon
from tests.support.provider import completion
from tests.support.stage import PLAIN, Stage, Stages, Way

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any

INVALID_REQUEST, PARSE_ERROR = -32600, -32700


def gated(way: Way, text: str) -> tuple[asyncio.Event, Any]:
    """A gate, and an answer that comes once it is open."""
    gate = asyncio.Event()
    return gate, (gate, *way.says(text))


def request(ident: Json, method: str, params: Json) -> bytes:
    return frame({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})


async def strays(daemon: Daemon, *bodies: bytes) -> list[tuple[Json, int]]:
    """(id, code) of what frames of these bodies are answered with, beside a request after them."""
    before = len(daemon.strays)
    await daemon.write(b"".join(map(frame, bodies)))
    await daemon.request("promptkit/session/status")
    return [(one["id"], one["error"]["code"]) for one in daemon.strays[before:]]


IDS: list[Json] = [1, "1", "", "a/b", 2147483648, -7, 0, "0", -1, 2**70, "é\u2028", "x" * 5000]


async def test_each_id_comes_back_as_it_was(stages: Stages, daemon: Daemon) -> None:
    """R-04: type and value, for results and errors; all of them in flight together."""
    stage = await stages()
    gate, script = gated(stage.way, "hi")
    stage.provider.always(script)
    params = {"engineId": stage.engine, "promptId": "ask", "variables": {"text": "x"}}
    good = [daemon.start("promptkit/run", params, request_id=ident) for ident in IDS]
    await stage.provider.arrived(len(IDS))
    gate.set()
    for call in good:
        assert (await call)["content"] == "hi"
    bad = [daemon.start("promptkit/run", {"nonsense": 1}, request_id=ident) for ident in IDS]
    for call in bad:
        with pytest.raises(RpcError) as caught:
            await call
        assert caught.value.code == -32602
    assert [one["id"] for one in daemon.log if "method" not in one][-len(IDS) :] == IDS


NO_IDS = [b"1.5", b"null", b"true", b"[]", b"{}", b"1.0", b"1e3"]


async def test_what_can_be_no_id_is_answered_under_null(daemon: Daemon) -> None:
    """R-04: one -32600 each."""
    body = b'{"jsonrpc":"2.0","id":%b,"method":"promptkit/session/status"}'
    assert await strays(daemon, *(body % one for one in NO_IDS)) == [
        (None, INVALID_REQUEST) for _ in NO_IDS
    ]


async def test_id_zero_is_an_id(stages: Stages, daemon: Daemon) -> None:
    """R-05: for `initialize`, a run, its cancel; and in the client's own answers."""
    async with Daemon(greet=False) as fresh:
        params: Json = {"processId": None, "capabilities": {}}
        assert "capabilities" in await fresh.start("initialize", params, request_id=0)
    for ident in (0, "0", "", -1):
        stage = await stages()
        _, script = gated(stage.way, "never")
        stage.play(script)
        params = {"engineId": stage.engine, "promptId": "ask", "variables": {"text": "x"}}
        call = daemon.start("promptkit/run", params, request_id=ident)
        await stage.provider.arrived(1)
        for other in (0, "0", "", -1, None, 0.0, False):
            if type(other) is not type(ident) or other != ident:
                await daemon.notify("$/cancelRequest", {"id": other})
        await daemon.notify("$/cancelRequest", {"id": ident})
        with pytest.raises(RpcError) as caught:
            await call
        assert caught.value.code == REQUEST_CANCELLED
        await stage.provider.hung_up(1)


MIXED: list[tuple[bytes, list[tuple[Json, int]]]] = [
    (b'{"jsonrpc":"2.0","id":5,"method":"x","result":null}', [(5, INVALID_REQUEST)]),
    (b'{"jsonrpc":"2.0","id":999,"result":1}', []),
    (b'{"jsonrpc":"2.0","id":"no","result":1}', []),
    (b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}', []),
    (
        b'{"jsonrpc":"2.0","id":5,"result":1,"error":{"code":1,"message":"m"}}',
        [(None, INVALID_REQUEST)],
    ),
    (b'{"jsonrpc":"2.0","id":5}', [(None, INVALID_REQUEST)]),
    (b'{"jsonrpc":"2.0","id":5,"error":{}}', []),
    (b'{"jsonrpc":"2.0","id":5,"error":7}', []),
    (b'{"jsonrpc":"2.0","result":1}', [(None, INVALID_REQUEST)]),
    (b'{"jsonrpc":"2.0","id":5,"method":7}', [(5, INVALID_REQUEST)]),
]


async def test_what_is_half_request_half_answer_leaves_the_reader_and_callbacks_alone(
    stages: Stages, daemon: Daemon
) -> None:
    """R-07: with a callback open whose id is none of those."""
    stage = await stages()
    stage.play("start")
    start = (await stage.run(capture=True)).result["runId"]
    coordinating = daemon.start("promptkit/coordinate", {"exchange": start, "additionalTurns": 0})
    call = await stage.next_call()
    for body, expected in MIXED:
        assert call.id not in (5, 999), "the test's own ids must be free"
        assert await strays(daemon, body) == expected, body
    assert not coordinating.done
    await call.answer({"action": "stop"})
    assert await coordinating == {"outcome": "stopped"}


async def until_waiting(stage: Stage, count: int) -> None:
    while (await stage.load())["waiting"] < count:
        pass


async def test_thirty_cancels_at_once_reach_thirty_waiting_runs(stages: Stages) -> None:
    """R-11: they end before the run that they wait for, and none makes a request."""
    stage = await stages(capacity=1)
    gate, script = gated(stage.way, "slow")
    stage.play(script)
    slow = stage.start()
    await stage.provider.arrived(1)
    waiting = [stage.start(workDoneToken=f"w{n}") for n in range(30)]
    await until_waiting(stage, 30)
    unseen = [stage.start(workDoneToken=f"u{n}") for n in range(10)]
    for number, run in enumerate(waiting):
        if number % 2:
            await stage.daemon.notify("window/workDoneProgress/cancel", {"token": f"w{number}"})
        else:
            await run.cancel()
    for run in unseen:
        await run.cancel()
    for run in waiting:
        ran = await run.ran()
        assert ran.failure.code == REQUEST_CANCELLED
        assert (ran.finished["outcome"], ran.finished["attempts"]) == ("cancelled", 0)
    for run in unseen:  # whether it had begun or not
        ran = await run.ran()
        assert ran.failure.code == REQUEST_CANCELLED
        assert "attemptStarted" not in ran.kinds
    assert not slow.call.done
    assert (await stage.load())["waiting"] == 0
    gate.set()
    assert (await slow.ran()).result["content"] == "slow"
    assert len(stage.requests) == 1


MIB = 1024 * 1024


async def test_messages_of_any_allowed_size_pass_and_larger_ones_are_refused(
    stages: Stages, daemon: Daemon
) -> None:
    """R-14: a variable up to a text's limit, a message up to the body's; the reader lives on."""
    stage = await stages()
    stage.provider.always(completion("got it"))
    for size in (70_000, 5 * MIB):
        assert (await stage.run("x" * size)).result["content"] == "got it"
        assert len(stage.sent()[0][1]) == size
    failed = (await stage.run("x" * 60_000_000)).failure
    assert (failed.kind, str(MAX_TEXT) in failed.message) == ("templateFailed", True)
    await stage.run(messages=[{"role": "user", "content": "y" * 30_000_000}])
    assert len(stage.sent()[1][1]) == 30_000_000
    stage.provider.play(completion("é" * (5 * MIB // 2)))
    ran = await stage.run(capture=True)
    assert ran.result["content"] == "é" * (5 * MIB // 2)
    assert (await stage.details(ran.result["runId"]))["content"] == ran.result["content"]
    params = b'{"promptId":"%b"}' % (b"x" * MAX_BODY)
    for ident in (b"7", b'"seven"'):
        too_large = b'{"jsonrpc":"2.0","id":%b,"method":"promptkit/run","params":%b}'
        assert await strays(daemon, too_large % (ident, params)) == [
            (json.loads(ident), INVALID_REQUEST)
        ]
    header = b"X-Foo: " + b"y" * 100_000 + b"\r\n"
    await daemon.write(header)
    assert await daemon.request("promptkit/session/status")


BATCHES = [
    b'[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}},{"jsonrpc":"2.0","id":2}]',
    b'[{"jsonrpc":"2.0","id":1,"method":"initialize"},{"jsonrpc":"2.0","id":2,"method":"x"}]',
    b"[]",
    b"[1]",
    b"[[]]",
    b'[{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}]',
    b'[{"jsonrpc":"2.0","id":1,"result":1}]',
    b"null",
    b"5",
    b'"x"',
]


async def test_a_batch_is_refused_in_one_answer(daemon: Daemon) -> None:
    """R-19: with id null; so is whatever else is no object."""
    for batch in BATCHES:
        assert await strays(daemon, batch) == [(None, INVALID_REQUEST)]


@pytest.mark.parametrize("way", PLAIN, ids=str)
async def test_a_slow_run_keeps_nobody_waiting(stages: Stages, way: Way) -> None:
    """R-20: lists, another run and its own cancel are answered while it goes on."""
    stage = await stages(way)
    gate, script = gated(way, "slow")
    stage.play(script)
    slow = stage.start()
    await stage.provider.arrived(1)
    for method in ("prompt/list", "profile/list", "backend/list"):
        assert (await stage.ask(f"promptkit/{method}"))["items"]
    assert (await stage.ask("promptkit/prompt/inspect", promptId="ask"))["promptId"] == "ask"
    stage.play("quick")
    assert (await stage.run()).result["content"] == "quick"
    assert not slow.call.done
    await slow.cancel()
    assert (await slow.ran()).failure.code == REQUEST_CANCELLED
    gate.set()


async def test_a_slow_template_keeps_nobody_waiting(stages: Stages) -> None:
    """R-20: rendering that takes every step it may is off the loop, and can be cancelled."""
    stage = await stages()
    loop = "{% for a in range(90000) %}{% for b in range(90000) %}{{ loop.index }}{% endfor %}"
    stage.workspace.prompt("slow", loop + "{% endfor %}", profile="p")
    slow = stage.start(promptId="slow")
    stage.play("quick")
    assert (await stage.run()).result["content"] == "quick"
    await slow.cancel()
    assert (await slow.ran()).failure.code in (REQUEST_CANCELLED, -32803)
    assert len(stage.requests) == 1


async def test_a_callback_may_run_what_it_likes_before_it_answers(stages: Stages) -> None:
    """R-20: on the same connection and backend, of one capacity, without a deadlock."""
    stage = await stages(capacity=1)
    stage.provider.always(completion("hi"))
    start = (await stage.run(capture=True)).result["runId"]

    async def nested(depth: int) -> None:
        call = stage.daemon.start(
            "promptkit/coordinate",
            {"exchange": start, "additionalTurns": 1, "engineId": stage.engine},
        )
        for turn in range(2):
            asked = await stage.next_call()
            if depth and not turn:
                await nested(depth - 1)
            assert (await stage.run()).result["content"] == "hi"
            request = {"promptId": "ask", "variables": {"text": "x"}}
            action = {"action": "continue", "request": request} if not turn else {"action": "stop"}
            await asked.answer(action)
        assert await call == {"outcome": "stopped"}

    await nested(2)


async def test_an_id_that_is_in_flight_is_not_taken_twice(stages: Stages) -> None:
    """R-04: the second request is refused; the first goes on and can still be cancelled."""
    async with RawDaemon() as daemon:
        stage = await stages()
        _, script = gated(stage.way, "never")
        stage.play(script)
        hello = {"root": str(stage.workspace.root)}
        options = {"capabilities": {}, "initializationOptions": {"promptkit": hello}}
        await daemon.write(request(0, "initialize", options))
        run = request("twice", "promptkit/run", {"promptId": "ask", "variables": {"text": "x"}})
        await daemon.write(run)
        await stage.provider.arrived(1)
        cancel = frame({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "twice"}})
        await daemon.write(run + cancel)
        answers = [json.loads(await daemon.read_frame() or b"") for _ in range(3)]
        assert [one["id"] for one in answers] == [0, "twice", "twice"]
        assert [one["error"]["code"] for one in answers[1:]] == [INVALID_REQUEST, REQUEST_CANCELLED]
