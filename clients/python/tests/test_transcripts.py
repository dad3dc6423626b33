"""The client says what the recorded client says, by its public calls, and takes the answers."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from promptkit_client import (
    STOP,
    Action,
    CallbackError,
    Client,
    Continue,
    DefinitionInvalid,
    GenerateError,
    NotFound,
    PreparedClaimed,
    PromptKitError,
    RequestInvalid,
    Turn,
    connect,
    late_result,
    watch,
)
from promptkit_client.types import (
    GenerateParams,
    GenerateResult,
    ReportedUsage,
    TextDelta,
    TextReset,
)

CHECKOUT = Path(__file__).parents[3]
PLAY = CHECKOUT / "tests" / "transcripts" / "play.py"
TRANSCRIPTS = CHECKOUT / "schema" / "transcripts"

DAMAGE, FIRST = "What is the worst damage?", "What should be done first?"
STUDY = {"case": "bridge"}
ADA = {"name": "Ada"}
SENTENCE = {"sentence": "The comittee have decided to wait."}


def investigate(question: str) -> Continue:
    return Continue("research/investigate", variables={"question": question})


def revise(finding: str) -> Continue:
    return Continue("review/revise", variables={"findings": [finding]})


class Chooser:
    """A callback that gives one action after the other, and keeps its turns."""

    def __init__(self, *actions: Action | Exception) -> None:
        self.left = list(actions)
        self.turns: list[Turn] = []

    async def __call__(self, turn: Turn) -> Action:
        self.turns.append(turn)
        action = self.left.pop(0)
        if isinstance(action, Exception):
            raise action
        return action


class Model:
    """The host's model in all of them; what it does next is put in by the scenario."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self.asked = asyncio.Event()
        self.after: Callable[[], object] = lambda: None

    async def __call__(self, call: GenerateParams) -> str:
        assert call.backend == "host"
        self.asked.set()
        if not self.answers:
            await asyncio.Event().wait()
        asyncio.get_running_loop().call_soon(self.after)
        return self.answers.pop(0)


async def run(client: Client, _: Model) -> None:
    kinds: list[str] = []
    done = await client.run(
        "research/study",
        variables=STUDY,
        capture=True,
        on_event=lambda seen: kinds.append(seen.event.kind),
    )
    assert kinds == ["runStarted", "admitted", "attemptStarted", "attemptFinished", "runFinished"]
    assert done.usage.input_tokens.value == 61
    assert done.usage.reasoning_tokens.value is None
    details = await client.details(done)
    assert [message.role for message in details.messages] == ["system", "user", "assistant"]
    assert details.messages[0].cache == {"type": "ephemeral"}


async def continue_(client: Client, _: Model) -> None:
    first = await client.run("research/study", variables=STUDY, capture=True)
    question = {"question": DAMAGE}
    second = await client.continue_(first, "research/investigate", variables=question)
    third = await client.continue_(
        second.run_id,
        "research/investigate",
        variables={"question": "Is it wet?"},
        messages=[{"role": "user", "content": "Bitte kurz: naß? 🌉", "cache": {"ttl": "1h"}}],
        session_id="s-1",
    )
    await client.release(first)
    details = await client.details(third)
    assert details.content == third.content == "Bitte kurz: naß? 🌉"
    assert details.parent_run_id == second.run_id
    assert len(details.messages) == 8


async def branch(client: Client, _: Model) -> None:
    start = await client.run("research/study", variables=STUDY, capture=True)
    for question in (DAMAGE, FIRST):
        variables = {"question": question}
        done = await client.continue_(start, "research/investigate", variables=variables)
        assert done.parent_run_id == start.run_id
    assert start.exchange
    assert len((await client.details(start.exchange)).messages) == 3


