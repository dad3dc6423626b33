"""What the values of an answer mean, and where in a provider's message they are looked for.

Siblings tried beside each case: formats in a prompt's schema and in a variable's (S-14); digits in
schemas, cache metadata, variables, `extra` and usage (S-16); thinking blocks (S-18); content that
is an object, a number or no list of blocks, parts whose text is no text (S-21).
"""

import json
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.support.provider import Script, answered, completion, delta, events, message
from tests.support.stage import (
    ANTHROPIC,
    ANTHROPIC_STREAMED,
    GOOD,
    OPENAI,
    OPENAI_STREAMED,
    SCHEMA,
    VALUE,
    WAYS,
    Stages,
    Way,
    contract,
    sse,
    text_delta,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any

EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=str)

FORMATS = {
    "date-time": ("tomorrow-ish", "2024-02-29T12:00:00Z"),
    "date": ("2023-02-29", "2024-02-29"),
    "time": ("25:00:00Z", "23:59:59Z"),
    "email": ("me", "me@example.org"),
    "uri": ("not a uri", "https://example.org/"),
    "uuid": ("1", "123e4567-e89b-12d3-a456-426614174000"),
    "ipv4": ("256.1.1.1", "127.0.0.1"),
    "hostname": ("-a-", "example.org"),
    "regex": ("(", "a+"),
}


async def test_a_format_is_asserted_and_an_unknown_one_says_nothing(stages: Stages) -> None:
    """S-14: the same in a request, in a prompt and for a declared variable."""
    stage = await stages(OPENAI)
    for name, (bad, good) in FORMATS.items():
        schema = {"type": "object", "properties": {"at": {"type": "string", "format": name}}}
        declared = {"text": {"type": "string", "format": name}}
        stage.workspace.prompt(
            "typed", "{{ text }}", profile="p", variables=declared,
            output={"format": "schema", "schema": schema},
        )  # fmt: skip
        for prompt, given in (("ask", {"output": contract(schema)}), ("typed", {})):
            stage.play(json.dumps({"at": bad}), json.dumps({"at": good}))
            first = await stage.run(good, promptId=prompt, **given)
            assert (first.status, [one for one, _ in first.violations]) == ("invalid", ["format"])
            assert (await stage.run(good, promptId=prompt, **given)).status == "valid"
        assert (await stage.run(bad, promptId="typed")).failure.kind == "templateFailed"
    stage.play('{"at":"whatever"}')
    unknown = {"type": "object", "properties": {"at": {"format": "of-my-own"}}}
    assert (await stage.run(output=contract(unknown))).status == "valid"


UNUSABLE: list[Json] = [
    {"format": "schema"},
    {"format": "schema", "schema": None},
    {"format": "json", "schema": {}},
    {"format": "text", "schema": {}},
    {"format": "schema", "schema": {"type": "nonsense"}},
    {"format": "schema", "schema": {"$ref": "http://example.org/s.json"}},
    {"format": "schema", "schema": {"$ref": "#/$defs/none"}},
    {"format": "schema", "schema": {"pattern": "("}},
    {"format": "schema", "schema": {"$schema": "http://json-schema.org/draft-07/schema#"}},
]


@pytest.mark.parametrize("output", UNUSABLE, ids=json.dumps)
async def test_a_contract_that_checks_nothing_is_no_contract(stages: Stages, output: Json) -> None:
    """S-14: what cannot be asserted as it is written is refused before anything is sent."""
    stage = await stages()
    assert (await stage.run(output=output)).failure.kind == "contractInvalid"
    written = {name: value for name, value in output.items() if value is not None}
    stage.workspace.prompt("own", "{{ text }}", profile="p", output=written)
    assert (await stage.run(promptId="own")).failure.kind == "promptInvalid"
    assert stage.requests == []


@EACH_WAY
async def test_integers_come_out_digit_for_digit(stages: Stages, daemon: Daemon, way: Way) -> None:
    """S-16: in frames and in history, on the way in too, in schemas and in what passes through."""
    stage = await stages(way)
    for digits in ("9224851642388483", "12345678901234567890", "1" * 60):
        content = f'{{"name":"a","n":{digits}}}'
        stage.play(content)
        start = len(daemon.received)
        big = {**SCHEMA, "properties": {"name": {}, "n": {"const": int(digits)}}}
        ran = await stage.run(
            promptId="ask", variables={"text": int(digits)}, output=contract(big), capture=True,
            parameters={"temperature": 0.1, "topP": 0.3, "extra": {"k": int(digits)}},
            messages=[{"role": "user", "content": "x", "cache": {"id": int(digits)}}],
        )  # fmt: skip
        assert ran.status == "valid"
        frames = bytes(daemon.received[start:])
        assert f'"structured":{content}'.encode() in frames
        details = await stage.details(ran.result["runId"])
        assert (details["content"], details["messages"][0]["content"]) == (content, digits)
        assert details["messages"][1]["cache"] == {"id": int(digits)}
        body = stage.requests[-1].body
        for sent in (b'"temperature":0.1', b'"top_p":0.3', f'"k":{digits}'.encode()):
            assert sent in body
        stage.play(f'{{"name":"a","n":{int(digits) + 1}}}')
        assert (await stage.run(output=contract(big))).status == "invalid"


async def test_a_variable_and_a_count_keep_their_digits(stages: Stages) -> None:
    """S-16."""
    stage = await stages(OPENAI)
    number, count = 12345678901234567890, 2**53 - 1  # a count ends where every reader keeps it
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": count}
    stage.provider.play(completion("hi", usage=usage))
    ran = await stage.run(None, variables={"text": number})
    assert stage.sent() == [("user", str(number))]
    assert ran.result["usage"]["totalTokens"] == {"value": count, "complete": True}


