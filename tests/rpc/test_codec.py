"""Wire types read strictly, sent completely, and refused in words."""

from collections.abc import Iterator
from typing import Any, get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.conversation.message import Role
from promptkit_rpc.rpc.codec import FAILURES, structure, unstructure
from promptkit_rpc.rpc.faults import MAX_FAULTS, faults
from promptkit_rpc.rpc.protocol.base import MAX_INTEGER, Empty, wire_name
from promptkit_rpc.rpc.protocol.coordination import (
    ContinueAction,
    NextResult,
    StopAction,
)
from promptkit_rpc.rpc.protocol.host import GenerateResult
from promptkit_rpc.rpc.protocol.message import Message, OutputContract, Parameters
from promptkit_rpc.rpc.protocol.methods import METHODS
from promptkit_rpc.rpc.protocol.observation import Observation, RunStarted
from promptkit_rpc.rpc.protocol.run import Ref, RunParams
from promptkit_rpc.rpc.protocol.usage import TokenTotal


def refusal(value: Any, wire_type: Any = RunParams) -> str:
    with pytest.raises(FAILURES):
        structure(value, wire_type)
    return "; ".join(map(str, faults(value, wire_type, "params")))


def wire_classes() -> Iterator[type[Any]]:
    """Every class that a method's params or result is made of."""
    todo: list[Any] = [one for method in METHODS for one in (method.params, method.result)]
    seen: set[Any] = set()
    while todo:
        found = todo.pop()
        if isinstance(found, type) and attrs.has(found):
            if found in seen:
                continue
            seen.add(found)
            todo += [field.type for field in attrs.fields(found)]
            yield found
        else:
            todo += get_args(found)


def test_a_field_is_required_or_may_be_absent_and_null_and_nothing_else() -> None:
    for cls in wire_classes():
        for field in attrs.fields(cls):
            constant = isinstance(field.default, str | bool)
            assert field.default in (attrs.NOTHING, None) or constant, (cls, field.name)


def test_names_are_camel_case_on_the_wire_by_one_rule() -> None:
    assert wire_name("parent_run_id") == "parentRunId"
    assert wire_name("content") == "content"
    assert wire_name("_meta") == "_meta"


def test_every_field_of_a_request_is_read() -> None:
    """ENG-4."""
    given_: dict[str, Any] = {
        "engineId": "default",
        "promptId": "a/b",
        "variables": {"my-key": {"deep": [1, None, {"jsonrpc": "2.0"}]}},
        "profile": "p",
        "parameters": {
            "temperature": 0,
            "maxTokens": 5,
            "topP": 0.5,
            "stop": ["END"],
            "seed": 12345678901234567890,
            "extra": {"logit_bias": {}},
        },
        "output": {"format": "schema", "schema": {"type": "object"}, "repairs": 2},
        "sessionId": "s",
        "messages": [{"role": "user", "content": "hi", "cache": {"type": "ephemeral"}}],
        "credential": "sk-canary",
        "capture": True,
        "continueFrom": "run-1",
        "groups": ["g"],
        "observe": 7,
        "partialResultToken": "t",
        "workDoneToken": "w",
        "timeoutMs": 1000,
        "_meta": [1, {"x": 2}],
    }
    params = structure(given_, RunParams)
    assert {wire_name(field.name) for field in attrs.fields(RunParams)} == set(given_)
    assert unstructure(params) == given_
    assert params.variables is given_["variables"]
    assert params.parameters == Parameters(
        temperature=0,
        max_tokens=5,
        top_p=0.5,
        stop=("END",),
        seed=12345678901234567890,
        extra={"logit_bias": {}},
    )


def test_optional_fields_may_be_absent_or_null() -> None:
    names = [wire_name(field.name) for field in attrs.fields(RunParams)]
    nulls = dict.fromkeys(names) | {"promptId": "p"}
    assert structure(nulls, RunParams) == structure({"promptId": "p"}, RunParams)


