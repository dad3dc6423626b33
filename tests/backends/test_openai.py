"""What is sent to servers that speak chat completions, and what is understood of their answers."""

import json
from typing import Any

import pytest

from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.definitions.settings import HeaderValue, Structured
from promptkit_rpc.errors import Origin, Reason
from promptkit_rpc.generation import Answer, FinishReason, Parameters
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract, Format
from promptkit_rpc.usage import UNKNOWN, TokenCounts
from tests.support.calls import NAME_AND_NUMBER, Sink, call, failure, openai, said, schema
from tests.support.provider import OPENAI_USAGE, Provider, Step, completion, respond

MARK = Json.of({"type": "ephemeral"})


async def sent(history: History | str = "why?", **fields: Any) -> Any:
    """The body that goes out for a call; `backend` holds settings of the backend."""
    settings = fields.pop("backend", {})
    async with Provider() as provider:
        provider.always(completion())
        backend = openai(provider.url, **settings)
        await backend.generate(call(history, **fields))
        await backend.close()
        return provider.requests[0].json()


async def understood(*script: Step) -> Answer:
    async with Provider() as provider:
        provider.always(script)
        backend = openai(provider.url)
        answer = await backend.generate(call())
        await backend.close()
        return answer


async def test_a_call_is_one_plain_request() -> None:
    async with Provider() as provider:
        provider.always(completion("because"))
        backend = openai(provider.url, headers=(("X-Team", HeaderValue("docs")),))
        answer = await backend.generate(call("why?", key="sk-canary-DDDD", model="big"))
        await backend.close()
        request = provider.requests[0]
    assert (request.method, request.target) == ("POST", "/v1/chat/completions")
    assert request.headers["host"] == f"127.0.0.1:{provider.port}"
    assert request.headers["authorization"] == "Bearer sk-canary-DDDD"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["x-team"] == "docs"
    assert request.json() == {"model": "big", "messages": [{"role": "user", "content": "why?"}]}
    assert answer == Answer(
        content="because",
        usage=TokenCounts(input_tokens=10, output_tokens=5, total_tokens=15),
    )


async def test_without_a_credential_none_is_sent() -> None:
    async with Provider() as provider:
        provider.always(completion())
        backend = openai(provider.url)
        await backend.generate(call())
        await backend.close()
        assert "authorization" not in provider.requests[0].headers


async def test_a_configured_header_stands_in_place_of_ours() -> None:
    async with Provider() as provider:
        provider.always(completion())
        backend = openai(provider.url, headers=(("authorization", HeaderValue("Custom x")),))
        await backend.generate(call(key="sk-canary-DDDD"))
        await backend.close()
        assert provider.requests[0].raw.lower().count(b"authorization:") == 1
        assert provider.requests[0].headers["authorization"] == "Custom x"


async def test_messages_go_as_authored_in_their_order_without_cache_metadata() -> None:
    """CFG-7, H-05, H-07, H-10, H-11: no role is moved or merged, a prefill stays last."""
    start = said(
        Message(Role.SYSTEM, "s", MARK),
        (Role.USER, "one"),
        Message(Role.USER, "two\n", MARK),
        (Role.ASSISTANT, "a"),
        (Role.ASSISTANT, "b "),
    )
    history = start.extended(Message(Role.DEVELOPER, "d")).extended(
        Message(Role.USER, "{{ x }} \U0001f600 \u2028"), Message(Role.ASSISTANT, "Answer: ")
    )
    body = await sent(history)
    assert [(m["role"], m["content"]) for m in body["messages"]] == [
        ("system", "s"),
        ("user", "one"),
        ("user", "two\n"),
        ("assistant", "a"),
        ("assistant", "b "),
        ("developer", "d"),
        ("user", "{{ x }} \U0001f600 \u2028"),
        ("assistant", "Answer: "),
    ]
    assert {tuple(m) for m in body["messages"]} == {("role", "content")}


async def test_siblings_send_the_same_bytes_for_what_they_share() -> None:
    """OWN-7, H-01: each message is encoded once."""
    base = said("one").extended(Message(Role.ASSISTANT, "two"))
    async with Provider() as provider:
        provider.always(completion())
        backend = openai(provider.url)
        for text in ("left", "right"):
            await backend.generate(call(base.extended(Message(Role.USER, text))))
        await backend.close()
        left, right = (request.body for request in provider.requests)
    assert left.replace(b"left", b"right") == right
    forms = base.forms("openai", lambda _: b"made anew")
    assert b"made anew" not in forms


