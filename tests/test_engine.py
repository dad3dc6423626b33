"""The façade in process: settings of a continuation, ownership, coordination on real parts."""

import asyncio
import gc
import json
import weakref
from pathlib import Path

import pytest

from promptkit_rpc import system
from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.engine import Engine
from promptkit_rpc.errors import (
    ContractInvalid,
    EngineNotFound,
    PreparedClaimed,
    ProfileMissing,
    PromptNotFound,
)
from promptkit_rpc.execution.request import RunRequest
from promptkit_rpc.generation import Parameters
from promptkit_rpc.groups import Group
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract, Format, Status
from tests.support.engine import (
    MORE,
    ask,
    captured,
    contents,
    more,
    run,
    workspace,
)
from tests.support.fakes import Record, file
from tests.support.script import Pieces


async def test_a_continuation_sends_history_then_prompt_then_appended_messages(
    engine: Engine,
) -> None:
    """CFG-7, CAP-4, CAP-5, OWN-1, DET-1: roles as authored, and the source as it was."""
    source = await captured(engine)
    before = source.details()
    appended = (Message(Role.ASSISTANT, "so far"), Message(Role.SYSTEM, "late rule"))
    request = RunRequest(
        prompt_id="more",
        variables={"text": "two"},
        profile="second",
        continue_from=source,
        messages=appended,
    )
    result = await run(engine, request)
    assert result.exchange is not None
    assert contents(result.exchange) == [
        ("system", "rules"),
        ("user", "one"),
        ("assistant", "one"),
        ("developer", "note"),
        ("user", "two"),
        ("assistant", "so far"),
        ("system", "late rule"),
        ("assistant", "two"),
    ]
    assert (result.parent_run_id, result.exchange.parent_run_id) == (source.run_id, source.run_id)
    assert source.details() == before
    assert before["messages"][0]["cache"] == {"type": "ephemeral", "odd": [1, 2.5]}


async def test_details_are_plain_and_detached(engine: Engine) -> None:
    """DET-2, DET-3, DET-4."""
    source = await captured(engine)
    details = source.details()
    assert json.loads(json.dumps(details)) == details
    details["messages"][0]["cache"]["type"] = "changed"
    details["messages"].clear()
    assert source.details()["messages"][0]["cache"]["type"] == "ephemeral"


async def test_nothing_is_inherited_but_history(engine: Engine) -> None:
    """CFG-1, CFG-2, CFG-3, CFG-5, CFG-6, H-10."""
    first = await run(engine, ask("one"))
    assert first.exchange is not None
    assert (first.profile, first.model, first.session_id) == ("first", "m1", "case-one")
    assert first.validation.status is Status.INVALID
    second = await run(engine, more(first.exchange, "two"))
    assert (second.profile, second.model, second.session_id) == ("second", "m2", None)
    assert second.validation.status is Status.NOT_REQUIRED
    with pytest.raises(ProfileMissing) as caught:
        await run(engine, more(first.exchange, "two", profile=None))
    assert caught.value.message == (
        "prompt 'more' has no default profile and the request names none;"
        " give `profile` in either; there are: first, second"
    )
    assert caught.value.location is not None
    assert caught.value.location.file == "prompts/more.prompt.yaml"


async def test_the_requests_session_id_goes_before_the_prompts(engine: Engine) -> None:
    """CFG-5."""
    result = await run(engine, ask("one", session_id="mine"))
    assert result.session_id == "mine"


async def test_a_session_template_that_is_not_needed_is_not_rendered(tmp_path: Path) -> None:
    """CFG-5."""
    workspace(tmp_path)
    file(tmp_path, "prompts/odd.prompt.yaml", 'session: "{{ missing }}"\n' + MORE)
    engine = Engine.open(tmp_path, services=system.services())
    request = RunRequest(
        prompt_id="odd", variables={"text": "x"}, profile="second", session_id="mine"
    )
    assert (await run(engine, request)).session_id == "mine"
    await engine.close()


async def test_a_plan_keeps_everything_the_request_asked_for(engine: Engine) -> None:
    """ENG-4, CAP-3."""
    stream = Pieces()
    request = RunRequest(
        prompt_id="ask", variables={"text": "a b"}, timeout=9.5, stream=stream, capture=True
    )
    prepared = await engine.prepare(request, CancelSignal())
    plan = prepared.plan
    assert (plan.prompt_id, plan.timeout, plan.capture, plan.backend) == ("ask", 9.5, True, "one")
    assert repr(prepared) == "<Prepared ask>"
    result = await engine.execute(prepared, CancelSignal())
    assert stream.texts[0] == "<1>"
    assert "".join(stream.texts[1:]) == result.content == "a b"
    assert repr(prepared) == "<Prepared ask, claimed>"


async def test_a_contract_in_the_request_replaces_the_prompts_whole(engine: Engine) -> None:
    """CFG-3, OUT-1."""
    contract = Contract(format=Format.SCHEMA, schema=Json.of({"type": "string"}))
    request = RunRequest(prompt_id="ask", variables={"text": '"quoted"'}, output=contract)
    result = await run(engine, request)
    assert result.validation.status is Status.VALID
    assert result.validation.structured == Json(b'"quoted"')
    prepared = await engine.prepare(request, CancelSignal())
    assert prepared.plan.contract is contract