DRAFT = '<think>{"draft":0}</think>\n' + GOOD


@EACH_WAY
async def test_thinking_in_front_of_the_answer_is_not_the_answer(stages: Stages, way: Way) -> None:
    """S-18: what stands inside the text is not taken off, so it is invalid and repaired."""
    stage = await stages(way)
    stage.play(DRAFT, GOOD)
    ran = await stage.run(output=contract(repairs=1))
    assert (ran.status, ran.structured, ran.result["repairs"]) == ("valid", VALUE, 1)
    stage.play(DRAFT)
    ran = await stage.run(output=contract())
    assert (ran.status, ran.result["content"]) == ("invalid", DRAFT)
    assert "structured" not in ran.result


THINKING = {"type": "thinking", "thinking": '{"draft":0}', "signature": "s"}
THOUGHT: list[tuple[Way, Any]] = [
    (OPENAI, completion("", reasoning_content=GOOD)),
    (OPENAI, completion(None, reasoning=GOOD)),
    (OPENAI_STREAMED, events(delta("", reasoning_content=GOOD), delta(finish="stop"))),
    (ANTHROPIC, message({"type": "thinking", "thinking": GOOD})),
    (
        ANTHROPIC_STREAMED,
        sse(
            {"type": "message_start", "message": {"usage": {}}},
            {"type": "content_block_start", "index": 0, "content_block": THINKING},
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "thinking_delta", "thinking": GOOD},
            },
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            {"type": "message_stop"},
        ),
    ),
]


@pytest.mark.parametrize(("way", "script"), THOUGHT)
async def test_reasoning_beside_an_empty_answer_is_not_the_answer(
    stages: Stages, way: Way, script: Any
) -> None:
    """S-18."""
    stage = await stages(way)
    stage.play(script, script)
    ran = await stage.run(output=contract())
    assert (ran.status, ran.result["content"]) == ("invalid", "")
    ran = await stage.run()
    assert (ran.status, ran.result["content"], ran.text) == ("notRequired", "", "")


PARTS: list[Json] = [
    {"type": "thinking", "thinking": [], "text": "no"},
    {"type": "text", "text": "hi"},
    {"type": "zzz", "text": "no"},
    {"type": "text", "text": None},
]


@pytest.mark.parametrize(
    ("way", "script"),
    [
        (OPENAI, completion(PARTS)),
        (OPENAI_STREAMED, events(delta(content=PARTS, text=None), delta(finish="stop"))),
        (ANTHROPIC, message(*PARTS)),
        (
            ANTHROPIC_STREAMED,
            sse(
                *({"type": "content_block_start", "index": 0, "content_block": p} for p in PARTS),
                {"type": "content_block_delta", "delta": {"type": "zzz_delta", "text": "no"}},
                {"type": "zzz", "text": "no"},
                {"type": "message_stop"},
            ),
        ),
    ],
)
async def test_content_in_parts_is_the_text_of_its_text_parts(
    stages: Stages, way: Way, script: Any
) -> None:
    """S-21."""
    stage = await stages(way)
    stage.play(script)
    ran = await stage.run()
    assert ran.result["content"] == "hi"
    assert ran.text == ("hi" if way.streamed else "")


@pytest.mark.parametrize("content", [{"text": "hi"}, 5, True])
async def test_content_of_no_known_shape_is_a_clear_error(stages: Stages, content: Json) -> None:
    """S-21: of both kinds, streamed too; never the words of some object."""
    for way, script in (
        (OPENAI, completion(content)),
        (OPENAI_STREAMED, events(delta(content=content), delta(finish="stop"))),
        (ANTHROPIC, answered({"type": "message", "content": content})),
    ):
        await _malformed(stages, way, script)


@pytest.mark.parametrize(
    "part",
    [{"type": "text", "text": {"value": "hi"}}, {"type": "text", "text": 5},
     {"text": "hi"}, ["hi"], 5],
    ids=json.dumps,
)  # fmt: skip
async def test_a_part_whose_text_cannot_be_found_is_a_clear_error(
    stages: Stages, part: Json
) -> None:
    """S-21: no answer without it, whatever stands beside it; of both kinds, streamed too."""
    parts = [{"type": "text", "text": "well"}, part]
    for way, script in (
        (OPENAI, completion(parts)),
        (OPENAI_STREAMED, events(delta(content=parts), delta(finish="stop"))),
        (ANTHROPIC, answered({"type": "message", "content": parts})),
    ):
        await _malformed(stages, way, script)


@pytest.mark.parametrize("text", [{"value": "hi"}, 5, ["hi"]], ids=json.dumps)
async def test_a_streamed_block_whose_text_is_none_is_a_clear_error(
    stages: Stages, text: Json
) -> None:
    """S-21: at its start or in what is added to it; thinking may look as it likes."""
    for block in ("text", "thinking"):
        for event in (
            {"type": "content_block_start", "content_block": {"type": block, "text": text}},
            {"type": "content_block_delta", "delta": {"type": f"{block}_delta", "text": text}},
        ):
            script = sse(text_delta("hi"), event, {"type": "message_stop"})
            if block == "text":
                await _malformed(stages, ANTHROPIC_STREAMED, script)
            else:
                stage = await stages(ANTHROPIC_STREAMED)
                stage.play(script)
                assert (await stage.run()).result["content"] == "hi"


async def _malformed(stages: Stages, way: Way, script: Script) -> None:
    stage = await stages(way)
    stage.play(script)
    failed = (await stage.run(capture=True)).failure
    assert (failed.kind, failed.data["reason"]) == ("generationFailed", "malformedResponse")
    assert len(stage.requests) == 1
    assert not await stage.held(failed.data["runId"])