async def test_an_assistant_message_of_no_text_is_left_out() -> None:
    """S-11: continuing from a refusal sends no empty turn."""
    history = said("one", (Role.ASSISTANT, ""), "two").extended(Message(Role.ASSISTANT, ""))
    body = await sent(history.extended(Message(Role.USER, "three")))
    assert [m["content"] for m in body["messages"]] == ["one", "two", "three"]


async def test_parameters_have_the_providers_names() -> None:
    parameters = Parameters(temperature=0.1, max_tokens=9, top_p=1, stop=("END",), seed=7)
    body = await sent(parameters=parameters)
    del body["messages"]
    assert body == {
        "model": "m",
        "temperature": 0.1,
        "max_tokens": 9,
        "top_p": 1,
        "stop": ["END"],
        "seed": 7,
    }
    newer = await sent(parameters=parameters, backend={"max_tokens_field": "max_completion_tokens"})
    assert newer["max_completion_tokens"] == 9
    assert "max_tokens" not in newer


async def test_extra_goes_as_it_is_and_wins_over_a_parameter() -> None:
    """S-16: numbers keep their digits."""
    extra = Json(b' {"big": 12345678901234567890, "temperature": 0.10, "logit_bias": {}} ')
    async with Provider() as provider:
        provider.always(completion())
        backend = openai(provider.url)
        await backend.generate(call(parameters=Parameters(temperature=1, extra=extra)))
        await backend.generate(call(parameters=Parameters(extra=Json(b"{}"))))
        await backend.close()
        body = provider.requests[0].body
        assert b'"big": 12345678901234567890, "temperature": 0.10' in body
        assert body.count(b"temperature") == 1
        assert set(provider.requests[1].json()) == {"model", "messages"}


@pytest.mark.parametrize("name", ["model", "messages", "stream"])
async def test_extra_cannot_replace_what_a_call_is(name: str) -> None:
    async with Provider() as provider:
        parameters = Parameters(extra=Json.of({name: "x"}))
        failed = await failure(openai(provider.url), call(parameters=parameters))
        assert (failed.error.reason, failed.error.origin) == (Reason.BAD_REQUEST, Origin.PROMPTKIT)
        assert name in failed.error.message
        assert not failed.error.billed
        assert not provider.requests


async def test_a_schema_is_asked_for_natively() -> None:
    """OUT-4, S-12."""
    body = await sent(contract=schema(NAME_AND_NUMBER))
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": NAME_AND_NUMBER, "strict": True},
    }
    assert len(body["messages"]) == 1
    plain = await sent(contract=Contract(format=Format.JSON))
    assert plain["response_format"] == {"type": "json_object"}


async def test_a_contract_in_words_ends_the_last_message_and_enters_no_history() -> None:
    """CAP-6, OUT-4."""
    history = said((Role.SYSTEM, "s"), "why?")
    contract = schema(NAME_AND_NUMBER)
    body = await sent(history, contract=contract, backend={"structured": Structured.PROMPT})
    assert "response_format" not in body
    assert len(body["messages"]) == 2
    assert body["messages"][1]["content"].startswith("why?\n\nAnswer with one JSON value")
    assert json.dumps(NAME_AND_NUMBER, separators=(",", ":")) in body["messages"][1]["content"]
    assert [m.content for m in history] == ["s", "why?"]


async def test_a_contract_in_words_after_an_assistant_is_a_message_of_its_own() -> None:
    body = await sent(
        said("why?", (Role.ASSISTANT, "because")),
        contract=Contract(format=Format.JSON),
        backend={"structured": Structured.PROMPT},
    )
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]


async def test_a_schema_whose_root_is_no_object_is_put_in_words() -> None:
    """OUT-4: the provider would refuse it."""
    body = await sent(contract=schema({"type": "array", "items": {"type": "integer"}}))
    assert "response_format" not in body
    assert '"items"' in body["messages"][0]["content"]


@pytest.mark.parametrize("content", ['```json\n{"n":1}', " \n\t{} \r\n", "e\u0301\u2028\u0085"])
async def test_content_is_kept_as_it_came(content: str) -> None:
    """CAP-5, S-01."""
    assert (await understood(*completion(content))).content == content


async def test_digits_in_an_answer_are_kept() -> None:
    """S-16."""
    content = '{"name":"a","n":12345678901234567890}'
    assert (await understood(*completion(content))).content == content


