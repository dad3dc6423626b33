"""What a validator may have to say is told before it is asked."""

from typing import Any

import pytest

from promptkit_rpc.jsontext import Json, encode
from promptkit_rpc.output.contract import Contract, Format, Status
from promptkit_rpc.output.validate import validate, validate_value
from promptkit_rpc.output.weight import heavy

ITSELF = {"$ref": "#/$defs/node"}
TREE = {
    "$defs": {"node": {"type": "array", "anyOf": [{"items": ITSELF}, {"items": ITSELF}]}},
    "$ref": "#/$defs/node",
}
PERSON = {
    "$defs": {
        "place": {
            "type": "object",
            "properties": {"street": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            "required": ["street"],
        }
    },
    "type": "object",
    "properties": {"name": {"type": "string"}, "homes": {"items": {"$ref": "#/$defs/place"}}},
}


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def doubling(levels: int) -> dict[str, Any]:
    """A schema of no depth that says the same twice, and that twice, and so on."""
    parts: dict[str, Any] = {
        f"p{i}": {"allOf": [{"$ref": f"#/$defs/p{i + 1}"}] * 2} for i in range(levels)
    }
    return {"$defs": {**parts, f"p{levels}": {"type": "null"}}, "$ref": "#/$defs/p0"}


@pytest.mark.parametrize(
    ("schema", "value", "is_heavy"),
    [
        (TREE, nested(6), False),
        (TREE, nested(40), True),
        (PERSON, {"name": 1, "homes": [{"street": 1}] * 50}, False),
        ({"items": {"anyOf": [{"const": i} for i in range(500)]}}, [-1] * 8000, True),
        ({"items": {"anyOf": [{"const": i} for i in range(500)]}}, [-1] * 20, False),
        (doubling(4), 1, False),
        (doubling(40), 1, True),
        ({"$ref": "#"}, 1, True),
        ({"$defs": {"a": {"$anchor": "a"}}, "$ref": "#a"}, 1, True),
        ({"items": {"type": "string"}}, [1] * 40_000, True),
        (False, [1], False),
    ],
)
def test_what_may_be_too_much_to_list_is_known(schema: Any, value: Any, *, is_heavy: bool) -> None:
    """SEC-4, OUT-2."""
    assert heavy(Json.of(schema), encode(value)) is is_heavy


async def test_an_answer_with_more_errors_than_can_be_listed_holds_up_nobody() -> None:
    """SEC-4: it is found invalid, and not in this process."""
    contract = Contract(format=Format.SCHEMA, schema=Json.of(TREE))
    verdict = await validate(contract, encode(nested(12)).decode(), "stop", None)
    assert verdict.status is Status.INVALID
    assert verdict.violations[0].keyword == "anyOf"


def test_a_variable_with_more_errors_than_can_be_listed_is_refused_at_once() -> None:
    """SEC-4."""
    assert validate_value(Json.of(TREE), nested(60)) == [
        "it breaks its schema in more ways than can be listed"
    ]
