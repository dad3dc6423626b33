"""Answers that are almost JSON, or no answer at all, through the running daemon.

Siblings tried beside each case: fences with longer marks, other marks, words before and after, in a
repair and when continued (S-01); a byte-order mark, NaN and repeated keys (S-03); depth in a
schema, an appended message's cache, a provider's envelope and its error (S-07); a cut-off answer
that is whole JSON, and none of a text contract (S-09); filtered answers, blank ones, a refusal
inside a list of parts (S-11).
"""

import json
from typing import Any

import pytest

from promptkit_rpc.jsontext import MAX_NESTING
from promptkit_rpc.output.repair import MAX_CUT_OFF
from tests.support.daemon import Daemon
from tests.support.provider import answered, completion, delta, events, message, refusal
from tests.support.stage import (
    ANTHROPIC,
    ANTHROPIC_STREAMED,
    GOOD,
    OPENAI,
    OPENAI_STREAMED,
    PLAIN,
    VALUE,
    WAYS,
    Stages,
    Way,
    anthropic_stream,
    contract,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any

EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=str)


FENCED = [
    "```json\n" + GOOD,
    "```JSON\r\n" + GOOD + "\r\n```\r\n",
    "```\n" + GOOD + "\n```",
    "\n````json5\n" + GOOD + "\n`````\n\n",
]
"""Unclosed, closed, bare, and longer at its end than at its beginning."""
NOT_FENCED = [
    "~~~json\n" + GOOD + "\n~~~",
    "Here it is:\n```json\n" + GOOD + "\n```",
    "```json\n" + GOOD + "\n```\nI hope it helps.",
    "```json " + GOOD + " ```",
    "```json answer\n" + GOOD + "\n```",
    "````json\n" + GOOD + "\n```",
]


@EACH_WAY
async def test_a_fence_around_the_whole_answer_is_taken_off_for_its_check(
    stages: Stages, way: Way
) -> None:
    """S-01: the rule is the same every time, and what the model sent stays byte for byte."""
    stage = await stages(way)
    for content in FENCED:
        stage.play(content)
        ran = await stage.run(output=contract(), capture=True)
        assert (ran.status, ran.structured) == ("valid", VALUE)
        run_id = ran.result["runId"]
        assert ran.result["content"] == content
        assert (await stage.details(run_id))["content"] == content
        assert ran.text == (content if way.streamed else "")
        stage.play("next")
        await stage.run("more", continueFrom=run_id)
        assert stage.sent()[-2:] == [("assistant", content), ("user", "more")]


@EACH_WAY
async def test_any_other_fence_is_no_json_and_can_be_repaired(stages: Stages, way: Way) -> None:
    """S-01: a fence within other words, of other marks or on one line is part of the answer."""
    stage = await stages(way)
    for content in NOT_FENCED:
        stage.play(content, FENCED[0])
        ran = await stage.run(output=contract(repairs=1))
        assert (ran.status, ran.structured, ran.result["repairs"]) == ("valid", VALUE, 1)


BROKEN = {
    GOOD + "\n\nNote: I dropped the rest.": "line 3, column 1",
    GOOD + "}": "line 1, column 19",
    GOOD + GOOD: "line 1, column 19",
    GOOD + "\n" + GOOD: "line 2, column 1",
    "\ufeff" + GOOD: "line 1, column 1",
    '{"name":"a","n":NaN}': "line 1, column 17",
    '{"name":"a","n":1,"n":2}': "/n",
    "": "line 1, column 1",
}


@EACH_WAY
async def test_what_is_not_one_json_value_is_invalid_with_its_place(
    stages: Stages, way: Way
) -> None:
    """S-03: never an internal error, never the first value alone; repaired as far as may be."""
    stage = await stages(way)
    for content, place in BROKEN.items():
        before = len(stage.requests)
        stage.play(content, content)
        ran = await stage.run(output=contract(repairs=1), capture=True)
        assert (ran.status, ran.result["content"]) == ("invalid", content)
        (violation,) = ran.result["validation"]["violations"]
        assert violation["keyword"] == "json"
        assert place in violation["message"] + violation["path"], (content, violation)
        assert len(stage.requests) - before == 2
        assert ran.finished["validation"] == "invalid"
        details = await stage.details(ran.result["runId"])
        assert [m["content"] for m in details["messages"]] == ["go", content]


@pytest.mark.parametrize("way", PLAIN, ids=str)
async def test_however_deep_an_answer_is_it_gets_a_verdict(stages: Stages, way: Way) -> None:
    """S-07: what is within the limit is kept to the last bracket, the rest is invalid."""
    stage = await stages(way)
    for depth in (MAX_NESTING, 500, 2000, 20000, 200000):
        content = "[" * depth + "]" * depth
        stage.play(content)
        ran = await stage.run(output=contract({}), capture=True)
        assert ran.result["content"] == content
        within = depth <= MAX_NESTING
        assert ran.status == ("valid" if within else "invalid")
        if within:
            assert json.dumps(ran.structured) == content
        assert (await stage.details(ran.result["runId"]))["content"] == content


