"""A script played as a provider would answer, and the echo where there is none."""

import asyncio

import pytest

from promptkit_rpc.backends.scripted import PIECES, count_words
from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.definitions.settings import Fault, Match, Reply
from promptkit_rpc.errors import GenerationFailed, Reason, TemplateFailed
from promptkit_rpc.execution.execute import execute
from promptkit_rpc.generation import CallFailed, FinishReason
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract, Format, Status
from promptkit_rpc.usage import UNKNOWN, TokenCounts, Total
from tests.support.fakes import Record, World, no_credential, plan
from tests.support.script import Pieces, backend, call, history, reply, scripted_provider


async def contents(*replies: Reply, times: int, text: str = "hello there") -> list[str]:
    played = backend(*replies)
    return [(await played.generate(call(text))).content for _ in range(times)]


async def test_the_first_reply_with_uses_left_answers() -> None:
    one, two, rest = reply("one", times=1), reply("two", times=2), reply("rest")
    assert await contents(one, two, rest, times=5) == ["one", "two", "two", "rest", "rest"]


async def test_with_no_reply_left_the_last_user_message_comes_back() -> None:
    assert await contents(reply("one", times=1), times=3) == ["one", "hello there", "hello there"]
    assert await contents(reply("never", times=0), times=1) == ["hello there"]


async def test_uses_are_counted_per_backend_and_not_shared() -> None:
    script = reply("one", times=1)
    assert await contents(script, times=2) == await contents(script, times=2)


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        (Match(), True),
        (Match(prompt_id="ask"), True),
        (Match(prompt_id="other"), False),
        (Match(contains="why"), True),
        (Match(contains="Why"), False),
        (Match(regex=r"^so\s+why\?$"), True),
        (Match(regex="why$"), False),
        (Match(contains="first"), False),
        (Match(prompt_id="ask", contains="why", regex="so"), True),
        (Match(prompt_id="ask", contains="why", regex="no"), False),
    ],
)
async def test_every_given_condition_must_hold_for_the_last_message(
    match: Match, *, fits: bool
) -> None:
    sent = history("first", "an answer", "so  why?")
    answer = await backend(reply("yes", match=match)).generate(call(sent))
    assert answer.content == ("yes" if fits else "so  why?")


async def test_a_reply_is_a_template_over_the_conversation() -> None:
    template = (
        "{{ promptId }} {{ model }} {{ turn }}: {{ lastUser }}"
        "{% for m in messages %}|{{ m.role }}={{ m.content }}{% endfor %}"
    )
    answer = await backend(reply(template)).generate(call(history("a", "b", "c")))
    assert answer.content == "ask small 2: c|user=a|assistant=b|user=c"


async def test_template_syntax_in_a_message_is_data() -> None:
    """SEC-2."""
    sent = call("{{ 1 + 1 }} {% x %}")
    assert (await backend(reply("> {{ lastUser }}")).generate(sent)).content.endswith("{% x %}")
    assert (await backend().generate(sent)).content == "{{ 1 + 1 }} {% x %}"


async def test_a_reply_that_cannot_be_rendered_says_which_variable() -> None:
    with pytest.raises(TemplateFailed, match="nothing"):
        await backend(reply("{{ nothing }}")).generate(call())


async def test_json_is_answered_exactly() -> None:
    """S-16."""
    value = {"n": 12345678901234567890, "x": 0.1, "s": "é\n", "l": [True, None]}
    answer = await backend(reply(json=value)).generate(call())
    assert answer.content == '{"n":12345678901234567890,"x":0.1,"s":"é\\n","l":[true,null]}'


async def test_usage_is_as_scripted_and_otherwise_unknown() -> None:
    """USE-1, U-02, U-13."""
    some = TokenCounts(input_tokens=12, output_tokens=5)
    zeros = TokenCounts(input_tokens=0, output_tokens=0, total_tokens=0)
    half = TokenCounts(output_tokens=5)
    replies = [reply("x", usage=usage, times=1) for usage in (some, zeros, half, None)]
    played = backend(*replies)
    found = [(await played.generate(call())).usage for _ in replies]
    assert found == [
        TokenCounts(input_tokens=12, output_tokens=5, total_tokens=17),
        zeros,
        half,
        UNKNOWN,
    ]


