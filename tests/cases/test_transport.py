"""Refusals, broken bodies and odd streams, and what is tried again.

Siblings tried beside each case: dates in old forms, numbers beyond any, the header in milliseconds,
on other statuses (T-01); overload named inside a success (T-04); other words for a spent account,
in a stream, and 429 for other reasons (T-06); a body of no length, whole JSON of a body cut short,
a stream without its end, a broken compressed body (T-08); the same separators in variables,
messages, definitions, inputs and replies (T-10); other fields, byte-order mark, no space after the
colon (T-13); keepalives in other spellings, other data that is no JSON (T-14); pages that quote the
key, where a stream was asked for (T-16); silence after the head and after a piece (T-19). Proxies
are in `test_transport_proxies.py`.
"""

import asyncio
import json
import re
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, formatdate
from typing import Any

import pytest

from tests.support.provider import (
    End,
    Script,
    answered,
    chunks,
    completion,
    delta,
    events,
    refusal,
    respond,
)
from tests.support.stage import (
    ANTHROPIC_STREAMED,
    OPENAI,
    OPENAI_STREAMED,
    PLAIN,
    STREAMED,
    WAYS,
    Stages,
    Way,
    sse,
    text_delta,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any
EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=str)

SLOW_DOWN: Json = {"error": {"message": "slow down"}}
OVERLOADED: Json = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def in_seconds(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


@EACH_WAY
async def test_a_wait_that_the_provider_names_is_kept(stages: Stages, way: Way) -> None:
    """T-01: in seconds or as a date of any of the three forms; scheduled, then cancelled here."""
    stage = await stages(way, retry={"attempts": 5, "baseDelay": 0, "maxDelay": 200})
    day = in_seconds(100)
    for header in (
        ("Retry-After", format_datetime(day, usegmt=True)),
        ("Retry-After", f"{day:%A, %d-%b-%y %H:%M:%S GMT}"),
        ("Retry-After", f"{day:%a %b %d %H:%M:%S %Y}"),
        ("Retry-After", "99.5"),
        ("retry-after-ms", "99500"),
    ):
        sent = len(stage.requests)
        stage.play(refusal(429, SLOW_DOWN, header))
        run = stage.start()
        scheduled = await run.event("retryScheduled")
        assert 50_000 < scheduled["delayMs"] <= 100_000, header
        await run.cancel()
        assert (await run.ran()).failure.code == -32800
        assert len(stage.requests) == sent + 1


USELESS = [
    "Fri, 31 Dec 2015 23:59:59 GMT",
    "-5",
    "0",
    "soon",
    "",
    "nan",
    "1e999",
    "-inf",
    "٣",
    "1 2",
]


@pytest.mark.parametrize("way", PLAIN, ids=str)
async def test_a_wait_that_is_past_or_unreadable_leaves_the_ordinary_backoff(
    stages: Stages, way: Way
) -> None:
    """T-01: never negative, never a crash, one transient retry each, whatever the status."""
    stage = await stages(way)
    for status in (429, 503, 529, 408, 409, 500):
        for value in USELESS if status == 429 else USELESS[:2]:
            header = ("Retry-After", value.encode().decode("latin-1"))
            stage.play(refusal(status, SLOW_DOWN, header), "hi")
            ran = await stage.run()
            assert ran.result["content"] == "hi"
            assert (ran.result["transientRetries"], ran.result["attempts"]) == (1, 2)
            (scheduled,) = ran.all("retryScheduled")
            assert 0 <= scheduled["delayMs"] <= 2


async def test_a_wait_above_the_policys_own_ends_the_run_at_once(stages: Stages) -> None:
    """T-01: the cap; what was asked for is told."""
    stage = await stages(OPENAI)
    header = ("Retry-After", formatdate(in_seconds(3600).timestamp(), usegmt=True))
    stage.play(refusal(429, SLOW_DOWN, header))
    failed = (await stage.run()).failure
    assert failed.data["reason"] == "rateLimited"
    assert 3_500_000 < failed.data["retryAfterMs"] <= 3_600_000
    assert re.search(r"\(it asks to wait 3[56]\d\d(\.\d+)? s; retry.maxDelay is ", failed.message)
    assert (len(stage.requests), failed.data["attempts"]) == (1, 1)


@EACH_WAY
async def test_an_overloaded_provider_is_asked_again(stages: Stages, way: Way) -> None:
    """T-04: by its status, by the error inside a success, and inside a stream after a piece."""
    inside = answered(OVERLOADED)
    if way is OPENAI_STREAMED:
        inside = events(delta("half"), json.dumps({"error": OVERLOADED["error"]}))
    elif way is ANTHROPIC_STREAMED:
        inside = sse({"type": "message_start", "message": {}}, text_delta("half"), OVERLOADED)
    stage = await stages(way)
    for script in (refusal(529, OVERLOADED), inside):
        stage.play(script, "whole")
        ran = await stage.run(capture=True)
        assert (ran.result["content"], ran.result["transientRetries"]) == ("whole", 1)
        assert ran.all("retryScheduled")[0]["reason"] == "overloaded"
        if way.streamed:
            assert ran.text == "whole"
            assert {"attempt": 1, "reset": True} in ran.pieces
        stage.play(script, script, script)
        ran = await stage.run(capture=True)
        assert (ran.failure.data["reason"], ran.failure.data["httpStatus"]) == ("overloaded", 529)
        assert not await stage.held(ran.failure.data["runId"])


QUOTA = "You exceeded your current quota"
SPENT: list[tuple[int, Json]] = [
    (429, {"error": {"message": QUOTA, "type": "insufficient_quota",
           "code": "insufficient_quota"}}),
    (429, {"error": {"message": QUOTA, "code": "billing_hard_limit_reached"}}),
    (402, {"error": {"message": "Payment required"}}),
    (403, {"type": "error", "error": {"type": "billing_error", "message": "m"}}),
    (400, {"type": "error", "error": {"type": "invalid_request_error",
           "message": "Your credit balance is too low to access the API."}}),
    (200, {"error": {"message": QUOTA, "type": "insufficient_quota"}}),
]  # fmt: skip


@EACH_WAY
async def test_a_spent_account_is_told_after_one_request(stages: Stages, way: Way) -> None:
    """T-06: quota is terminal; a 429 for anything else is not."""
    stage = await stages(way)
    for number, (status, body) in enumerate(SPENT, start=1):
        stage.play(answered(body, status))
        failed = (await stage.run()).failure
        assert (failed.data["reason"], failed.data["retryable"]) == ("quota", False), body
        assert str(body["error"]["message"]) in failed.message
        assert len(stage.requests) == number
    stage.play(
        refusal(429, {"error": {"message": "quota of requests", "code": "rate_limit"}}), "hi"
    )
    assert (await stage.run()).result["transientRetries"] == 1


def _broken(way: Way) -> list[Script]:
    whole = b"".join(step for step in way.says("whole")[1:] if isinstance(step, bytes))
    if way.streamed:
        pieces = [step for step in way.says("whole")[1:] if isinstance(step, bytes)]
        head = way.says("whole")[0]
        assert isinstance(head, bytes)
        return [
            (head, pieces[0], pieces[1][:7], End.CLOSE),
            (head, *pieces[:2], End.RESET),
            (head, *pieces[:2], b"0\r\n\r\n"),
        ]
    body = json.dumps({"content": [{"type": "text", "text": "x" * 100}]}).encode()[:120]
    kind = [("Content-Encoding", "gzip")]
    packed = zlib.compress(whole, wbits=31)[:-9]
    return [
        (*respond(body=body.ljust(120), length=500), End.CLOSE),
        (*respond(body=whole, length=len(whole) + 1), End.CLOSE),
        (*chunks(whole, end=False), b"50\r\nxx", End.CLOSE),
        (*respond(body=body, length=500), End.RESET),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + whole[:-9], End.CLOSE),
        (*respond(body=packed, length=len(packed) + 9, headers=kind), End.CLOSE),
    ]


