"""What runs report as used: attempts, repairs, failures, and what a provider leaves out.

Siblings tried beside each case: counts that are no counts (U-02, U-04); a cached part that this
provider counts beside its input (U-06); usage of a stream that broke off, of an error inside a
success, of a run that missed its time limit, and an attempt that surely cost nothing (U-10); usage
that no chunk has, in the last chunk with text, and null in every chunk before it (U-11).
"""

import asyncio
import json
from typing import Any

import pytest

from tests.support.daemon import REQUEST_CANCELLED
from tests.support.provider import (
    ANTHROPIC_USAGE,
    OPENAI_USAGE,
    End,
    Script,
    answered,
    completion,
    delta,
    events,
    message,
    refusal,
)
from tests.support.stage import (
    ANTHROPIC,
    ANTHROPIC_STREAMED,
    GOOD,
    OPENAI,
    OPENAI_STREAMED,
    WAYS,
    Ran,
    Stage,
    Stages,
    Way,
    contract,
    openai_stream,
    sse,
    text_delta,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any
EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=str)

FIELDS = ("inputTokens", "outputTokens", "totalTokens")
DOWN: Script = refusal(500, {"error": {"message": "down"}})


def counts(usage: Json) -> tuple[Json, ...]:
    """Input, output and total: the value, and a question mark where it is not complete."""
    return tuple(
        usage[name]["value"] if usage[name]["complete"] else f"{usage[name]['value']}?"
        for name in FIELDS
    )


UNKNOWN = ("None?",) * 3


async def group(stage: Stage) -> str:
    return (await stage.daemon.request("promptkit/group/create"))["groupId"]


async def snapshot(stage: Stage, group_id: str) -> Json:
    return await stage.daemon.request("promptkit/group/snapshot", {"groupId": group_id})


def told(ran: Ran) -> list[tuple[Json, ...]]:
    """The counts of each attempt's own event."""
    return [counts(event["usage"]) for event in ran.all("attemptFinished")]


@EACH_WAY
async def test_a_repaired_run_costs_what_all_its_attempts_did(stages: Stages, way: Way) -> None:
    """U-01: each attempt's event shows its own, the result, the end and a group show the sum."""
    stage = await stages(way)
    groups = [await group(stage)]
    stage.play(way.says("no", usage=(100, 10)), way.says(GOOD, usage=(130, 12)))
    ran = await stage.run(output=contract(repairs=1), groups=groups)
    assert ran.status == "valid"
    shown = await snapshot(stage, groups[0])
    for place in (ran.result, ran.finished, shown):
        assert counts(place["usage"]) == (230, 22, 252)
        assert (place["attempts"], place["repairs"], place["transientRetries"]) == (2, 1, 0)
    assert told(ran) == [(100, 10, 110), (130, 12, 142)]


ABSENT: list[tuple[Json, tuple[Json, ...]]] = [
    ({}, UNKNOWN),
    ({"usage": None}, UNKNOWN),
    ({"usage": {}}, UNKNOWN),
    ({"usage": []}, UNKNOWN),
    ({"usage": "12"}, UNKNOWN),
]
NO_COUNTS = [-1, 1.5, 10.0, "7", True, None, [3]]


@EACH_WAY
async def test_usage_that_was_not_reported_is_unknown_and_zeros_are_zeros(
    stages: Stages, way: Way
) -> None:
    """U-02: in the result, the observations and a group alike."""
    stage = await stages(way)
    zeros = dict.fromkeys(way.usage(1, 1), 0)
    odd = [dict.fromkeys(zeros, value) for value in NO_COUNTS]
    for given, expected in (*ABSENT, ({"usage": zeros}, (0, 0, 0)), *((o, UNKNOWN) for o in odd)):
        groups = [await group(stage)]
        stage.provider.play(with_usage(way, given))
        ran = await stage.run(groups=groups)
        for place in (ran.result, ran.finished, await snapshot(stage, groups[0])):
            assert counts(place["usage"]) == expected
        assert told(ran) == [expected]


def with_usage(way: Way, given: Json) -> Script:
    """An answer that has these members beside the ordinary ones."""
    choice = {"message": {"content": "hi"}, "finish_reason": "stop"}
    block = {"type": "text", "text": "hi"}
    match way:
        case Way("openai", False):
            return answered({"choices": [choice], **given})
        case Way("openai", True):
            return events(delta("hi", "stop"), json.dumps({"choices": [], **given}), "[DONE]")
        case Way(_, False):
            return answered({"content": [block], "stop_reason": "end_turn", **given})
        case _:
            return sse(
                {"type": "message_start", "message": given},
                text_delta("hi"),
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, **given},
                {"type": "message_stop"},
            )