async def test_the_echo_counts_words_of_all_messages() -> None:
    sent = History((Message(Role.SYSTEM, "be  brief\n"),)).extended(
        Message(Role.USER, "one two three"), Message(Role.ASSISTANT, "four"), Message(Role.USER, "")
    )
    answer = await backend().generate(call(sent.extended(Message(Role.USER, " five six "))))
    assert answer.content == " five six "
    assert answer.usage == TokenCounts.reported(input_tokens=8, output_tokens=2)


async def test_without_a_user_message_the_last_one_is_echoed() -> None:
    only = History((Message(Role.SYSTEM, "alone"),))
    assert (await backend().generate(call(only))).content == "alone"
    assert (await backend().generate(call(History(())))).content == ""


@pytest.mark.parametrize("text", ["", " ", "a", " a", "a ", "a\tb\r\nc", "é 😀 x", "a\u00a0b"])
def test_words_stand_between_white_space(text: str) -> None:
    assert count_words(text) == len(text.replace("\u00a0", "_").split())


async def test_the_end_is_as_scripted() -> None:
    """S-09, S-11."""
    ends = [
        reply("cut", finish_reason=FinishReason.LENGTH, times=1),
        reply("", refusal="I will not.", finish_reason=FinishReason.REFUSAL),
    ]
    played = backend(*ends)
    first, second = await played.generate(call()), await played.generate(call())
    assert (first.finish_reason, first.refusal) == (FinishReason.LENGTH, None)
    assert (second.finish_reason, second.refusal) == (FinishReason.REFUSAL, "I will not.")


@pytest.mark.parametrize(
    ("script", "pieces"),
    [
        (reply(chunks=("first ", "", "second")), ["first ", "", "second"]),
        (reply(" two  words\n"), [" ", "two  ", "words\n"]),
        (reply(json={"a": "b c"}), ['{"a":"b ', 'c"}']),
        (None, ["hello ", "there"]),
    ],
)
@pytest.mark.parametrize("full", [False, True])
async def test_the_pieces_make_up_the_answer(
    script: Reply | None, pieces: list[str], *, full: bool
) -> None:
    seen = Pieces(full=full)
    played = backend(script) if script else backend()
    answer = await played.generate(call(deltas=seen))
    assert seen.texts == pieces
    assert answer.content == "".join(pieces)
    assert seen.pauses == (len(pieces) if full else 0)


async def test_chunks_are_joined_where_nobody_streams() -> None:
    answer = await backend(reply(chunks=("first ", "second"))).generate(call())
    assert answer.content == "first second"


async def test_a_very_large_echo_comes_in_a_bounded_number_of_pieces() -> None:
    """R-14."""
    seen, text = Pieces(), "word é " * 300_000
    answer = await backend().generate(call(text, deltas=seen))
    assert answer.content == text
    assert "".join(seen.texts) == text
    assert len(seen.texts) <= PIECES
    assert answer.usage.output_tokens == 600_000


async def test_a_delay_is_slept_and_can_be_cancelled() -> None:
    """RET-3."""
    world = World()
    played = backend(reply("late", delay=0.2, times=1), services=world.services)
    waiting = asyncio.ensure_future(played.generate(call()))
    await world.until_sleeping()
    assert not waiting.done()
    world.advance(0.2)
    async with asyncio.timeout(10):
        assert (await waiting).content == "late"
    assert world.slept == [0.2]
    slow = backend(reply("late", delay=5), services=world.services)
    waiting = asyncio.ensure_future(slow.generate(call()))
    await world.until_sleeping(2)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


QUOTA = {"error": {"type": "insufficient_quota", "message": "You exceeded your current quota"}}


