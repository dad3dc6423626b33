"""What a script of replies may say."""

import pytest

from promptkit_rpc.definitions.settings import Fault, Match, Reply
from promptkit_rpc.definitions.template import render
from promptkit_rpc.errors import TemplateFailed
from promptkit_rpc.generation import FinishReason
from promptkit_rpc.jsontext import Json
from promptkit_rpc.usage import TokenCounts
from tests.support.definitions import good_settings, settings_of

FULL = """\
backends:
  b:
    kind: scripted
    replies:
      - match: {promptId: research/investigate, contains: "why", regex: "^a+$"}
        content: "Because of {{ lastUser }}"
        usage: {inputTokens: 12, outputTokens: 0}
        finishReason: length
        refusal: ""
        delay: 0.2
        times: 1
      - json: {name: a, n: 12345678901234567890}
      - json:
      - fault: {status: 429, retryAfter: 0.1, body: {error: {message: slow down}}}
        times: 2
      - fault: {kind: connectionReset}
      - chunks: ["first ", "second"]
      - content: ""
"""


def replies_of(text: str) -> tuple[Reply, ...]:
    return good_settings(text).backends[0].replies or ()


def test_every_kind_of_reply_is_read() -> None:
    first, json, null, refused, broken, chunks, empty = replies_of(FULL)
    assert first.match == Match(prompt_id="research/investigate", contains="why", regex="^a+$")
    assert first.content is not None
    assert first.content.source == "Because of {{ lastUser }}"
    assert first.usage == TokenCounts(input_tokens=12, output_tokens=0)
    assert (first.finish_reason, first.delay, first.times) == (FinishReason.LENGTH, 0.2, 1)
    assert first.refusal == ""
    assert json.json == Json.of({"name": "a", "n": 12345678901234567890})
    assert null.json == Json(b"null")
    assert refused.fault == Fault(
        status=429, retry_after=0.1, body=Json.of({"error": {"message": "slow down"}})
    )
    assert broken.fault == Fault(kind="connectionReset")
    assert chunks.chunks == ("first ", "second")
    assert (chunks.usage, chunks.times, chunks.delay) == (None, None, 0.0)
    assert empty.content is not None
    assert empty.content.source == ""


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("text", "a reply must be a mapping, not text"),
        ("{}", "a reply has one of content, json, chunks, fault"),
        (
            "{content: a, json: 1}",
            "a reply has one of content, json, chunks, fault, not content and json",
        ),
        ("{content: }", "'content' is missing in backends.b.replies.0"),
        ("{content: 5}", "'content' must be text; put it in quotes; this is a number"),
        (
            "{content: '{% if %}'}",
            "template of 'content': Expected an expression, got 'end of statement block'",
        ),
        ("{chunks: [1]}", "'chunks' must be text; put it in quotes; this is a number"),
        ("{fault: {}}", "a fault has either `status` or `kind`"),
        ("{fault: {status: 429, kind: timeout}}", "a fault has either `status` or `kind`"),
        ("{fault: {status: 42}}", "'status' must be 200 or more"),
        (
            "{fault: {kind: timeot}}",
            (
                "'kind' must be one of connectionReset, timeout, malformed, "
                "brokenBody; did you mean 'timeout'?"
            ),
        ),
        (
            "{content: a, match: {regex: '('}}",
            "this is no regular expression: missing ), unterminated subpattern at position 0",
        ),
        ("{content: a, match: {regx: a}}", "'regx' is not a key here; did you mean 'regex'?"),
        ("{content: a, usage: {inputTokens: -1}}", "'inputTokens' must be 0 or more"),
        (
            "{content: a, usage: {inputTokens: true}}",
            "'inputTokens' must be an integer; this is true or false",
        ),
        (
            "{content: a, finishReason: end}",
            "'finishReason' must be one of stop, length, contentFilter, refusal, other",
        ),
        ("{content: a, delay: -1}", "'delay' must be 0 or more"),
        ("{content: a, times: -1}", "'times' must be 0 or more"),
        ("{content: a, retry: 1}", "'retry' is not a key here"),
    ],
)
def test_what_a_reply_may_not_say(written: str, problem: str) -> None:
    """SEC-4."""
    settings, problems = settings_of(f"backends: {{b: {{kind: scripted, replies: [{written}]}}}}")
    assert settings is not None
    assert settings.backends == ()
    assert [one.split(": ", 1)[1] for one in problems] == [problem]


@pytest.mark.parametrize("source", ["{{ ''.__class__ }}", "{{ 'a' * 10**9 }}", "{{ nope }}"])
async def test_replies_are_templates_in_the_sandbox(source: str) -> None:
    """P-01, P-03."""
    (reply,) = replies_of(
        f'backends: {{b: {{kind: scripted, replies: [{{content: "{source}"}}]}}}}'
    )
    assert reply.content is not None
    with pytest.raises(TemplateFailed, match=r"promptkit\.yaml:1:\d+: "):
        await render(reply.content, {"messages": []})
