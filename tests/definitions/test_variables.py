"""Declared variables: what a declaration may say, and what values must keep to."""

from typing import Any

import pytest

from promptkit_rpc.definitions.variables import with_defaults
from tests.support.definitions import PROMPT_FILE, good_prompt, prompt_of

ONE = "messages: [{role: user, content: hi}]\n"


def filled(declared: str, **given: Any) -> tuple[dict[str, Any], str | None]:
    values, fault = with_defaults(good_prompt(f"variables: {declared}\n{ONE}").variables, given)
    return values, None if fault is None else fault[0]


Case = tuple[str, list[Any], list[Any], str]
CASES: list[Case] = [
    ("{type: string}", ["", "x"], [1, None, ["x"]], "must be text"),
    ("{type: integer}", [0, -5, 10**30, 2.0], [True, 1.5, "1", None], "must be an integer"),
    ("{type: number}", [1, 0.5], [True, "1"], "must be a number"),
    ("{type: boolean}", [True, False], [0, 1, "true"], "must be true or false"),
    ("{type: array}", [[], [1]], ["x", {}], "must be a list"),
    ("{type: object}", [{}, {"a": 1}], [[], "x"], "must be a mapping"),
    ("{type: 'null'}", [None], [0, ""], "must be null"),
    ("{type: [string, 'null']}", ["x", None], [1], "does not fit: "),
    ("{enum: [low, high]}", ["low"], ["mid", 1], "does not fit: "),
    ("{type: integer, minimum: 2}", [2], [1], "does not fit: "),
    ("{type: array, items: {type: string}}", [["a"]], [["a", 1]], "does not fit: "),
]


@pytest.mark.parametrize(("schema", "fits", "not_fits", "words"), CASES)
def test_values_keep_to_the_declaration(
    schema: str, fits: list[Any], not_fits: list[Any], words: str
) -> None:
    for value in fits:
        assert filled(f"{{v: {schema}}}", v=value) == ({"v": value}, None)
    for value in not_fits:
        fault = filled(f"{{v: {schema}}}", v=value)[1]
        assert fault is not None
        assert fault.startswith(f"the variable 'v' {words}")


def test_a_declaration_that_says_nothing_takes_anything() -> None:
    values: list[Any] = ["x", 1, None, [{}]]
    for value in values:
        assert filled("{v: , w: {description: x}}", v=value, w=value)[1] is None


def test_defaults_fill_in_what_is_left_out_and_are_made_anew() -> None:
    declared = (
        "{a: {type: array, default: [1]}, b: {default: null}, c: {type: integer, default: 2}}"
    )
    first, fault = filled(declared, c=3)
    assert (first, fault) == ({"a": [1], "b": None, "c": 3}, None)
    first["a"].append(2)
    assert filled(declared)[0]["a"] == [1]


def test_a_declared_variable_without_a_default_is_needed() -> None:
    """P-01."""
    assert filled("{a: {type: string}}")[1] == (
        "the variable 'a' is not set; give it text in `variables`"
    )
    assert filled("{a: {enum: [1]}}")[1] == (
        "the variable 'a' is not set; give it a value in `variables`"
    )


def test_variables_that_are_not_declared_are_accepted() -> None:
    assert filled("{a: {default: 1}}", z=5) == ({"a": 1, "z": 5}, None)


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("[a]", "1:12: 'variables' must be a mapping of names; this is a list"),
        ("{a b: {}}", "1:13: 'a b' cannot be a variable's name; letters, digits and _ only"),
        ("{inputs: {}}", "1:13: 'inputs' cannot be a variable's name, it stands for the inputs"),
        ("{a: string}", "1:16: the variable 'a' must be a mapping, not text"),
        ("{a: {type: strng}}", "1:16: 'strng' is no type of JSON Schema; did you mean 'string'?"),
        ("{a: {type: integer, minimum: x}}", "1:16: "),
        ("{a: {type: integer, default: x}}", "1:41: the default must be an integer"),
        ("{a: {minimum: 2, default: 1}}", "1:38: the default does not fit: "),
        ("{a: {default: .inf}}", "1:26: JSON has no infinite numbers and no NaN"),
    ],
)
def test_what_a_declaration_may_not_say(declared: str, problem: str) -> None:
    """SEC-4."""
    prompt, problems = prompt_of(f"variables: {declared}\n{ONE}")
    assert prompt is None
    assert len(problems) == 1
    assert problems[0].startswith(f"{PROMPT_FILE}:{problem}")