@pytest.mark.parametrize(
    ("fault", "reason", "retryable", "billed"),
    [
        (Fault(status=429, retry_after=0.1), Reason.RATE_LIMITED, True, False),
        (Fault(status=429, body=Json.of(QUOTA)), Reason.QUOTA, False, False),
        (Fault(status=401), Reason.AUTHENTICATION, False, False),
        (Fault(status=400), Reason.BAD_REQUEST, False, False),
        (
            Fault(status=400, body=Json.of({"error": {"code": "context_length_exceeded"}})),
            Reason.CONTEXT_LENGTH,
            False,
            False,
        ),
        (Fault(status=408), Reason.TIMEOUT, True, False),
        (Fault(status=409), Reason.SERVER, True, False),
        (Fault(status=500), Reason.SERVER, True, True),
        (Fault(status=529), Reason.OVERLOADED, True, True),
        (Fault(status=302), Reason.REDIRECT, False, False),
        (Fault(kind="connectionReset"), Reason.CONNECTION, True, True),
        (Fault(kind="timeout"), Reason.TIMEOUT, True, True),
        (Fault(kind="brokenBody"), Reason.CONNECTION, True, True),
        (Fault(kind="malformed"), Reason.MALFORMED_RESPONSE, False, True),
    ],
)
async def test_a_fault_is_what_a_provider_would_cause(
    fault: Fault, reason: Reason, *, retryable: bool, billed: bool
) -> None:
    """RET-1, T-06."""
    with pytest.raises(CallFailed) as caught:
        await backend(reply(fault=fault)).generate(call())
    error = caught.value.error
    assert (error.reason, error.retryable, error.billed) == (reason, retryable, billed)
    assert error.retry_after == fault.retry_after
    assert "demo" in error.message


async def test_a_fault_may_have_cost_tokens_and_have_words() -> None:
    """U-10."""
    body = Json.of({"error": {"message": "slow {down}"}})
    spent = TokenCounts.reported(input_tokens=9)
    script = reply(fault=Fault(status=503, body=body), usage=spent)
    with pytest.raises(CallFailed, match=r"slow \{down\}") as caught:
        await backend(script).generate(call())
    assert caught.value.usage == spent


async def test_a_body_that_breaks_off_has_been_streamed_in_part() -> None:
    """T-08."""
    seen = Pieces()
    with pytest.raises(CallFailed):
        await backend(reply(fault=Fault(kind="brokenBody"))).generate(call(deltas=seen))
    assert "".join(seen.texts) == "hello"


@pytest.mark.parametrize(
    "fault",
    [Fault(status=429), Fault(status=500), Fault(kind="timeout"), Fault(kind="connectionReset")],
)
async def test_a_lasting_fault_is_met_as_often_as_the_policy_says(fault: Fault) -> None:
    """T-19."""
    world, record = World(chance=0.0), Record()
    provider = scripted_provider(world, reply(fault=fault, times=3), reply("at last"))
    running = asyncio.ensure_future(
        execute(plan(provider, observers=(record,)), world.services, CancelSignal(), no_credential)
    )
    async with asyncio.timeout(10):
        for nap in (1, 2):
            await world.until_sleeping(nap)
            world.advance(0.0)
        with pytest.raises(GenerationFailed) as caught:
            await running
    assert caught.value.attempts == 3
    assert record.names.count("AttemptStarted") == 3
    # The fourth call would have met the next reply.
    assert (await provider.backend.generate(call())).content == "at last"


async def test_a_repair_is_one_more_call_and_its_usage_is_added() -> None:
    """U-01, OUT-3, OBS-2."""
    world, record = World(), Record()
    provider = scripted_provider(
        world,
        reply("no json", usage=TokenCounts(input_tokens=100, output_tokens=10), times=1),
        reply(json=[1], usage=TokenCounts(input_tokens=130, output_tokens=12)),
    )
    contract = Contract(format=Format.JSON, repairs=1)
    result = await execute(
        plan(provider, contract=contract, observers=(record,)),
        world.services,
        CancelSignal(),
        no_credential,
    )
    assert result.validation.status is Status.VALID
    assert (result.attempts, result.repairs, result.transient_retries) == (2, 1, 0)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (Total(230), Total(22))
    per_attempt = [getattr(e, "usage", None) for e in record.events if "Attempt" in str(type(e))]
    assert [one.input_tokens for one in per_attempt if one] == [100, 130]


async def test_an_echo_under_a_contract_is_just_invalid() -> None:
    """CAP-7."""
    world = World()
    result = await execute(
        plan(
            scripted_provider(world),
            contract=Contract(format=Format.SCHEMA, schema=Json.of({"type": "object"})),
            capture=True,
        ),
        world.services,
        CancelSignal(),
        no_credential,
    )
    assert result.validation.status is Status.INVALID
    assert result.exchange is not None
    assert result.exchange.content == "hello"
