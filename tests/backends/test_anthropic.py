"""What is sent to servers that speak Messages, and what is understood of their answers."""

from typing import Any

import pytest

from promptkit_rpc.backends.anthropic import DEFAULT_MAX_TOKENS
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.errors import Reason
from promptkit_rpc.generation import Answer, FinishReason, Parameters
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract, Format
from promptkit_rpc.usage import UNKNOWN, TokenCounts
from tests.support.calls import (
    NAME_AND_NUMBER,
    Sink,
    anthropic,
    call,
    failure,
    openai,
    said,
    schema,
)
from tests.support.provider import Provider, Step, completion, message

SHORT = {"type": "ephemeral"}
LONG = {"type": "ephemeral", "ttl": "1h"}


def marked(role: Role, text: str, cache: Any = SHORT) -> Message:
    return Message(role, text, Json.of(cache))


def block(text: str, cache: Any = None) -> dict[str, Any]:
    plain: dict[str, Any] = {"type": "text", "text": text}
    return plain if cache is None else {**plain, "cache_control": cache}


async def sent(history: History | str = "why?", **fields: Any) -> Any:
    settings = fields.pop("backend", {})
    async with Provider() as provider:
        provider.always(message())
        backend = anthropic(provider.url, **settings)
        await backend.generate(call(history, **fields))
        await backend.close()
        return provider.requests[0].json()


async def understood(*script: Step) -> Answer:
    async with Provider() as provider:
        provider.always(script)
        backend = anthropic(provider.url)
        answer = await backend.generate(call())
        await backend.close()
        return answer


@pytest.mark.parametrize(
    ("tail", "target"),
    [("", "/v1/messages"), ("/v1", "/v1/messages"), ("/v1/", "/v1/messages"), ("/proxy?a=b", "")],
)
async def test_a_call_is_one_plain_request(tail: str, target: str) -> None:
    async with Provider() as provider:
        provider.always(message("because"))
        backend = anthropic(provider.url + tail)
        answer = await backend.generate(call("why?", key="sk-canary-DDDD"))
        await backend.close()
        request = provider.requests[0]
    assert request.target == (target or "/proxy/v1/messages?a=b")
    assert request.headers["x-api-key"] == "sk-canary-DDDD"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.json() == {
        "model": "m",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [block("why?")]}],
    }
    assert answer.content == "because"
    assert answer.usage == TokenCounts(input_tokens=10, output_tokens=5, total_tokens=15)


async def test_leading_system_and_developer_messages_are_the_system_prompt() -> None:
    """CFG-7: block by block, nothing glued together."""
    history = said((Role.SYSTEM, "s1"), (Role.DEVELOPER, "d"), marked(Role.SYSTEM, "s2"), "u")
    body = await sent(history)
    assert body["system"] == [block("s1"), block("d"), block("s2", SHORT)]
    assert body["messages"] == [{"role": "user", "content": [block("u")]}]


async def test_a_later_system_message_keeps_its_place_as_the_users() -> None:
    """CFG-7: place and bytes of what precedes stay."""
    start = said((Role.SYSTEM, "s"), "u1")
    body = await sent(
        start.extended(Message(Role.ASSISTANT, "a1")).extended(
            marked(Role.SYSTEM, "later"), Message(Role.USER, "u2"), Message(Role.DEVELOPER, "d")
        )
    )
    assert body["system"] == [block("s")]
    assert body["messages"] == [
        {"role": "user", "content": [block("u1")]},
        {"role": "assistant", "content": [block("a1")]},
        {"role": "user", "content": [block("later", SHORT), block("u2"), block("d")]},
    ]


async def test_leading_may_go_on_over_segments() -> None:
    history = said((Role.SYSTEM, "s1")).extended(Message(Role.SYSTEM, "s2"))
    body = await sent(history.extended(Message(Role.USER, "u")))
    assert body["system"] == [block("s1"), block("s2")]


