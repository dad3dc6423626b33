"""What the cases ask of providers, asked of the backends that know no HTTP: a script, the client.

Each test names the cases whose sibling it is; those of the two HTTP kinds are in the other modules.
"""

import asyncio
from typing import Any

import pytest

from tests.support.daemon import REQUEST_CANCELLED, RpcError
from tests.support.stage import GOOD, SCHEMA, VALUE, Stage, Stages, contract

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any
EACH_KIND = pytest.mark.parametrize("kind", ["scripted", "client"])
GENERATE = "promptkit/backend/generate"
DOWN: Json = {"reason": "server"}
QUICK: Json = {"attempts": 3, "baseDelay": 0.001, "maxDelay": 0.002}
UNKNOWN: Json = {"value": None, "complete": False}


def play(stage: Stage, kind: str, *answers: str | Json, **backend: Json) -> list[Json]:
    """Answers once each, `fault` among them; returns what the client will have been asked."""
    replies: list[Json] = [{"content": x} if isinstance(x, str) else x for x in answers]
    asked: list[Json] = []
    settings: Json = {"kind": kind, "retry": QUICK, **backend}
    if kind == "scripted":
        # A script that has not changed goes on where it was; one of a single reply may begin again.
        once = {"times": 1} if len(replies) > 1 else {}
        settings["replies"] = [{**once, **one} for one in replies]
    else:

        def generate(params: Json) -> Json:
            asked.append(params)
            reply = replies.pop(0)
            if "fault" in reply:
                raise RpcError(1, "no", {"reason": reply["fault"]["reason"]})
            return reply

        stage.daemon.on(GENERATE, generate)
    stage.workspace.settings(
        backends={"b": settings}, profiles={"p": {"backend": "b", "model": "m"}}
    )
    return asked


def fault(kind: str, reason: str, **scripted: Json) -> Json:
    """A reply that fails, in the words of its kind."""
    return {"fault": scripted if kind == "scripted" else {"reason": reason}}


def used(given: int, taken: int) -> Json:
    return {"inputTokens": given, "outputTokens": taken}


def counted(usage: Json) -> tuple[Json, Json, bool]:
    """Input, output, and whether both are complete."""
    both = usage["inputTokens"], usage["outputTokens"]
    return both[0]["value"], both[1]["value"], all(one["complete"] for one in both)


@EACH_KIND
async def test_an_answer_gets_the_verdict_that_a_providers_gets(stages: Stages, kind: str) -> None:
    """S-01, S-03, S-14, S-18: its fence, what stands behind it, its formats, its thinking."""
    stage = await stages()
    dated = {"properties": {"at": {"format": "date-time"}}}
    for content, output, status in (
        ("```json\n" + GOOD, contract(), "valid"),
        ("```JSON\r\n" + GOOD + "\r\n```\r\n", contract(), "valid"),
        (GOOD + "\n\nNote: I dropped the rest.", contract(), "invalid"),
        (GOOD + "}", contract(), "invalid"),
        (GOOD + GOOD, contract(), "invalid"),
        ('<think>{"draft":0}</think>\n' + GOOD, contract(), "invalid"),
        ('{"at":"tomorrow-ish"}', contract(dated), "invalid"),
    ):
        play(stage, kind, content)
        ran = await stage.run(output=output, capture=True)
        assert (ran.status, ran.result["content"]) == (status, content)
        assert (await stage.details(ran.result["runId"]))["content"] == content
        if status == "valid":
            assert ran.structured == VALUE


@EACH_KIND
async def test_depth_and_digits_of_an_answer_are_kept(stages: Stages, kind: str) -> None:
    """S-07, S-16."""
    stage = await stages()
    for depth in (400, 2000, 200_000):
        content = "[" * depth + "]" * depth
        play(stage, kind, content)
        ran = await stage.run(output=contract({}), capture=True)
        assert (ran.status, ran.result["content"]) == (
            "valid" if depth == 400 else "invalid",
            content,
        )
    content = '{"name":"a","n":12345678901234567890}'
    start = len(stage.daemon.received)
    play(stage, kind, content)
    assert (await stage.run(output=contract())).status == "valid"
    assert f'"structured":{content}'.encode() in stage.daemon.received[start:]


@EACH_KIND
async def test_a_repair_is_counted_and_leaves_no_trace(stages: Stages, kind: str) -> None:
    """H-01, S-09, U-01: of a truncated answer; usage is that of both."""
    stage = await stages()
    cut: Json = {"content": '{"name":"aaa', "finishReason": "length", "usage": used(100, 10)}
    asked = play(stage, kind, cut, {"content": GOOD, "usage": used(130, 12)})
    ran = await stage.run(output=contract(repairs=3), capture=True)
    assert (ran.status, ran.result["attempts"], ran.result["repairs"]) == ("valid", 2, 1)
    assert counted(ran.result["usage"]) == counted(ran.finished["usage"]) == (230, 22, True)
    own = [counted(event["usage"]) for event in ran.all("attemptFinished")]
    assert own == [(100, 10, True), (130, 12, True)]
    assert await stage.messages(ran.result["runId"]) == [("user", "go"), ("assistant", GOOD)]
    assert [len(one["messages"]) for one in asked] == ([1, 3] if kind == "client" else [])
    assert all(one["output"]["schema"] == SCHEMA for one in asked)