@EACH_WAY
async def test_a_body_that_breaks_off_is_asked_for_again(stages: Stages, way: Way) -> None:
    """T-08: nothing of it is taken for an answer; with nothing left the message says how far."""
    stage = await stages(way)
    for script in _broken(way):
        stage.play(script, "whole")
        ran = await stage.run()
        assert (ran.result["content"], ran.result["attempts"]) == ("whole", 2)
        assert (ran.result["transientRetries"], ran.kinds.count("attemptStarted")) == (1, 2)
        if way.streamed:
            assert ran.text == "whole"
        sent = len(stage.requests)
        stage.play(script, script, script)
        ran = await stage.run(capture=True)
        data = ran.failure.data
        assert (data["reason"], data["httpStatus"], data["attempts"]) == ("connection", 200, 3)
        assert " bytes of the body (HTTP 200)" in ran.failure.message
        assert len(stage.requests) == sent + 3
        assert not await stage.held(data["runId"])


async def test_a_body_that_breaks_off_says_how_much_had_come(stages: Stages) -> None:
    """T-08."""
    stage = await stages(OPENAI, retry={"attempts": 1})
    stage.play((*respond(body=b"x" * 120, length=500), End.CLOSE))
    assert "120 of 500 bytes of the body (HTTP 200)" in (await stage.run()).failure.message