async def test_neighbours_of_one_role_share_a_message_as_separate_blocks() -> None:
    """H-11: marks stay with their block."""
    history = said(
        "one",
        marked(Role.USER, "two"),
        (Role.ASSISTANT, "a"),
        (Role.ASSISTANT, "b"),
        "three",
    ).extended(Message(Role.USER, "appended"))
    body = await sent(history)
    assert body["messages"] == [
        {"role": "user", "content": [block("one"), block("two", SHORT)]},
        {"role": "assistant", "content": [block("a"), block("b")]},
        {"role": "user", "content": [block("three"), block("appended")]},
    ]


async def test_cache_marks_keep_number_and_place() -> None:
    """H-07."""
    history = said(
        marked(Role.SYSTEM, "s", LONG), "u1", (Role.ASSISTANT, "a"), marked(Role.USER, "u2")
    )
    for times in range(2):
        body = await sent(history)
        assert body["system"] == [block("s", LONG)]
        assert body["messages"][2]["content"] == [block("u2", SHORT)], times
    history = history.extended(Message(Role.ASSISTANT, "b")).extended(marked(Role.USER, "u3"))
    body = await sent(history)
    assert body["messages"][2]["content"] == [block("u2", SHORT)]
    assert body["messages"][4]["content"] == [block("u3", SHORT)]


async def test_only_the_newest_four_marks_are_sent_and_the_history_keeps_all() -> None:
    """H-07."""
    history = said(marked(Role.SYSTEM, "0", LONG))
    for number in range(1, 7):
        history = history.extended(marked(Role.USER, str(number)))
    body = await sent(history)
    assert body["system"] == [block("0")]
    assert body["messages"][0]["content"] == [
        block("1"),
        block("2"),
        block("3", SHORT),
        block("4", SHORT),
        block("5", SHORT),
        block("6", SHORT),
    ]
    assert [m.cache is not None for m in history] == [True] * 7


@pytest.mark.parametrize(
    ("cache", "control"),
    [
        ({"type": "ephemeral", "ttl": "5m"}, {"type": "ephemeral", "ttl": "5m"}),
        ({"type": "ephemeral", "ttl": "9d", "x": 1}, SHORT),
        ({"type": "ephemeral", "ttl": 300}, SHORT),
        ({"type": "persistent"}, None),
        ({"vendor": True}, None),
        ({}, None),
    ],
)
async def test_of_cache_metadata_only_what_the_provider_knows_is_sent(
    cache: Any, control: Any
) -> None:
    """H-07."""
    body = await sent(said(marked(Role.USER, "u", cache)))
    assert body["messages"][0]["content"] == [block("u", control)]


async def test_blank_text_is_left_out() -> None:
    """S-11: the provider refuses empty blocks."""
    history = said((Role.SYSTEM, " "), "one", marked(Role.ASSISTANT, ""), "two", "\n\t")
    body = await sent(history)
    assert "system" not in body
    assert body["messages"] == [{"role": "user", "content": [block("one"), block("two")]}]


async def test_white_space_ends_no_last_assistant_message_on_the_wire_only() -> None:
    """H-03, H-05: the provider refuses it; an earlier one keeps every byte."""
    start = said("q").extended(Message(Role.ASSISTANT, "OK \n"))
    history = start.extended(Message(Role.USER, "and?"), marked(Role.ASSISTANT, "Answer: "))
    body = await sent(history)
    assert body["messages"][1]["content"] == [block("OK \n")]
    assert body["messages"][3] == {"role": "assistant", "content": [block("Answer:", SHORT)]}
    assert [m.content for m in history] == ["q", "OK \n", "and?", "Answer: "]
    alone = await sent(start)
    assert alone["messages"][1]["content"] == [block("OK")]
    again = await sent(start.extended(Message(Role.USER, " ")))
    assert again["messages"][1]["content"] == [block("OK")]


