"""Which schemas a provider is asked to hold, and that the contract stays as authored."""

import json
from typing import Any

import pytest

from promptkit_rpc.backends.schemas import anthropic_format, instruction, openai_format
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import TEXT
from tests.support.calls import NAME_AND_NUMBER, schema

S12 = {
    "type": "object",
    "oneOf": [
        {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"properties": {"b": {"type": "string"}}, "required": ["b"]},
    ],
}


def openai(value: Any) -> Any:
    form = openai_format(Json.of(value).text)
    return None if form is None else json.loads(form)["json_schema"]


def anthropic(value: Any) -> Any:
    form = anthropic_format(Json.of(value).text)
    return None if form is None else json.loads(form)["schema"]


def with_n(**n: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"n": n},
        "required": ["n"],
        "additionalProperties": False,
    }


DEFS = {"$defs": {"x": {"enum": [1]}}}
SCHEMAS: list[tuple[Any, bool]] = [
    (NAME_AND_NUMBER, True),
    ({**NAME_AND_NUMBER, "$schema": "https://json-schema.org/draft/2020-12/schema"}, True),
    (
        with_n(anyOf=[{"type": "null"}, {"$ref": "#/$defs/x"}]) | {"$defs": {"x": {"enum": [1]}}},
        True,
    ),
    ({**NAME_AND_NUMBER, "required": ["name"]}, False),
    ({k: v for k, v in NAME_AND_NUMBER.items() if k != "additionalProperties"}, False),
    (with_n(type="string", pattern="a"), False),
    (with_n(type="object", properties={"x": {}}, required=["x"]), False),
    (with_n(items={"type": "object", "properties": {"x": {}}}), False),
    (with_n(), False),
    (with_n(type="array"), False),
    (with_n(type="array", items={"type": ["string", "null"]}), True),
    (S12, False),
    ({"type": "object"}, False),
]


@pytest.mark.parametrize(("value", "strict"), SCHEMAS)
def test_strictness_is_asked_for_only_where_the_schema_keeps_to_it(
    value: Any, *, strict: bool
) -> None:
    """OUT-4, S-12: what is sent is the schema as authored."""
    made = openai(value)
    assert made["strict"] is strict
    assert made["schema"] == {k: v for k, v in value.items() if k != "$schema"}


@pytest.mark.parametrize(
    "value", [True, False, {}, {"type": "array"}, {"enum": [1]}, {"oneOf": []}]
)
def test_a_root_that_is_no_object_is_not_sent_natively(value: Any) -> None:
    assert openai(value) is None
    assert anthropic(value) is None


def test_a_property_named_like_a_keyword_is_no_keyword() -> None:
    named = {
        "type": "object",
        "properties": {"pattern": {"type": "string"}, "$schema": {"enum": [{"oneOf": 1}]}},
        "required": ["pattern", "$schema"],
        "additionalProperties": False,
    }
    assert openai(named)["strict"] is True
    assert anthropic(named) == named


def test_what_a_provider_cannot_check_is_left_to_validation() -> None:
    """OUT-4: less is checked there, nothing is changed here."""
    made = anthropic(with_n(type="integer", minimum=1, maximum=9, default=3))
    assert made == with_n(type="integer")


def test_an_open_object_is_closed_only_where_nothing_else_describes_it() -> None:
    """S-12: every answer to what is sent is an answer to the contract."""
    open_ = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert anthropic(open_) == {**open_, "additionalProperties": False}
    assert anthropic(with_n(**open_)) == with_n(**open_, additionalProperties=False)
    assert anthropic(S12) is None
    assert anthropic({**open_, "anyOf": [{"required": ["n"]}]}) is None
    assert anthropic({**open_, "additionalProperties": True}) is None
    assert anthropic({"type": "object"}) is None
    assert anthropic(with_n(patternProperties={})) is None
    assert anthropic(with_n()) is None
    assert anthropic(with_n(type="array", items=True)) is None


def test_a_schema_that_leads_back_to_itself_is_put_in_words() -> None:
    def with_defs(**defs: Any) -> dict[str, Any]:
        return with_n(**{"$ref": "#/$defs/a"}) | {"$defs": defs}

    closed = {"type": "object", "additionalProperties": False}
    to_b = {**closed, "properties": {"b": {"$ref": "#/$defs/b"}}}
    assert anthropic(with_defs(a=to_b, b={"type": "null"})) is not None
    assert anthropic(with_defs(a=to_b, b={"anyOf": [{"$ref": "#/$defs/a"}]})) is None
    assert anthropic(with_n(**{"$ref": "#"})) is None


def test_a_contract_in_words_holds_its_schema_as_authored() -> None:
    words = instruction(schema(S12))
    assert words is not None
    assert json.loads(words.partition("\n")[2]) == S12
    assert instruction(TEXT) is None
