"""Patterns whose cost is not linear: tried further elsewhere, and never guessed about."""

import json
from typing import Any

import pytest

from promptkit_rpc.jsontext import Json
from promptkit_rpc.output import validate as validate_module
from promptkit_rpc.output.contract import Contract, Format, Status, Validation
from promptkit_rpc.output.validate import validate, validate_value

NO_RUN_OF_FIVE = r"^(?!.*(.)\1\1\1\1)"
NO_LINE_STARTS_SO = r"(?<=x)y"
FOUR_TIMES_THE_SAME = r"^(.+)\1{3}$"
ENDLESS = r"(a*)*\1c"


async def verdict(schema: Any, text: str) -> Validation:
    contract = Contract(format=Format.SCHEMA, schema=Json.of(schema))
    return await validate(contract, json.dumps(text), "stop", None)


@pytest.mark.parametrize("length", [300, 21_000, 300_000])
async def test_a_long_text_that_fits_a_pattern_is_valid(length: int) -> None:
    """S-14: whatever it takes to see it."""
    found = await verdict({"pattern": NO_RUN_OF_FIVE}, "ab " * (length // 3))
    assert found.status is Status.VALID
    found = await verdict({"pattern": NO_LINE_STARTS_SO}, "ab " * (length // 3))
    assert [one.keyword for one in found.violations] == ["pattern"]


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"not": {"pattern": FOUR_TIMES_THE_SAME}}, "not"),
        ({"if": {"pattern": FOUR_TIMES_THE_SAME}, "then": False}, "then"),
        ({"oneOf": [{"pattern": FOUR_TIMES_THE_SAME}, True]}, "oneOf"),
    ],
)
async def test_what_a_keyword_makes_of_a_pattern_rests_on_the_whole_text(
    schema: Any, keyword: str
) -> None:
    """S-14."""
    text = "ab" * 600
    found = await verdict(schema, text)
    assert (found.status, found.violations[0].keyword) == (Status.INVALID, keyword)
    assert (await verdict(schema, text + "x")).status is Status.VALID


async def test_a_pattern_without_an_end_is_given_up_and_not_called_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S-14."""
    monkeypatch.setattr(validate_module, "_BACKTRACKS", 100_000)
    schema = Json.of({"pattern": ENDLESS})
    found = validate_module.check(schema, json.dumps("a" * 40))
    assert [(one.keyword, one.schema_path) for one in found.violations] == [
        ("unchecked", "/pattern")
    ]


def test_a_long_value_is_tried_further_too() -> None:
    """P-01: a declared variable's."""
    assert validate_value(Json.of({"pattern": NO_RUN_OF_FIVE}), "ab " * 30_000) == []