async def test_a_history_goes_from_one_kind_to_the_other_and_back() -> None:
    """CFG-6, H-10: each kind has its own form of the same messages."""
    history = said((Role.SYSTEM, "s"), "u").extended(Message(Role.ASSISTANT, "a"))
    async with Provider() as provider:
        provider.play(completion(), message(), completion())
        first, second = openai(provider.url), anthropic(provider.url)
        for backend in (first, second, first):
            await backend.generate(call(history.extended(Message(Role.USER, "next"))))
        await first.close()
        await second.close()
        one, other, back = (request.json() for request in provider.requests)
    assert one == back
    assert [m["content"] for m in one["messages"]] == ["s", "u", "a", "next"]
    assert [b["text"] for m in other["messages"] for b in m["content"]] == ["u", "a", "next"]


async def test_parameters_have_the_providers_names() -> None:
    parameters = Parameters(
        temperature=0.1,
        max_tokens=9,
        top_p=1,
        stop=("END",),
        seed=7,
        extra=Json.of({"top_k": 3, "temperature": 1}),
    )
    body = await sent(parameters=parameters)
    del body["messages"]
    assert body == {
        "model": "m",
        "max_tokens": 9,
        "temperature": 1,
        "top_p": 1,
        "stop_sequences": ["END"],
        "top_k": 3,
    }


@pytest.mark.parametrize("name", ["model", "messages", "system", "stream"])
async def test_extra_cannot_replace_what_a_call_is(name: str) -> None:
    parameters = Parameters(extra=Json.of({name: "x"}))
    failed = await failure(anthropic("http://127.0.0.1:1"), call(parameters=parameters))
    assert failed.error.reason is Reason.BAD_REQUEST


async def test_a_schema_is_asked_for_natively_without_a_tool() -> None:
    """OUT-4."""
    body = await sent(contract=schema(NAME_AND_NUMBER))
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": NAME_AND_NUMBER}}
    assert "tools" not in body


async def test_a_contract_that_cannot_be_enforced_is_put_in_words() -> None:
    """OUT-4, S-12."""
    odd = {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
    for contract in (schema(odd), Contract(format=Format.JSON)):
        body = await sent(contract=contract)
        assert "output_config" not in body
        text = body["messages"][0]["content"][0]["text"]
        assert text.startswith("why?\n\nAnswer with one JSON value")


async def test_thinking_and_tools_are_no_part_of_the_answer() -> None:
    answer = await understood(
        *message(
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "redacted_thinking", "data": "x"},
            "one, ",
            {"type": "tool_use", "id": "t", "name": "n", "input": {}},
            {"type": "text", "text": "two", "citations": []},
            {"type": "text", "text": None},
        )
    )
    assert answer.content == "one, two"


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("refusal", FinishReason.REFUSAL),
        ("pause_turn", FinishReason.OTHER),
        ("tool_use", FinishReason.OTHER),
        (None, FinishReason.OTHER),
    ],
)
async def test_each_stop_reason_has_its_word(stop: str | None, reason: FinishReason) -> None:
    """S-09."""
    assert (await understood(*message(stop=stop))).finish_reason is reason


async def test_usage_means_the_same_as_for_the_other_kind() -> None:
    """USE-1: what came from or went into the cache is part of the input."""
    answer = await understood(
        *message(
            usage={
                "input_tokens": 10,
                "output_tokens": 5,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 0,
                "service_tier": "standard",
            }
        )
    )
    assert answer.usage == TokenCounts(
        input_tokens=110,
        output_tokens=5,
        total_tokens=115,
        cached_input_tokens=100,
        cache_creation_tokens=0,
    )


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (None, UNKNOWN),
        ({}, UNKNOWN),
        ({"output_tokens": 5}, TokenCounts(output_tokens=5)),
        (
            {"input_tokens": 0, "output_tokens": 0},
            TokenCounts(input_tokens=0, output_tokens=0, total_tokens=0),
        ),
        (
            {"cache_read_input_tokens": 4, "input_tokens": None},
            TokenCounts(cached_input_tokens=4),
        ),
    ],
)
async def test_unknown_stays_unknown_and_zero_stays_zero(usage: Any, counts: TokenCounts) -> None:
    """USE-1, U-02, U-13."""
    assert (await understood(*message(usage=usage))).usage == counts


async def test_a_streamed_call_asks_for_a_stream() -> None:
    assert (await sent(deltas=Sink()))["stream"] is True