async def test_depth_breaks_nothing_wherever_it_comes_from(stages: Stages, daemon: Daemon) -> None:
    """S-07: params, schemas, cache metadata; what a provider wraps its answer or its error in."""
    stage = await stages(OPENAI)
    for depth in (500, 2000, 20000):
        text = '{"a":' * depth + "1" + "}" * depth
        for place in (
            '"variables":{"text":%s}',
            '"output":{"format":"schema","schema":%s}',
            '"messages":[{"role":"user","content":"x","cache":%s}]',
        ):
            body = (
                f'{{"jsonrpc":"2.0","id":"deep","method":"promptkit/run","params":'
                f'{{"engineId":"{stage.engine}","promptId":"ask",{place % text}}}}}'
            )
            strays = len(daemon.strays)
            await daemon.send(body.encode())
            await daemon.request("promptkit/session/status")
            (refused,) = daemon.strays[strays:]
            assert (refused["id"], refused["error"]["code"]) == ("deep", -32600)
        shell = b'{"choices":' + b"[" * depth + b"]" * depth + b"}"
        for status in (200, 400):
            stage.play(raw(shell, status))
            failed = (await stage.run()).failure
            assert failed.kind == "generationFailed"
            assert failed.data["httpStatus"] == status
    assert len(stage.requests) == 6


def raw(body: bytes, status: int = 200) -> Any:
    head, _ = answered(None, status)
    assert isinstance(head, bytes)
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    return (b"\r\n".join([lines[0], b"Content-Length: %d" % len(body), *lines[1:]]), body)


@EACH_WAY
async def test_a_truncated_answer_is_told_and_its_repairs_do_not_grow(
    stages: Stages, way: Way
) -> None:
    """S-09: seen as cut off; each repair shows one candidate, shortened; no trace in history."""
    stage = await stages(way)
    cut = '{"name":"' + "a" * 50_000
    stage.play(*[way.says(cut, stop="length")] * 4)
    ran = await stage.run(output=contract(repairs=3), capture=True)
    assert (ran.status, ran.result["finishReason"]) == ("invalid", "length")
    assert ran.violations[0][0] == "length"
    counts = [ran.result[name] for name in ("attempts", "repairs", "transientRetries")]
    assert counts == [4, 3, 0]
    assert len(stage.requests) == 4
    assert [event["finishReason"] for event in ran.all("attemptFinished")] == ["length"] * 4
    first, *sizes = [len(request.body) for request in stage.requests]
    assert len(set(sizes)) == 1
    assert sizes[0] - first < MAX_CUT_OFF + 2_000
    assert await stage.messages(ran.result["runId"]) == [("user", "go"), ("assistant", cut)]


@EACH_WAY
async def test_what_was_cut_off_is_never_valid_and_never_an_error(stages: Stages, way: Way) -> None:
    """S-09: not even where it happens to be whole JSON; a text contract asks for no verdict."""
    stage = await stages(way)
    stage.play(way.says(GOOD, stop="length"), way.says("half a", stop="length"))
    ran = await stage.run(output=contract())
    assert (ran.status, [keyword for keyword, _ in ran.violations]) == ("invalid", ["length"])
    ran = await stage.run()
    assert (ran.status, ran.result["content"]) == ("notRequired", "half a")
    assert ran.result["finishReason"] == "length"


NO = "I will not do that."
REFUSALS: list[tuple[Way, Any, str | None]] = [
    (OPENAI, completion(None, refusal=NO), NO),
    (OPENAI, completion([{"type": "refusal", "refusal": NO}]), NO),
    (
        OPENAI_STREAMED,
        events(delta(refusal=NO[:5], content=None), delta(refusal=NO[5:]), delta(finish="stop")),
        NO,
    ),
    (ANTHROPIC, message({"type": "text", "text": ""}, stop="refusal"), None),
    (ANTHROPIC, answered({"type": "message", "content": [], "stop_reason": "refusal"}), None),
    (ANTHROPIC_STREAMED, anthropic_stream(stop="refusal"), None),
]


@pytest.mark.parametrize(("way", "script", "words"), REFUSALS)
async def test_a_refusal_is_told_and_neither_repaired_nor_sent_back_empty(
    stages: Stages, way: Way, script: Any, words: str | None
) -> None:
    """S-11: a result that is not valid; what continues it holds no empty block."""
    stage = await stages(way)
    stage.play(script, "well then")
    ran = await stage.run(output=contract(repairs=2), capture=True)
    assert (ran.status, ran.violations[0][0]) == ("invalid", "refusal")
    assert (ran.result["finishReason"], ran.result.get("refusal")) == ("refusal", words)
    assert (ran.result["content"], "structured" in ran.result) == ("", False)
    assert len(stage.requests) == 1
    assert (await stage.run("please", continueFrom=ran.result["runId"])).result["content"]
    assert stage.sent() == [("user", "go"), ("user", "please")]