async def test_null_details_and_vendor_fields_leave_known_counts_as_they_are(
    stages: Stages,
) -> None:
    """U-04: kept as sent, not summed anew; a detail that is not there is unknown."""
    usage = {
        "prompt_tokens": 2181,
        "completion_tokens": 57,
        "total_tokens": 2518,
        "prompt_tokens_details": None,
        "completion_tokens_details": None,
        "reasoning_tokens": 280,
    }
    for way in (OPENAI, OPENAI_STREAMED):
        stage = await stages(way)
        odd: list[Json] = [None, [], 5, {"cached_tokens": "x", "reasoning_tokens": None}]
        for details in odd:
            given: Json = {
                **usage,
                "prompt_tokens_details": details,
                "completion_tokens_details": details,
            }
            stage.play(
                completion("hi", usage=given) if way is OPENAI else openai_stream("hi", usage=given)
            )
            ran = await stage.run()
            assert counts(ran.result["usage"]) == (2181, 57, 2518)
            unknown = {"value": None, "complete": False}
            for name in ("cachedInputTokens", "reasoningTokens", "cacheCreationTokens"):
                assert ran.result["usage"][name] == unknown


async def test_streamed_counts_that_grow_are_not_added_up(stages: Stages) -> None:
    """U-06: the same as unstreamed; what was read from and written to a cache is input too."""
    cached = {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}
    for more, whole in (({}, 20), (cached, 127)):
        given = {"input_tokens": 20, "output_tokens": 25, **more}
        stage = await stages(ANTHROPIC)
        stage.play(message("hi", usage=given))
        plain = (await stage.run()).result["usage"]
        assert counts(plain) == (whole, 25, whole + 25)
        stage = await stages(ANTHROPIC_STREAMED)
        for last in ({"output_tokens": 25}, given, {"output_tokens": 25, "input_tokens": None}):
            stage.play(
                sse(
                    {"type": "message_start", "message": {"usage": {**given, "output_tokens": 1}}},
                    text_delta("hi"),
                    {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}},
                    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last},
                    {"type": "message_stop"},
                )
            )
            assert (await stage.run()).result["usage"] == plain


@EACH_WAY
async def test_work_that_was_paid_before_a_failure_stays_counted(stages: Stages, way: Way) -> None:
    """U-10: the repair fails until nothing is left, or is cancelled; one terminal event each."""
    stage = await stages(way)
    groups = [await group(stage)]
    stage.play(way.says("no", usage=(100, 10)), DOWN, DOWN, DOWN)
    ran = await stage.run(output=contract(repairs=1), groups=groups)
    assert ran.failure.data["reason"] == "server"
    assert ran.failure.data["attempts"] == 4
    assert (ran.finished["outcome"], ran.finished["attempts"]) == ("failed", 4)
    assert (ran.finished["transientRetries"], ran.finished["repairs"]) == (2, 1)
    assert counts(ran.finished["usage"]) == ("100?", "10?", "110?")
    assert told(ran) == [(100, 10, 110), UNKNOWN, UNKNOWN, UNKNOWN]

    sent = len(stage.requests)
    stage.play(way.says("no", usage=(100, 10)), (asyncio.Event(), End.CLOSE))
    run = stage.start(output=contract(repairs=1), groups=groups)
    await stage.provider.arrived(sent + 2)
    await run.cancel()
    ran = await run.ran()
    assert ran.failure.code == REQUEST_CANCELLED
    assert (ran.finished["outcome"], ran.finished["error"]["kind"]) == ("cancelled", "cancelled")
    assert counts(ran.finished["usage"]) == ("100?", "10?", "110?")
    shown = await snapshot(stage, groups[0])
    assert (len(shown["runs"]), shown["complete"], shown["attempts"]) == (2, True, 6)
    assert counts(shown["usage"]) == ("200?", "20?", "220?")


@EACH_WAY
async def test_what_surely_cost_nothing_leaves_the_sum_complete(stages: Stages, way: Way) -> None:
    """U-10: a refusal before any work is no gap in what is known."""
    stage = await stages(way)
    stage.play(refusal(429, {"error": {"message": "slow down"}}), "hi")
    ran = await stage.run()
    assert ran.result["transientRetries"] == 1
    assert counts(ran.result["usage"]) == (10, 5, 15)


async def test_a_run_out_of_time_tells_what_it_had_used(stages: Stages) -> None:
    """U-10: the time limit passes during the repair."""
    stage = await stages(OPENAI)
    stage.play(OPENAI.says("no", usage=(100, 10)), (asyncio.Event(), End.CLOSE))
    ran = await stage.run(output=contract(repairs=1), timeoutMs=1000)
    assert ran.failure.kind == "deadlineExceeded"
    assert ran.finished["outcome"] == "failed"
    assert counts(ran.finished["usage"]) == ("100?", "10?", "110?")