async def stopped(client: Client, _: Model) -> None:
    start = await client.run("research/study", variables=STUDY, capture=True)
    questions = map(investigate, (DAMAGE, FIRST, "Can it wait?"))
    chooser = Chooser(*questions, STOP)
    async with watch(client.coordinate, start, chooser, additional_turns=3) as running:
        runs = [seen.run_id async for seen in running.events]
        ended = await running
    assert (ended.outcome, ended.undelivered) == ("stopped", None)
    assert [turn.remaining_turns for turn in chooser.turns] == [3, 2, 1, 0]
    assert [turn.delivery_index for turn in chooser.turns] == [0, 1, 2, 3]
    assert chooser.turns[0].result is None
    assert chooser.turns[3].result
    assert chooser.turns[3].result.content == "No, close it until the pins are replaced."
    assert runs == [f"run-{number}" for number in (2, 3, 4) for _ in range(5)]


async def exhausted(client: Client, _: Model) -> None:
    start = await client.run("research/study", variables=STUDY, capture=True)
    chooser = Chooser(investigate(DAMAGE), investigate("Can it wait?"))
    ended = await client.coordinate(start, chooser, additional_turns=1)
    assert ended.outcome == "exhausted"


async def callback_error(client: Client, _: Model) -> None:
    start = await client.run("research/study", variables=STUDY, capture=True)
    error = CallbackError("the reader has left", data={"reader": "gone", "page": 7})
    chooser = Chooser(investigate(DAMAGE), error)
    with pytest.raises(CallbackError) as raised:
        await client.coordinate(start, chooser, additional_turns=2)
    assert raised.value is error


async def undelivered(client: Client, model: Model) -> None:
    start = await client.run("research/study", variables=STUDY, capture=True)
    question = {"question": "May I cross it today?"}
    chooser = Chooser(Continue("research/investigate", variables=question, profile="host"))
    model.answers = ["Not with the pins in this state."]
    task = asyncio.create_task(client.coordinate(start, chooser, additional_turns=2))
    model.after = task.cancel
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    late = late_result(raised.value)
    assert (late.outcome, late.undelivered.content) == (
        "cancelled",
        "Not with the pins in this state.",
    )


async def cancelled(client: Client, model: Model) -> None:
    kinds: list[str] = []
    task = asyncio.create_task(
        client.run(
            "hello",
            variables=ADA,
            profile="host",
            on_event=lambda seen: kinds.append(seen.event.kind),
        )
    )
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as raised:
        await task
    assert late_result(raised.value) is None
    assert kinds[-1] == "runFinished"


async def group(client: Client, _: Model) -> None:
    group = await client.group()
    await client.run("research/study", variables=STUDY, capture=True, groups=[group])
    start = await client.run("review/draft", variables=SENTENCE, capture=True, groups=[group])
    chooser = Chooser(revise("the number is wrong"), revise("there is a comma too many"), STOP)
    await client.coordinate(start, chooser, additional_turns=2, groups=[group.group_id])
    seen = await group.snapshot()
    assert (len(seen.runs), seen.complete, seen.attempts) == (4, True, 4)
    assert (seen.usage.input_tokens.value, seen.usage.input_tokens.complete) == (167, False)
    await group.release()


async def stream(client: Client, _: Model) -> None:
    said: list[str] = []
    texts: list[str] = []
    async with watch(
        client.run,
        "hello",
        variables=ADA,
        profile="host",
        on_progress=lambda step: said.append(step.kind),
    ) as running:
        async for piece in running.deltas:
            match piece:
                case TextDelta():
                    texts.append(piece.text)
                case TextReset():
                    texts.clear()
        done = await running
    assert "".join(texts) == done.content == "Hello, Ada 🌉."
    assert done.transient_retries == 1
    assert (said[0], said[-1]) == ("begin", "end")