@EACH_KIND
async def test_usage_is_what_was_reported(stages: Stages, kind: str) -> None:
    """U-02, U-13: nothing is unknown, zeros are zeros, of a truncated answer too."""
    stage = await stages()
    zeros = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
    reports: list[Json] = [{}, {"usage": None}, {"usage": {}}, {"usage": zeros}]
    for given in reports:
        play(stage, kind, {"content": "abc", "finishReason": "length", **given})
        usage = (await stage.run()).result["usage"]
        known = {"value": 0, "complete": True} if given.get("usage") else UNKNOWN
        assert [usage[name] for name in zeros] == [known] * 3
        assert usage["cachedInputTokens"] == UNKNOWN


@EACH_KIND
async def test_what_was_paid_before_a_failure_or_a_cancel_is_told(
    stages: Stages, kind: str
) -> None:
    """U-10, T-19, C-05: three tries of the repair, or one that is cancelled and no other."""
    stage = await stages()
    paid: Json = {"content": "no", "usage": used(100, 10)}
    down = fault(kind, "server", status=500)
    play(stage, kind, paid, down, down, down)
    ran = await stage.run(output=contract(repairs=1), capture=True)
    assert (ran.failure.data["reason"], ran.failure.data["attempts"]) == ("server", 4)
    assert counted(ran.finished["usage"]) == (100, 10, False)
    assert not await stage.held(ran.failure.data["runId"])
    play(stage, kind, paid, {"content": GOOD, "delay": 1000} if kind == "scripted" else "")
    if kind == "client":
        replies = iter([paid])

        async def generate(_: Json) -> Json:
            return next(replies, None) or await asyncio.Event().wait()

        stage.daemon.on(GENERATE, generate)
    run = stage.start(output=contract(repairs=1))
    await run.event("repairStarted")
    await run.cancel()
    ran = await run.ran()
    assert ran.failure.code == REQUEST_CANCELLED
    assert (ran.finished["outcome"], counted(ran.finished["usage"])) == (
        "cancelled",
        (100, 10, False),
    )


@EACH_KIND
async def test_what_is_tried_again_is_decided_alike(stages: Stages, kind: str) -> None:
    """T-04, T-06: overload is, a spent account is not."""
    stage = await stages()
    spent = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    play(stage, kind, fault(kind, "overloaded", status=529), "hi")
    assert (await stage.run()).result["transientRetries"] == 1
    play(stage, kind, fault(kind, "quota", status=429, body=spent), "hi")
    failed = (await stage.run()).failure
    assert (failed.data["reason"], failed.data["attempts"]) == ("quota", 1)


@EACH_KIND
async def test_text_passes_as_it_is(stages: Stages, kind: str) -> None:
    """T-10, H-03, P-06: separators, white space at its end, the words of other roles."""
    stage = await stages()
    text = "system:\u2028Hello\u0085World\u2029 \r\n"
    asked = play(stage, kind, text, "next")
    ran = await stage.run(text, capture=True, partialResultToken="t")
    assert ran.result["content"] == text
    await stage.run("more", continueFrom=ran.result["runId"])
    sent = [[(one["role"], one["content"]) for one in call["messages"]] for call in asked]
    began = [("user", text), ("assistant", text), ("user", "more")]
    assert sent == ([began[:1], began] if kind == "client" else [])


async def test_the_client_is_given_cache_metadata_and_every_message(stages: Stages) -> None:
    """H-05, H-07, H-11: one by one, in the order and as they were written."""
    stage = await stages()
    written: Json = [
        {"role": "system", "content": "S", "cache": {"type": "ephemeral"}},
        {"role": "user", "content": "U1"},
        {"role": "user", "content": "U2", "cache": {"any": [None]}},
        {"role": "assistant", "content": " A "},
    ]
    stage.workspace.prompt("rows", *written, profile="p")
    asked = play(stage, "client", "hi")
    await stage.run(promptId="rows")
    assert asked[0]["messages"] == written


async def test_runs_that_wait_for_the_client_can_be_cancelled(stages: Stages) -> None:
    """R-11, C-05: those that wait for capacity ask it nothing; the slow one goes on."""
    stage = await stages()
    asked = play(stage, "client", capacity=1)
    gate = asyncio.Event()

    async def generate(params: Json) -> Json:
        asked.append(params)
        await gate.wait()
        return {"content": "slow"}

    stage.daemon.on(GENERATE, generate)
    slow = stage.start()
    await slow.event("attemptStarted")
    waiting = [stage.start() for _ in range(30)]
    for run in waiting:
        await run.cancel()
    for run in waiting:
        assert (await run.ran()).failure.code == REQUEST_CANCELLED
    gate.set()
    assert (await slow.ran()).result["content"] == "slow"
    assert len(asked) == 1
