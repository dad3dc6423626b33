"""The backend whose model is the client's own."""

import pytest
from attrs import evolve

from promptkit_rpc.backends.client import ClientBackend
from promptkit_rpc.definitions.settings import BackendKind, BackendSettings
from promptkit_rpc.errors import Cancelled, GenerationFailed, Origin, Reason
from promptkit_rpc.generation import Answer, Call, CallFailed, FinishReason
from promptkit_rpc.services import ClientGenerate
from promptkit_rpc.usage import TokenCounts
from tests.support.fakes import HERE, World
from tests.support.script import call

EDITOR = BackendSettings(name="editor", kind=BackendKind.CLIENT, location=HERE)
ANSWER = Answer(
    content="from the host",
    finish_reason=FinishReason.LENGTH,
    refusal="no",
    usage=TokenCounts.reported(input_tokens=3),
)


def backend(ask: ClientGenerate | None) -> ClientBackend:
    services = World().services
    return ClientBackend(EDITOR, evolve(services, client_generate=ask))


async def test_the_client_gets_the_call_and_its_answer_comes_back() -> None:
    seen: list[tuple[str, Call]] = []

    async def ask(name: str, asked: Call) -> Answer:
        seen.append((name, asked))
        return ANSWER

    asked = call()
    assert await backend(ask).generate(asked) is ANSWER
    assert seen == [("editor", asked)]


async def test_lone_surrogates_of_a_host_become_the_replacement_character() -> None:
    """SEC-4."""

    async def ask(*_: object) -> Answer:
        return Answer(content="a\ud800b", usage=ANSWER.usage, refusal="no")

    answer = await backend(ask).generate(call())
    assert answer == Answer(content="a\ufffdb", usage=ANSWER.usage, refusal="no")


async def test_without_a_client_the_call_fails_and_is_not_tried_again() -> None:
    with pytest.raises(CallFailed, match=r"'editor'.*none is connected") as caught:
        await backend(None).generate(call())
    error = caught.value.error
    assert (error.reason, error.origin) == (Reason.CONNECTION, Origin.PROMPTKIT)
    assert not error.retryable
    assert not error.billed


async def test_an_error_of_the_host_keeps_its_identity() -> None:
    """ENG-5."""
    cause = ValueError("why")
    error = GenerationFailed("no model", reason=Reason.QUOTA)

    async def ask(*_: object) -> Answer:
        raise error from cause

    with pytest.raises(CallFailed) as caught:
        await backend(ask).generate(call())
    assert caught.value.error is error
    assert caught.value.__cause__ is cause


@pytest.mark.parametrize(
    "error", [CallFailed(GenerationFailed("x", reason=Reason.TIMEOUT)), Cancelled("stop")]
)
async def test_what_is_already_said_well_goes_through(error: Exception) -> None:
    async def ask(*_: object) -> Answer:
        raise error

    with pytest.raises(type(error)) as caught:
        await backend(ask).generate(call())
    assert caught.value is error


async def test_closing_leaves_the_clients_connection_alone() -> None:
    await backend(None).close()