async def streaming(call: GenerateParams) -> AsyncIterator[str | GenerateResult]:
    if call.attempt == 1:
        yield "Good mor"
        await asyncio.sleep(0)
        raise GenerateError("slow down", reason="rateLimited", retry_after=0.001)
    yield "Hello, "
    yield "Ada 🌉."
    usage = ReportedUsage(input_tokens=7, output_tokens=0)
    yield GenerateResult(content="Hello, Ada 🌉.", usage=usage)


async def repair(client: Client, model: Model) -> None:
    good = '{"correction": "It waits.", "withdrawn": false}'
    model.answers = ["{", good, "no", '{"n": 1}']
    for status in ("valid", "invalid"):
        async with watch(
            client.run, "review/draft", variables=SENTENCE, capture=True, profile="host"
        ) as running:
            done = await running
        assert (done.validation.status, done.repairs) == (status, 1)
    assert {fault.keyword for fault in done.validation.violations} >= {"required"}


async def prepared(client: Client, _: Model) -> None:
    held = await client.prepare("research/study", variables=STUDY, capture=True)
    assert held.details == await held.fetch_details()
    done = await held.execute(on_event=lambda _: None)
    assert done.exchange
    with pytest.raises(PreparedClaimed):
        await held.execute()
    await (await client.prepare("hello", variables=ADA)).discard()


async def errors(client: Client, _: Model) -> None:
    with pytest.raises(NotFound) as none:
        await client.run("nothing/here")
    assert none.value.kind == "promptNotFound"
    with pytest.raises(DefinitionInvalid) as place:
        await client.run("hello")
    assert place.value.details
    assert place.value.details.location
    assert place.value.details.location.line == 5
    with pytest.raises(RequestInvalid) as wrong:
        await client.request("promptkit/run", {"promptId": "hello", "varables": {}})
    assert wrong.value.details
    assert wrong.value.details.invalid
    assert wrong.value.details.invalid[0].path == "params.varables"
    with pytest.raises(NotFound, match="run-none"):
        await client.details("run-none")
    with pytest.raises(NotFound, match="group-9"):
        await client.request("promptkit/group/snapshot", {"groupId": "group-9"})
    with pytest.raises(PromptKitError) as unknown:
        await client.request("promptkit/no/such", {})
    assert (unknown.value.code, unknown.value.kind) == (-32601, "protocol")


async def resources(client: Client, _: Model) -> None:
    assert "review/draft" in [item.name for item in await client.prompts()]
    assert [item.name for item in await client.profiles()] == ["demo", "host"]
    assert [item.kind for item in await client.backends()] == ["scripted", "client"]
    assert (await client.prompt("review/draft")).output.format == "schema"
    assert (await client.profile("demo")).backend == "demo"
    assert (await client.backend("demo")).capacity == 1
    engine = await client.open_engine()
    await client.run("hello", variables=ADA, engine=engine)
    await client.close_engine(engine)
    assert await client.reload() == ()
    assert [engine.engine_id for engine in (await client.status()).engines] == ["default"]


SCENARIOS = {
    "run": run,
    "continue": continue_,
    "branch": branch,
    "stopped": stopped,
    "exhausted": exhausted,
    "callback-error": callback_error,
    "undelivered": undelivered,
    "cancelled": cancelled,
    "group": group,
    "stream": stream,
    "repair": repair,
    "prepared": prepared,
    "errors": errors,
    "resources": resources,
}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_client_keeps_to_the_transcript(name: str, tmp_path: Path) -> None:
    code = tmp_path / "code"
    script = '"$@"; echo $? > "$0"'
    command = ["sh", "-c", script, str(code), sys.executable, str(PLAY)]
    model = Model()
    generate = streaming if name == "stream" else model
    file = TRANSCRIPTS / f"{name}.jsonl"
    async with connect(command=[*command, str(file)], generate=generate) as client:
        await SCENARIOS[name](client, model)
    assert code.read_text() == "0\n"


def test_every_transcript_is_kept_to() -> None:
    assert {path.stem for path in TRANSCRIPTS.glob("*.jsonl")} == set(SCENARIOS)