LINES = "Hello\u2028World\u0085!\u2029\x0b\x0c\x1c end"


@pytest.mark.parametrize("way", STREAMED, ids=str)
async def test_separators_that_are_no_line_ends_stay_in_the_text(stages: Stages, way: Way) -> None:
    """T-10: raw in a streamed answer, whatever ends the lines; also on the way in."""
    stage = await stages(way)
    data = json.dumps({"choices": [{"delta": {"content": LINES}}]}, ensure_ascii=False)
    ending = [delta(finish="stop"), "[DONE]"]
    if way is ANTHROPIC_STREAMED:
        data = json.dumps(text_delta(LINES), ensure_ascii=False)
        ending = [json.dumps({"type": "message_stop"})]
    for end in ("\n", "\r\n", "\r"):
        steps = [f"data: {one}{end}{end}".encode() for one in (data, *ending)]
        whole = b"".join(steps)
        split = [whole[at : at + 1] for at in range(len(whole))]
        for pieces in (steps, [whole], split):
            stage.play(events(*pieces))
            ran = await stage.run(LINES, messages=[{"role": "user", "content": LINES}])
            assert (ran.result["content"], ran.text) == (LINES, LINES)
            assert stage.sent()[-2:] == [("user", LINES), ("user", LINES)]


async def test_separators_pass_through_every_file(stages: Stages) -> None:
    """T-10: definitions, inputs, included files and scripted replies."""
    stage = await stages(OPENAI)
    text = LINES.replace("\x0b", "").replace("\x0c", "").replace("\x1c", "")
    stage.workspace.write("in.txt", LINES).write("prompts/part.txt", LINES).write(
        "prompts/lines.prompt.yaml",
        f"profile: p\ninputs: {{i: {{file: in.txt}}}}\nmessages:\n  - role: user\n"
        f"    content: |-\n      {text}\n"
        '  - {role: user, content: "{{ inputs.i }}"}\n'
        "  - {role: user, content: \"{% include 'part.txt' %}\"}\n",
    )
    stage.play(completion(LINES))
    ran = await stage.run(promptId="lines")
    assert stage.sent() == [("user", text), ("user", LINES), ("user", LINES)]
    assert ran.result["content"] == LINES
    stage.workspace.settings(
        backends={"b": {"kind": "scripted", "replies": [{"content": text}]}},
        profiles={"p": {"backend": "b", "model": "m"}},
    )
    assert (await stage.run(partialResultToken="s")).result["content"] == text


@pytest.mark.parametrize("way", STREAMED, ids=str)
async def test_comments_empty_events_and_keepalives_are_no_part_of_a_stream(
    stages: Stages, way: Way
) -> None:
    """T-13, T-14: also a keepalive that a proxy sent as data."""
    stage = await stages(way)
    done = b"".join(step for step in way.says("ab")[1:-1] if isinstance(step, bytes))
    parts = [part for part in done.split(b"\r\n") if part.startswith((b"data", b"event"))]
    between = [
        b": ping\n\n",
        b"data:\n\n",
        b"data: : keepalive\n\n",
        b"data: :keepalive\n\n",
        b"\n\n",
        b"id: 1\nretry: 10\nfoo: bar\nevent: ping\n\n",
        b": OPENROUTER PROCESSING\n: more\n\n",
    ]
    for extra in between:
        stage.play(events(extra, *(step for part in parts for step in (part, extra))))
        ran = await stage.run()
        assert (ran.result["content"], ran.text) == ("ab", "ab"), extra
    tight = [b"id: 1\n" + part.replace(b"data: ", b"data:") for part in parts]
    stage.play(events(b"\xef\xbb\xbf", *tight))
    assert (await stage.run()).result["content"] == "ab"