async def test_a_contract_without_a_schema_or_with_a_needless_one_is_refused(
    engine: Engine,
) -> None:
    """OUT-1, ENG-1."""
    schema = Json.of({"type": "string"})
    for contract, why in (
        (Contract(format=Format.SCHEMA), "is missing"),
        (Contract(format=Format.TEXT, schema=schema), "the format is text"),
    ):
        request = RunRequest(prompt_id="ask", variables={"text": "x"}, output=contract)
        with pytest.raises(ContractInvalid, match=rf"output\.schema: .*{why}"):
            await engine.prepare(request, CancelSignal())


async def test_a_contract_that_cannot_be_used_is_refused_at_preparation(engine: Engine) -> None:
    """ENG-1, ENG-5: nothing is sent."""
    for schema in ({"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/other.json"}):
        contract = Contract(format=Format.SCHEMA, schema=Json.of(schema))
        request = RunRequest(prompt_id="ask", variables={"text": "x"}, output=contract)
        with pytest.raises(ContractInvalid, match=r"output\.schema"):
            await engine.prepare(request, CancelSignal())


async def test_parameters_of_the_request_override_one_by_one(engine: Engine) -> None:
    """ENG-2, ENG-4."""
    request = RunRequest(
        prompt_id="ask", variables={"text": "x"}, parameters=Parameters(temperature=1, seed=3)
    )
    plan = (await engine.prepare(request, CancelSignal())).plan
    assert (plan.parameters.temperature, plan.parameters.max_tokens, plan.parameters.seed) == (
        1,
        9,
        3,
    )


async def test_another_engine_continues_after_the_first_has_closed(
    engine: Engine, tmp_path: Path
) -> None:
    """OWN-3, OWN-4."""
    source = await captured(engine)
    gone = weakref.ref(engine)
    await engine.close()
    with pytest.raises(EngineNotFound):
        await run(engine, ask("x"))
    other = Engine.open(workspace(tmp_path / "other"), services=system.services())
    result = await run(other, more(source, "two"))
    assert result.exchange is not None
    assert contents(result.exchange)[:3] == contents(source)
    assert gone() is engine
    await other.close()


async def test_an_exchange_keeps_no_engine_alive(tmp_path: Path) -> None:
    """OWN-4, OWN-5."""
    engine = Engine.open(workspace(tmp_path), services=system.services())
    source = await captured(engine)
    await engine.close()
    gone = weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None
    assert source.content == "one"


async def test_continuing_needs_no_earlier_template_or_input(tmp_path: Path) -> None:
    """OWN-2: they have gone, and another text stands in their place."""
    workspace(tmp_path)
    file(tmp_path, "data/report.txt", "as it was")
    study = """
    profile: second
    inputs: {report: {file: "data/{{ name }}.txt"}}
    messages: [{role: user, content: "{{ inputs.report }}"}]
    """
    path = file(tmp_path, "prompts/study.prompt.yaml", study)
    engine = Engine.open(tmp_path, services=system.services())
    request = RunRequest(prompt_id="study", variables={"name": "report"}, capture=True)
    source = (await run(engine, request)).exchange
    assert source is not None
    path.unlink()
    file(tmp_path, "data/report.txt", "changed")
    result = await run(engine, more(source, "two"))
    assert result.exchange is not None
    assert contents(result.exchange)[0] == ("user", "as it was")
    with pytest.raises(PromptNotFound):
        await run(engine, request)
    await engine.close()


async def test_execution_sends_what_was_prepared_whatever_changed_since(tmp_path: Path) -> None:
    """ENG-1, CAP-3: files are read at preparation, and preparing alone makes no exchange."""
    workspace(tmp_path)
    engine = Engine.open(tmp_path, services=system.services())
    prepared = await engine.prepare(ask("before"), CancelSignal())
    file(tmp_path, "prompts/ask.prompt.yaml", MORE)
    result = await engine.execute(prepared, CancelSignal())
    assert result.exchange is not None
    assert contents(result.exchange) == [
        ("system", "rules"),
        ("user", "before"),
        ("assistant", "before"),
    ]
    await engine.close()


async def test_a_prepared_execution_is_executed_once(engine: Engine) -> None:
    """OWN-6, GRP-2: the second claim emits nothing and joins nothing."""
    group, seen = Group(), Record()
    request = RunRequest(prompt_id="ask", variables={"text": "x"}, observers=(group, seen))
    prepared = await engine.prepare(request, CancelSignal())
    discarded = await engine.prepare(request, CancelSignal())
    discarded.claim()
    assert group.snapshot().runs == ()
    await engine.execute(prepared, CancelSignal())
    events = len(seen.events)
    for handle in (prepared, discarded):
        with pytest.raises(PreparedClaimed, match="was executed or discarded before"):
            await engine.execute(handle, CancelSignal())
    assert len(seen.events) == events
    assert len(group.snapshot().runs) == 1


async def test_many_branches_share_one_history(engine: Engine) -> None:
    """OWN-7, OWN-1: every branch holds the same segments, not copies of them."""
    source = await captured(engine)
    results = await asyncio.gather(*(run(engine, more(source, str(n))) for n in range(20)))
    for number, result in enumerate(results):
        assert result.exchange is not None
        segments = result.exchange.history.segments()
        assert segments[1] is source.history
        assert [m.content for m in result.exchange.history][3:] == [
            "note",
            str(number),
            str(number),
        ]
