"""The façade in process: coordination, capacity, and what must not leave it."""

import asyncio
import json
from pathlib import Path

import pytest

from promptkit_rpc import system
from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.coordination.actions import Action, Continue, Outcome, Stop, Turn
from promptkit_rpc.engine import Engine
from promptkit_rpc.errors import (
    InputFailed,
    TemplateFailed,
)
from promptkit_rpc.execution.request import RunRequest
from promptkit_rpc.groups import Group
from promptkit_rpc.secret import Secret
from tests.support.engine import (
    SETTINGS,
    ask,
    captured,
    more,
    run,
    workspace,
)
from tests.support.fakes import BOUND, Record, file, until


async def test_a_callback_runs_on_the_same_backend_at_capacity_one(engine: Engine) -> None:
    """ADM-2, ADM-3, C-01, OBS-5, GRP-3: three coordinations at once, and no lease of theirs."""
    source = await captured(engine)
    group = Group()

    async def next_action(turn: Turn, signal: CancelSignal) -> Action:
        (load,) = (one for one in engine.load() if one.name == "one")
        assert load.leases <= 2
        await engine.run(ask(f"nested {turn.delivery_index}"), signal)
        if turn.remaining_turns == 0:
            return Stop()
        return Continue(more(turn.exchange, "next", profile="first"))

    async with asyncio.timeout(BOUND):
        outcomes = await asyncio.gather(
            *(
                engine.coordinate(
                    source,
                    next_action,
                    additional_turns=2,
                    signal=CancelSignal(),
                    observers=(group,),
                )
                for _ in range(3)
            )
        )
    assert outcomes == [Outcome.STOPPED] * 3
    assert len(group.snapshot().runs) == 6
    assert all(load.leases == load.waiting == load.generating == 0 for load in engine.load())


async def test_a_turn_that_fails_at_preparation_costs_its_turn(engine: Engine) -> None:
    """COO-8, COO-9, C-04: the error of the start is the coordination's, and nothing follows."""
    source = await captured(engine)
    turns: list[int] = []

    async def next_action(turn: Turn, _: CancelSignal) -> Action:
        turns.append(turn.remaining_turns)
        request = more(turn.exchange, "x") if len(turns) == 1 else RunRequest(prompt_id="ask")
        return Continue(request)

    with pytest.raises(TemplateFailed, match="text"):
        await engine.coordinate(
            source, next_action, additional_turns=3, signal=CancelSignal(), observers=()
        )
    assert turns == [3, 2]


async def test_a_failed_run_leaves_its_source_usable(engine: Engine) -> None:
    """CAP-7."""
    source = await captured(engine)
    with pytest.raises(TemplateFailed):
        await run(engine, RunRequest(prompt_id="more", profile="second", continue_from=source))
    assert (await run(engine, more(source, "again"))).content == "again"


async def test_a_settings_change_keeps_the_leases_that_are_held(tmp_path: Path) -> None:
    """ADM-1: capacity is counted across a reload."""
    workspace(tmp_path)
    slow = '[{content: "late", delay: 600}]'
    file(
        tmp_path, "promptkit.yaml", SETTINGS.replace("capacity: 1", f"capacity: 1, replies: {slow}")
    )
    engine, signal = Engine.open(tmp_path, services=system.services()), CancelSignal()
    seen = Record()
    held = asyncio.create_task(
        engine.run(RunRequest(prompt_id="ask", variables={"text": "x"}, observers=(seen,)), signal)
    )
    async with asyncio.timeout(BOUND):
        await until(lambda: "AttemptStarted" in seen.names)
        file(tmp_path, "promptkit.yaml", SETTINGS.replace("capacity: 1", "capacity: 2"))
        assert (await run(engine, ask("y"))).content == "y"
        (load,) = (one for one in engine.load() if one.name == "one")
        assert (load.capacity, load.leases) == (2, 1)
        signal.cancel()
        await asyncio.wait([held])
    await engine.close()


async def test_a_direct_key_is_in_nothing_that_a_run_leaves_behind(engine: Engine) -> None:
    """SEC-1, CFG-4, OWN-4, K-09."""
    canary = "sk-canary-direct-0123"
    request = RunRequest(
        prompt_id="ask", variables={"text": "x"}, credential=Secret(canary), capture=True
    )
    prepared = await engine.prepare(request, CancelSignal())
    assert prepared.plan.credential_source == "request"
    result = await engine.execute(prepared, CancelSignal())
    for value in (request, prepared, prepared.plan, result, result.exchange):
        assert canary not in repr(value)
    assert result.exchange is not None
    assert canary not in json.dumps(result.exchange.details())


async def test_an_input_outside_the_workspace_is_refused(tmp_path: Path) -> None:
    """SEC-3."""
    workspace(tmp_path / "inside")
    file(tmp_path, "secret.txt", "not yours")
    study = """
    profile: second
    inputs: {report: {file: "data/{{ name }}"}}
    messages: [{role: user, content: "{{ inputs.report }}"}]
    """
    file(tmp_path, "inside/prompts/study.prompt.yaml", study)
    file(tmp_path, "inside/data/ok.txt", "fine")
    engine = Engine.open(tmp_path / "inside", services=system.services())
    with pytest.raises(InputFailed) as caught:
        await run(engine, RunRequest(prompt_id="study", variables={"name": "../../secret.txt"}))
    assert "not yours" not in caught.value.message
    await engine.close()


async def test_reloading_broken_settings_lists_what_is_wrong(engine: Engine) -> None:
    """SEC-4: and they work again once they are mended."""
    await run(engine, ask("x"))
    path = file(engine.root, "promptkit.yaml", "version: [1")
    problems = await engine.reload()
    assert [problem.location.file for problem in problems] == ["promptkit.yaml"]
    path.write_text(SETTINGS, encoding="utf-8")
    assert await engine.reload() == ()
    assert (await run(engine, ask("y"))).content == "y"