@pytest.mark.parametrize("end", ["cancel", "timeoutMs", "timeouts.total"])
async def test_a_stream_that_is_cut_short_tells_what_it_had_used(stages: Stages, end: str) -> None:
    """U-10, OBS-3, USE-2: by the caller, by the run's limit or by the attempt's."""
    limits = {"timeouts": {"total": 1}} if end == "timeouts.total" else {}
    stage = await stages(ANTHROPIC_STREAMED, retry={"attempts": 1}, **limits)
    usage = {"input_tokens": 25, "output_tokens": 1}
    start = {"type": "message_start", "message": {"usage": usage}}
    said = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "half"}}
    stage.provider.play((*sse(start, said, end=False), End.NEVER))
    run = stage.start("x", timeoutMs=1000) if end == "timeoutMs" else stage.start()
    if end == "cancel":
        await stage.daemon.notification("$/progress", lambda p: p["value"].get("text") == "half")
        await run.cancel()
    ran = await run.ran()
    assert told(ran) == [(25, "1?", "26?")]
    assert counts(ran.finished["usage"]) == (25, "1?", "26?")


BROKEN: list[tuple[Way, Script, tuple[Json, ...]]] = [
    (
        OPENAI_STREAMED,
        (
            *events(delta("half"), json.dumps({"choices": [], "usage": OPENAI_USAGE}), end=False),
            End.CLOSE,
        ),
        (10, "5?", "15?"),
    ),
    (
        ANTHROPIC_STREAMED,
        (
            *sse({"type": "message_start", "message": {"usage": ANTHROPIC_USAGE}}, end=False),
            End.CLOSE,
        ),
        (10, "5?", "15?"),
    ),
    (OPENAI, answered({"choices": [], "usage": OPENAI_USAGE}), (10, 5, 15)),
    (OPENAI, answered({"error": {"message": "m"}, "usage": OPENAI_USAGE}), (10, 5, 15)),
    (ANTHROPIC, answered({"content": 5, "usage": ANTHROPIC_USAGE}), (10, 5, 15)),
]


@pytest.mark.parametrize(("way", "script", "expected"), BROKEN)
async def test_usage_that_came_without_an_answer_is_counted(
    stages: Stages, way: Way, script: Script, expected: tuple[Json, ...]
) -> None:
    """U-10: with a broken stream, an error inside a success, an answer of no known shape.

    USE-2: what was counted of an output that broke off is the least of it.
    """
    stage = await stages(way, retry={"attempts": 1})
    stage.provider.play(script)
    ran = await stage.run()
    assert ran.failure.kind == "generationFailed"
    assert told(ran) == [expected]
    assert counts(ran.finished["usage"]) == expected


CHUNK = {"prompt_tokens": 10, "completion_tokens": 50, "total_tokens": 60}
STREAMS: list[tuple[str, ...]] = [
    (delta("Hi"), delta(" you", "stop"), json.dumps({"choices": [], "usage": CHUNK}), "[DONE]"),
    (
        json.dumps({"choices": [], "prompt_filter_results": []}),
        delta("Hi"),
        delta(" you"),
        delta(finish="stop"),
        json.dumps({"choices": [], "usage": CHUNK}),
        "[DONE]",
    ),
    (
        json.dumps({"choices": [{"delta": {"content": "Hi"}}], "usage": None}),
        json.dumps({"choices": [{"delta": {"content": " you"}, "finish_reason": "stop"}],
                    "usage": CHUNK}),
    ),
    (delta("Hi you"), delta(finish="stop"), json.dumps({"usage": CHUNK}), "[DONE]"),
]  # fmt: skip


@pytest.mark.parametrize("stream", STREAMS)
async def test_a_chunk_without_choices_carries_the_usage(
    stages: Stages, stream: tuple[str, ...]
) -> None:
    """U-11: at the end; at the start it carries nothing and breaks nothing."""
    stage = await stages(OPENAI_STREAMED)
    stage.play(events(*stream))
    ran = await stage.run()
    assert (ran.result["content"], ran.text) == ("Hi you", "Hi you")
    assert counts(ran.result["usage"]) == (10, 50, 60)
    assert stage.requests[0].json()["stream_options"] == {"include_usage": True}


@EACH_WAY
async def test_zeros_of_a_truncated_answer_are_kept_as_reported(stages: Stages, way: Way) -> None:
    """U-13: known zeros, not guessed anew, and not the same as missing."""
    stage = await stages(way)
    stage.play(way.says("abc", stop="length", usage=(0, 0)), way.says("abc", usage=None))
    ran = await stage.run()
    assert (ran.result["content"], ran.result["finishReason"]) == ("abc", "length")
    assert counts(ran.result["usage"]) == (0, 0, 0)
    assert counts((await stage.run()).result["usage"]) == UNKNOWN