@pytest.mark.parametrize("way", STREAMED, ids=str)
async def test_other_data_in_a_stream_is_a_clear_error(stages: Stages, way: Way) -> None:
    """T-14: no partial answer is kept as complete, and it is not asked for again."""
    stage = await stages(way)
    for number, data in enumerate(
        ("keepalive", "<html>", "[]", '"x"', '{"choices":5,"type":5}'), 1
    ):
        stage.play(events(delta("a"), data, delta("b", "stop"), "[DONE]"))
        ran = await stage.run(capture=True)
        assert ran.failure.data["reason"] == "malformedResponse"
        assert not await stage.held(ran.failure.data["runId"])
        assert len(stage.requests) == number


KEY = "sk-canary-page-0123456789"
PAGE = f"<html>login {KEY}</html>".encode()


@EACH_WAY
async def test_a_page_instead_of_an_answer_is_told_with_its_type(stages: Stages, way: Way) -> None:
    """T-16: a 502 is tried again; a success without an answer is an error and quotes no key."""
    stage = await stages(way)
    stage.play(respond(502, PAGE, kind="text/html"), "hi")
    assert (await stage.run()).result["transientRetries"] == 1
    for status, kind, body in (
        (200, "text/html", PAGE),
        (200, "application/json", b""),
        (200, "application/json", b"null"),
        (200, "application/json", b"5"),
        (200, "application/json", b"[]"),
        (200, "application/json", b"{}"),
        (204, "application/json", b""),
        (200, "application/json", b'{"choices":[{"index":0}],"content":{}}'),
    ):
        sent = len(stage.requests)
        stage.play(respond(status, body, kind=kind))
        ran = await stage.run(capture=True, credential=KEY)
        data, text = ran.failure.data, ran.failure.message
        assert (data["reason"], data["httpStatus"]) == ("malformedResponse", status), body
        assert kind in text
        assert (str(status) in text, KEY in text) == (True, False)
        assert len(stage.requests) == sent + 1
        assert not await stage.held(data["runId"])
    assert KEY.encode() not in stage.daemon.received


@EACH_WAY
async def test_the_retry_budget_is_what_the_server_sees(stages: Stages, way: Way) -> None:
    """T-19: refused, failing, silent before and inside the answer: three requests each."""
    stage = await stages(way)
    begun = (*way.says("hi")[:1], asyncio.Event())
    started = [(*way.says("hi")[:2], asyncio.Event())] if way.streamed else []
    for script in (
        refusal(429, SLOW_DOWN),
        refusal(500, SLOW_DOWN),
        (asyncio.Event(),),
        begun,
        *started,
    ):
        waits = any(isinstance(step, asyncio.Event) for step in script)
        stage.configure(timeouts={"read": 0.05 if waits else 60})
        sent = len(stage.requests)
        stage.play(script, script, script)
        ran = await stage.run()
        await stage.provider.arrived(sent + 3)
        assert len(stage.requests) == sent + 3
        assert (ran.failure.data["attempts"], ran.finished["attempts"]) == (3, 3)
        assert ran.finished["transientRetries"] == 2
        assert ran.kinds.count("attemptFinished") == 3


@EACH_WAY
async def test_each_repair_has_a_retry_budget_of_its_own(stages: Stages, way: Way) -> None:
    """T-19: counted per answer that is asked for, and summed up in the run."""
    stage = await stages(way)
    down = refusal(500, SLOW_DOWN)
    stage.play(down, down, "no", down, down, '{"a":1}')
    ran = await stage.run(output={"format": "json", "repairs": 1})
    assert [ran.result[n] for n in ("attempts", "transientRetries", "repairs")] == [6, 4, 1]
    assert len(stage.requests) == 6
