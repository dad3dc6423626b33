"""What a continuation sends and what an exchange keeps, on the wires of both kinds of provider.

Siblings tried beside each case: repairs that fail, a released exchange (H-01); tabs and leading
space, the same in the middle of a history (H-03); a prompt that begins with an assistant, appended
prefill, prefill under a contract in words, a prompt of no message (H-05); cache metadata of a
caller's, more marks than are taken, marks nobody knows (H-07); keys, parameters and session ids, a
closed engine, a prompt that is gone (H-10); neighbours across the seams of a continuation, system
messages in the middle (H-11).
"""

import json
from typing import Any

import pytest

from tests.support.provider import Recorded, refusal
from tests.support.stage import (
    ANTHROPIC,
    GOOD,
    OPENAI,
    PLAIN,
    WAYS,
    Stage,
    Stages,
    Way,
    contract,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any
EACH_WAY = pytest.mark.parametrize("way", WAYS, ids=str)
EACH_KIND = pytest.mark.parametrize("way", PLAIN, ids=str)


def wire(request: Recorded) -> Json:
    """The conversation as it was sent: system prompt and messages."""
    body = request.json()
    return body.get("system"), body["messages"]


@EACH_WAY
async def test_a_repair_is_in_nobodys_history(stages: Stages, way: Way) -> None:
    """H-01: what is captured is the request and the last answer; every branch begins with that."""
    stage = await stages(way)
    stage.workspace.prompt("two", ("system", "S {{ text }}"), "{{ text }}", profile="p")
    asked: Json = {"promptId": "two", "output": contract(repairs=1), "capture": True}
    prepared = await stage.ask("promptkit/prepare", variables={"text": "go"}, **asked)
    stage.play("no", GOOD, "a", "b", "c")
    ran = await stage.run(**asked)
    run_id = ran.result["runId"]
    kept = [("system", "S go"), ("user", "go"), ("assistant", GOOD)]
    assert await stage.messages(run_id) == kept
    for text in ("left", "right"):
        await stage.run(text, continueFrom=run_id)
    left, right = stage.requests[2:4]
    assert way.sent(left) == [*kept, ("user", "left")]
    assert left.body.replace(b"left", b"right") == right.body
    again = await stage.ask("promptkit/prepare", variables={"text": "go"}, **asked)
    assert again["details"] == prepared["details"]
    await stage.daemon.request("promptkit/exchange/release", {"runId": run_id})
    child = (await stage.run("more", continueFrom=run_id)).failure
    assert child.kind == "exchangeNotFound"
    assert [m["content"] for m in prepared["details"]["messages"]] == ["S go", "go"]


@EACH_KIND
async def test_repairs_that_did_not_help_leave_the_last_answer(stages: Stages, way: Way) -> None:
    """H-01: and a run that fails after one leaves nothing, and its parent as it was."""
    stage = await stages(way, retry={"attempts": 1})
    stage.play("no", "never")
    ran = await stage.run(output=contract(repairs=1), capture=True)
    parent = ran.result["runId"]
    assert await stage.messages(parent) == [("user", "go"), ("assistant", "never")]
    stage.play("no", refusal(500, {}), "fine")
    failed = await stage.run("x", output=contract(repairs=1), continueFrom=parent)
    assert not await stage.held(failed.failure.data["runId"])
    await stage.run("y", continueFrom=parent)
    sent = [("user", "go"), ("assistant", "never"), ("user", "y")]
    assert stage.sent() == sent


@EACH_KIND
async def test_white_space_at_the_end_is_left_out_on_the_wire_alone(
    stages: Stages, way: Way
) -> None:
    """H-03: of a last message of the assistant's, for Anthropic; history keeps every character."""
    stage = await stages(way)
    stage.workspace.prompt("fill", "{{ text }}", ("assistant", " Answer: \n"), profile="p")
    stage.play("OK \n", "fine\t")
    first = (await stage.run(capture=True)).result["runId"]
    assert (await stage.details(first))["content"] == "OK \n"
    second = await stage.run("more", promptId="fill", continueFrom=first)
    last = " Answer:" if way.kind == "anthropic" else " Answer: \n"
    began = [("user", "go"), ("assistant", "OK \n"), ("user", "more")]
    assert stage.sent() == [*began, ("assistant", last)]
    kept = [*began, ("assistant", " Answer: \n"), ("assistant", "fine\t")]
    assert await stage.messages(second.result["runId"]) == kept
    stage.play("end")
    await stage.run(" x ", continueFrom=second.result["runId"])
    assert stage.sent() == [*kept, ("user", " x ")]


@EACH_KIND
async def test_what_the_provider_refuses_of_it_is_an_ordinary_error(
    stages: Stages, way: Way
) -> None:
    """H-03: its 400 comes back without a retry, and the exchange is still there."""
    stage = await stages(way)
    stage.play("OK \n", refusal(400, {"error": {"message": "must not end with white space"}}))
    first = (await stage.run(capture=True)).result["runId"]
    ran = await stage.run(continueFrom=first)
    assert (ran.failure.data["reason"], ran.failure.data["attempts"]) == ("badRequest", 1)
    assert await stage.held(first)


@EACH_WAY
async def test_messages_go_in_the_order_they_were_written(stages: Stages, way: Way) -> None:
    """H-05: a last message of the assistant's is sent where it stands; none is dropped."""
    stage = await stages(way)
    stage.workspace.prompt(
        "odd", ("assistant", "A1"), ("user", "{{ text }}"), ("assistant", "A2"), profile="p"
    )
    stage.play("answer", "more")
    ran = await stage.run(promptId="odd", capture=True)
    written = [("assistant", "A1"), ("user", "go"), ("assistant", "A2")]
    assert stage.sent() == written
    appended = [{"role": "assistant", "content": "A3"}]
    await stage.run(promptId="odd", continueFrom=ran.result["runId"], messages=appended)
    answer = ("assistant", "answer")
    assert stage.sent() == [*written, answer, *written, ("assistant", "A3")]


async def test_a_contract_in_words_stands_behind_what_was_written(stages: Stages) -> None:
    """H-05: at the end of a last message of the user's, else as a message of its own."""
    stage = await stages(ANTHROPIC)
    stage.workspace.prompt("fill", "{{ text }}", ("assistant", "{"), profile="p")
    stage.play("{}", "{}")
    for prompt in ("fill", "ask"):
        ran = await stage.run(promptId=prompt, output={"format": "json"}, capture=True)
        assert [role for role, _ in await stage.messages(ran.result["runId"])][-1] == "assistant"
    (first, fill, words), (asked,) = stage.sent(0), stage.sent(1)
    assert (first, fill, words[0]) == (("user", "go"), ("assistant", "{"), "user")
    assert asked == ("user", f"go\n\n{words[1]}")


async def test_a_prompt_without_messages_is_refused_before_anything_is_sent(
    stages: Stages,
) -> None:
    """H-05: so a continuation always adds something."""
    stage = await stages()
    stage.workspace.prompt("none", profile="p")
    failed = (await stage.run(promptId="none")).failure
    assert (failed.kind, "'messages' holds no message" in failed.message) == ("promptInvalid", True)
    assert stage.requests == []


MARKED: Json = [
    {"role": "system", "content": "S", "cache": {"type": "ephemeral"}},
    {"role": "user", "content": "U1", "cache": {"type": "ephemeral", "ttl": "1h", "x": [1]}},
    {"role": "assistant", "content": "A1"},
    {"role": "user", "content": "{{ text }}", "cache": {"type": "ephemeral"}},
]


def marks(request: Recorded) -> list[tuple[str, Json]]:
    """(text, cache mark) of each block that has one."""
    system, messages = wire(request)
    blocks: list[Json] = [*(system or []), *(block for one in messages for block in one["content"])]
    return [(b["text"], b["cache_control"]) for b in blocks if "cache_control" in b]


async def test_cache_metadata_survives_run_capture_and_continuation(stages: Stages) -> None:
    """H-07: every mark in its place on Anthropic's wire, none on the other; details show all."""
    stage = await both(stages)
    stage.workspace.prompt("marked", *MARKED, profile="anthropic")
    short, long = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
    stage.provider.play(ANTHROPIC.says("a"), ANTHROPIC.says("b"), OPENAI.says("c"))
    run = (await stage.run(promptId="marked", capture=True)).result["runId"]
    written = [("S", short), ("U1", long), ("go", short)]
    assert marks(stage.requests[0]) == written
    caches = [message.get("cache") for message in MARKED]
    assert [m.get("cache") for m in (await stage.details(run))["messages"]] == [*caches, None]
    mine = [
        {"role": "user", "content": "more", "cache": short},
        {"role": "user", "content": "free", "cache": {"anything": {"goes": None}}},
    ]
    two = await stage.run("plain", profile="anthropic", continueFrom=run, messages=mine)
    assert marks(stage.requests[1]) == [*written, ("more", short)]
    three = await stage.run(promptId="marked", profile="openai", continueFrom=two.result["runId"])
    assert b"cache" not in stage.requests[2].body
    kept = [m.get("cache") for m in (await stage.details(three.result["runId"]))["messages"]]
    assert kept == [*caches, None, None, mine[0]["cache"], mine[1]["cache"], None, *caches, None]
    stage.provider.play(ANTHROPIC.says("d"))
    await stage.run(profile="anthropic", continueFrom=three.result["runId"])
    assert marks(stage.requests[3]) == [("more", short), *written]


async def both(stages: Stages) -> Stage:
    """A stage with a backend and a profile of each kind."""
    stage = await stages()
    backends = {kind: stage.backend(kind=kind) for kind in ("openai", "anthropic")}
    for kind, backend in backends.items():
        stage.workspace.write(f"{kind}.key", f"key-of-{kind}\n")
        backend["credential"] = {"file": f"{kind}.key"}
    profiles = {
        kind: {"backend": kind, "model": f"m-{kind}", "parameters": {"temperature": number}}
        for number, kind in enumerate(backends)
    }
    stage.workspace.settings(backends=backends, profiles=profiles)
    return stage


async def test_a_branch_goes_from_one_provider_to_another_and_back(stages: Stages) -> None:
    """H-10: with its whole history; key, contract, parameters, session are each request's own."""
    stage = await both(stages)
    stage.workspace.prompt(
        "first", ("system", "S"), "{{ text }}", profile="openai", session="s-{{ text }}",
        output={"format": "json"},
    )  # fmt: skip
    stage.provider.play(
        OPENAI.says("{}"), ANTHROPIC.says(GOOD), OPENAI.says("three"), OPENAI.says("four")
    )
    one = await stage.run(
        promptId="first", capture=True, credential="key-for-once", parameters={"seed": 7}
    )
    assert one.result["sessionId"] == "s-go"
    two = await stage.run(
        "2", profile="anthropic", output=contract(), continueFrom=one.result["runId"]
    )
    assert (two.status, two.result.get("sessionId")) == ("valid", None)
    three = await stage.run("3", profile="openai", continueFrom=two.result["runId"])
    assert three.status == "notRequired"
    first, second, third = stage.requests
    assert first.headers["authorization"] == "Bearer key-for-once"
    assert (second.headers["x-api-key"], second.headers.get("authorization")) == (
        "key-of-anthropic",
        None,
    )
    assert third.headers["authorization"] == "Bearer key-of-openai"
    assert [one.json()["model"] for one in stage.requests] == [
        "m-openai",
        "m-anthropic",
        "m-openai",
    ]
    assert [one.json()["temperature"] for one in stage.requests] == [0, 1, 0]
    assert [one.json().get("seed") for one in stage.requests] == [7, None, None]
    formats = [one.json().keys() & {"response_format", "output_config"} for one in stage.requests]
    assert formats == [{"response_format"}, {"output_config"}, set()]
    history = [("system", "S"), ("user", "go"), ("assistant", "{}")]
    assert ANTHROPIC.sent(second) == [*history, ("user", "2")]
    assert OPENAI.sent(third) == [*history, ("user", "2"), ("assistant", GOOD), ("user", "3")]

    await stage.ask("promptkit/engine/close")
    (stage.workspace.root / "prompts/first.prompt.yaml").unlink()
    await stage.reopen()
    await stage.run("4", profile="openai", continueFrom=three.result["runId"])
    assert OPENAI.sent(stage.requests[3])[:-1] == [
        *OPENAI.sent(third),
        ("assistant", "three"),
    ]
    missing = await stage.run("5", continueFrom=three.result["runId"])
    assert missing.failure.kind == "profileNotFound"


@EACH_KIND
async def test_neighbours_of_one_role_stay_apart(stages: Stages, way: Way) -> None:
    """H-11: as messages, or as blocks of one, with their marks; never glued together."""
    stage = await stages(way)
    mark = {"type": "ephemeral"}
    stage.workspace.prompt(
        "rows", "u1", {"role": "user", "content": "u2", "cache": mark}, ("assistant", "a1"),
        ("assistant", "a2"), ("system", "s1"), ("user", "{{ text }}"), profile="p",
    )  # fmt: skip
    appended = [{"role": "user", "content": "mine"}, {"role": "developer", "content": "d1"}]
    stage.play("answer", "next")
    ran = await stage.run(promptId="rows", messages=appended, capture=True)
    roles = ["user", "user", "assistant", "assistant", "system", "user", "user", "developer"]
    texts = ["u1", "u2", "a1", "a2", "s1", "go", "mine", "d1"]
    details = await stage.details(ran.result["runId"])
    assert [(m["role"], m["content"]) for m in details["messages"]] == [
        *zip(roles, texts, strict=True),
        ("assistant", "answer"),
    ]
    system, messages = wire(stage.requests[0])
    if way.kind == "openai":
        assert [(m["role"], m["content"]) for m in messages] == list(zip(roles, texts, strict=True))
    else:
        assert system is None
        assert [(m["role"], [b["text"] for b in m["content"]]) for m in messages] == [
            ("user", ["u1", "u2"]),
            ("assistant", ["a1", "a2"]),
            ("user", ["s1", "go", "mine", "d1"]),
        ]
        assert marks(stage.requests[0]) == [("u2", mark)]
    await stage.run("more", continueFrom=ran.result["runId"], promptId="rows")
    assert [text for _, text in stage.sent()] == [*texts, "answer", *texts[:5], "more"]


async def test_what_was_authored_is_sent_character_for_character(stages: Stages) -> None:
    """H-03, H-11: control characters, surrogates and separators; only blank text is left out."""
    stage = await stages(ANTHROPIC)
    odd = '\u0000\u001f\\"\u2028é😀\t x'
    stage.play("ok", "ok")
    ran = await stage.run(odd, messages=[{"role": "user", "content": " \n"}], capture=True)
    assert stage.sent() == [("user", odd)]
    assert await stage.messages(ran.result["runId"]) == [
        ("user", odd),
        ("user", " \n"),
        ("assistant", "ok"),
    ]
    assert json.dumps(odd, ensure_ascii=False)[1:-1].encode() in stage.requests[0].body