@pytest.mark.parametrize("said", [None, "stop", "length", "contentFilter"])
async def test_a_refusal_in_words_is_one_whatever_else_is_said(
    stages: Stages, said: str | None
) -> None:
    """S-11: from a script and from the client too, under a contract and without one."""
    stage = await stages()
    answer = {"content": "", "refusal": NO} | ({} if said is None else {"finishReason": said})
    stage.workspace.settings(
        backends={"s": {"kind": "scripted", "replies": [answer]}, "c": {"kind": "client"}},
        profiles={name: {"backend": name, "model": "m"} for name in "sc"},
    )
    stage.daemon.on("promptkit/backend/generate", lambda _: answer)
    reason = "contentFilter" if said == "contentFilter" else "refusal"
    for profile in "sc":
        for output in ({"format": "text"}, contract(repairs=2)):
            ran = await stage.run(profile=profile, output=output)
            assert (ran.result["finishReason"], ran.result["refusal"]) == (reason, NO)
            assert ran.result["attempts"] == 1
            assert ran.all("attemptFinished")[0]["finishReason"] == reason
    stage.daemon.off("promptkit/backend/generate")


async def test_a_filtered_answer_is_told_whether_it_comes_as_a_result_or_as_an_error(
    stages: Stages,
) -> None:
    """S-11: neither is repaired or tried again."""
    stage = await stages(OPENAI)
    stage.play(completion(GOOD, finish="content_filter"))
    ran = await stage.run(output=contract(repairs=2))
    assert (ran.status, ran.violations[0][0]) == ("invalid", "contentFilter")
    assert ran.result["finishReason"] == "contentFilter"
    stage.play(refusal(400, {"error": {"code": "content_filter", "message": "filtered"}}))
    failed = (await stage.run(output=contract(repairs=2))).failure
    assert (failed.data["reason"], failed.data["retryable"]) == ("contentFilter", False)
    assert len(stage.requests) == 2


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("blank", ["", " \n"])
async def test_a_blank_answer_is_a_result_and_sends_no_empty_message(
    stages: Stages, way: Way, blank: str
) -> None:
    """S-11: history keeps it; no wire gets a message of no text at all."""
    stage = await stages(way)
    stage.play(blank, "next")
    ran = await stage.run(capture=True)
    assert (ran.status, ran.result["content"]) == ("notRequired", blank)
    await stage.run("more", continueFrom=ran.result["runId"])
    kept = [("assistant", blank)] if blank and way.kind == "openai" else []
    assert stage.sent() == [("user", "go"), *kept, ("user", "more")]


ONE_OF: Json = {
    "type": "object",
    "oneOf": [
        {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"properties": {"b": {"type": "string", "minLength": 1}}, "required": ["b"]},
    ],
}
CLOSED: Json = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}


@pytest.mark.parametrize("schema", [ONE_OF, CLOSED])
async def test_asking_a_provider_for_a_schema_changes_nothing_in_it(
    stages: Stages, schema: Json
) -> None:
    """S-12: in a prompt, in its file and in a request; answers are held against it as authored."""
    stage = await stages(OPENAI)
    stage.workspace.settings(
        backends={"b": stage.backend(), "c": stage.backend(kind="anthropic")},
        profiles={name: {"backend": name, "model": "m"} for name in "bc"},
    )
    file = stage.workspace.write("prompts/s.json", json.dumps(schema))
    file.prompt("inside", "go", profile="b", output={"format": "schema", "schema": schema})
    file.prompt("beside", "go", profile="b", output={"format": "schema", "schemaFile": "s.json"})
    shown = {"format": "schema", "schema": schema, "repairs": 0}
    for prompt, given in (("inside", None), ("beside", None), ("ask", contract(schema))):
        params = {} if given is None else {"output": given}
        for profile in "bbc":
            for answer in ('{"a":1}', '{"b":"x"}'):
                stage.play((OPENAI if profile == "b" else ANTHROPIC).says(answer))
                ran = await stage.run(promptId=prompt, profile=profile, **params)
                assert ran.status == "valid", ran.violations
        if given is None:
            inspected = await stage.ask("promptkit/prompt/inspect", promptId=prompt)
            assert inspected["output"] == shown
        stage.play('{"a":0,"b":""}')
        checked = (await stage.run(promptId=prompt, profile="b", **params)).status
        assert checked == ("valid" if schema is ONE_OF else "invalid")
    prepared = await stage.ask("promptkit/prepare", promptId="ask", profile="c",
                               variables={"text": "x"}, output=contract(schema))  # fmt: skip
    assert prepared["details"]["output"] == shown