async def test_a_refusal_is_told_as_one() -> None:
    """S-11."""
    answer = await understood(*completion(None, refusal="I will not do that."))
    assert answer.content == ""
    assert (answer.finish_reason, answer.refusal) == (FinishReason.REFUSAL, "I will not do that.")
    parts = [{"type": "refusal", "refusal": "No."}]
    assert (await understood(*completion(parts))).refusal == "No."
    assert (await understood(*completion("fine", refusal=""))).refusal is None


async def test_reasoning_is_never_the_answer() -> None:
    """S-18."""
    content = '<think>{"draft":0}</think>\n{"name":"a","n":1}'
    assert (await understood(*completion(content))).content == content
    empty = await understood(*completion("", reasoning_content="so it is 4", reasoning="x"))
    assert (empty.content, empty.finish_reason) == ("", FinishReason.STOP)


async def test_content_may_be_a_list_of_parts() -> None:
    """S-21."""
    parts: list[Any] = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "hi"},
        {"type": "zzz"},
        {"type": "text", "text": None},
        " there",
        None,
    ]
    assert (await understood(*completion(parts))).content == "hi there"


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("tool_calls", FinishReason.OTHER),
        ("function_call", FinishReason.OTHER),
        ("new", FinishReason.OTHER),
        (None, FinishReason.OTHER),
        (5, FinishReason.OTHER),
        ([], FinishReason.OTHER),
    ],
)
async def test_each_finish_reason_has_its_word(finish: Any, reason: FinishReason) -> None:
    """S-09."""
    assert (await understood(*completion(finish=finish))).finish_reason is reason


async def test_half_a_surrogate_pair_becomes_one_replacement_character() -> None:
    body = completion("CONTENT")[1]
    assert isinstance(body, bytes)
    answer = await understood(*respond(200, body.replace(b"CONTENT", b"a\\ud83dz \\ud83d\\ude00")))
    assert answer.content == "a\ufffdz \U0001f600"
    answer = await understood(*respond(200, body.replace(b"CONTENT", b"a\xffz")))
    assert answer.content == "a\ufffdz"


async def test_what_is_no_json_but_common_is_put_up_with() -> None:
    """Some servers send NaN beside the answer."""
    body = completion("hi", logprob="NAN")[1]
    assert isinstance(body, bytes)
    answer = await understood(*respond(200, body.replace(b'"NAN"', b"-Infinity")))
    assert answer.content == "hi"


@pytest.mark.parametrize("usage", [None, {}, [], 5, "many"])
async def test_a_missing_usage_is_unknown(usage: Any) -> None:
    """USE-1, U-02."""
    assert (await understood(*completion(usage=usage))).usage == UNKNOWN


async def test_no_usage_key_is_unknown() -> None:
    """USE-1, U-02."""
    body = json.loads(completion()[1])  # type: ignore[arg-type] # a script's second step is bytes
    del body["usage"]
    assert (await understood(*respond(200, json.dumps(body).encode()))).usage == UNKNOWN


async def test_a_reported_zero_is_a_known_zero() -> None:
    """USE-1, U-02, U-13."""
    zeros = dict.fromkeys(OPENAI_USAGE, 0)
    answer = await understood(*completion("abc", finish="length", usage=zeros))
    assert answer.finish_reason is FinishReason.LENGTH
    assert answer.usage == TokenCounts(input_tokens=0, output_tokens=0, total_tokens=0)


async def test_counts_are_kept_as_sent_and_null_details_are_unknown() -> None:
    """USE-1, U-04."""
    answer = await understood(
        *completion(
            usage={
                "prompt_tokens": 2181,
                "completion_tokens": 57,
                "total_tokens": 2518,
                "prompt_tokens_details": None,
                "completion_tokens_details": None,
                "reasoning_tokens": 280,
            }
        )
    )
    assert answer.usage == TokenCounts(input_tokens=2181, output_tokens=57, total_tokens=2518)


async def test_details_and_missing_totals_are_understood() -> None:
    """USE-1."""
    answer = await understood(
        *completion(
            usage={
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0},
            }
        )
    )
    assert answer.usage == TokenCounts(
        input_tokens=10,
        output_tokens=5,
        total_tokens=15,
        cached_input_tokens=4,
        reasoning_tokens=0,
    )


@pytest.mark.parametrize("count", [-1, 1.5, "10", True, None, [1]])
async def test_what_is_no_count_is_unknown(count: Any) -> None:
    """USE-1."""
    usage = {"prompt_tokens": count, "completion_tokens": 5}
    assert (await understood(*completion(usage=usage))).usage == TokenCounts(output_tokens=5)


async def test_a_streamed_call_asks_for_a_stream_with_its_usage() -> None:
    """U-11."""
    body = await sent(deltas=Sink())
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