def test_what_is_none_is_left_out_and_what_is_unknown_is_null() -> None:
    """USE-1."""
    assert unstructure(Ref(run_id="r")) == {"runId": "r"}
    assert unstructure(TokenTotal(None, complete=False)) == {"value": None, "complete": False}
    assert unstructure(TokenTotal(0, complete=True)) == {"value": 0, "complete": True}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"promptId": 5}, "params.promptId: expected a string, got an integer"),
        ({"promptId": None}, "params.promptId: expected a string, got null"),
        ({}, "params.promptId: is required"),
        ([], "params.promptId: is required"),
        ({"promptId": "p", "capture": 1}, "params.capture: expected a boolean, got an integer"),
        (
            {"promptId": "p", "timeoutMs": True},
            "params.timeoutMs: expected an integer, got a boolean",
        ),
        (
            {"promptId": "p", "timeoutMs": 1.0},
            "params.timeoutMs: expected an integer, got a number",
        ),
        (
            {"promptId": "p", "timeoutMs": "5"},
            "params.timeoutMs: expected an integer, got a string",
        ),
        ({"promptId": "p", "timeoutMs": 0}, "params.timeoutMs: must be at least 1"),
        (
            {"promptId": "p", "parameters": {"topP": 2}},
            "params.parameters.topP: must be at most 1",
        ),
        (
            {"promptId": "p", "parameters": {"temperature": -1}},
            "params.parameters.temperature: must be at least 0",
        ),
        (
            {"promptId": "p", "timeoutMs": 10**400},
            f"params.timeoutMs: must be at most {MAX_INTEGER}",
        ),
        (
            {"promptId": "p", "parameters": {"temperature": True}},
            "params.parameters.temperature: expected a number, got a boolean",
        ),
        (
            {"promptId": "p", "parameters": {"temprature": 1}},
            "params.parameters.temprature: unknown field, did you mean temperature",
        ),
        ({"promptId": "p", "zzz": 1}, "params.zzz: unknown field"),
        (
            {"promptId": "p", "messages": [{"role": "human", "content": "x"}]},
            "params.messages[0].role: not one of system, developer, user, assistant",
        ),
        (
            {"promptId": "p", "messages": {"role": "user"}},
            "params.messages: expected an array, got an object",
        ),
        ({"promptId": "p", "variables": [1]}, "params.variables: expected an object, got an array"),
        (
            {"promptId": "p", "observe": 1.5},
            "params.observe: expected a string or an integer, got a number",
        ),
        (
            {"promptId": "p", "output": {"format": "schema", "schema": 5}},
            "params.output.schema: expected an object or a boolean, got an integer",
        ),
        (7, "params: expected an object, got an integer"),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_path(value: Any, told: str) -> None:
    assert refusal(value) == told


def test_every_fault_is_told_up_to_a_bound() -> None:
    two = refusal({"promptId": 1, "capture": 2})
    assert two == (
        "params.promptId: expected a string, got an integer; "
        "params.capture: expected a boolean, got an integer"
    )
    many = {"promptId": "p"} | {f"field{n}": n for n in range(100)}
    assert len(faults(many, RunParams, "params")) == MAX_FAULTS


def test_a_refusal_quotes_no_value_and_shortens_names() -> None:
    """SEC-1."""
    told = refusal({"promptId": "p", "credential": ["sk-canary"], "x" * 5000: 1})
    assert "canary" not in told
    assert len(told) < 300


def test_an_empty_array_is_an_empty_object_wherever_an_object_is_due() -> None:
    params = structure(
        {
            "promptId": "p",
            "variables": [],
            "parameters": [],
            "output": {"format": "schema", "schema": []},
        },
        RunParams,
    )
    assert params.variables == {}
    assert params.parameters == Parameters()
    assert params.output.schema == {}
    assert structure([], Empty) == Empty()


def test_a_union_is_told_apart_by_its_tag() -> None:
    chosen = structure({"action": "continue", "request": {"promptId": "p"}}, NextResult)
    assert chosen == ContinueAction(request=RunParams(prompt_id="p"))
    assert structure({"action": "stop", "_meta": 1}, NextResult) == StopAction(meta=1)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "params: expected an object, got null"),
        ({}, "params.action: is required"),
        ({"action": "go"}, "params.action: not one of continue, stop"),
        ({"action": ["stop"]}, "params.action: not one of continue, stop"),
        ({"action": "continue"}, "params.request: is required"),
        ({"action": "stop", "request": {}}, "params.request: unknown field"),
        (
            {"action": "continue", "request": {"promptid": "p"}},
            (
                "params.request.promptid: unknown field, did you mean promptId; "
                "params.request.promptId: is required"
            ),
        ),
    ],
)
def test_a_malformed_action_is_refused(value: Any, told: str) -> None:
    assert refusal(value, NextResult) == told


def test_a_host_may_report_any_usage_and_what_is_no_count_is_let_through() -> None:
    result = structure(
        {"content": "x", "usage": {"inputTokens": -1, "totalTokens": "9"}}, GenerateResult
    )
    assert result.usage.input_tokens == -1


def test_a_repr_shows_no_credential_and_no_content() -> None:
    """SEC-1."""
    message = Message(role=Role.USER, content="canary")
    params = RunParams(prompt_id="p", credential="sk-canary", messages=(message,))
    assert "canary" not in repr(params)
    assert "canary" not in repr(params.messages)


def test_an_event_is_sent_with_its_kind() -> None:
    event = RunStarted(time=1.5, prompt_id="p", profile="f", backend="b", model="m")
    sent = unstructure(Observation(token="t", run_id="r", seq=0, event=event))
    assert sent == {
        "token": "t",
        "runId": "r",
        "seq": 0,
        "event": {
            "kind": "runStarted",
            "time": 1.5,
            "promptId": "p",
            "profile": "f",
            "backend": "b",
            "model": "m",
        },
    }


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(0, 1), st.sampled_from(["user", "json"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(["role", "content", "format", "topP", "stop", "schema", "x"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)
FIELDS = [wire_name(field.name) for field in attrs.fields(RunParams)]


@given(st.dictionaries(st.sampled_from([*FIELDS, "unknown"]), VALUES, max_size=6))
def test_the_fast_way_refuses_exactly_what_has_a_fault(value: dict[str, Any]) -> None:
    try:
        structure(value, RunParams)
    except FAILURES:
        assert faults(value, RunParams, "params")
    else:
        assert not faults(value, RunParams, "params")


def test_an_output_contract_reads_a_boolean_schema() -> None:
    contract = structure({"format": "schema", "schema": False}, OutputContract)
    assert contract.schema is False
