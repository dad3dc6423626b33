"""Templates that are rendered without the engine give what the engine gives."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.definitions.sandbox.budget import BUDGET, Budget, TemplateFault
from promptkit_rpc.definitions.sandbox.engine import Engine, SyntaxFault, run
from promptkit_rpc.definitions.sandbox.simple import fill, names_of, plan_of

PIECES = [
    *("{{", "}}", "{{ ", " }}", "{", "}", "{%", "%}", "{#", "#}", "{{-", "-}}"),
    *("a", "b", "c", ".", "a.b", "d.k", "d.items", "items", "true", "none", "range", "loop"),
    *(" ", "\n", "\r\n", "\r", "\t", "\x1c", "\u2028", "é", "x|e", "1", "'", "raw", "text"),
]
VALUES: list[Any] = ["", "v", "{{ b }}", "\r\n", 1, -0.5, True, None, {"b": 2, "k": "x"}, [1], "é"]


def nothing(_: str) -> tuple[str, Any]:
    raise AssertionError("nothing is included here")


ENGINE = Engine(nothing)


def by_engine(source: str, variables: dict[str, Any]) -> str | None:
    token = BUDGET.set(Budget())
    try:
        return run(ENGINE.compile(source), variables)
    except (TemplateFault, SyntaxFault):
        return None
    finally:
        BUDGET.reset(token)


@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from(VALUES)),
)
def test_a_simple_template_gives_what_the_engine_gives(
    source: str, variables: dict[str, Any]
) -> None:
    plan = plan_of(source)
    if plan is not None:
        text = fill(plan, variables)
        if text is not None:
            assert text == by_engine(source, variables)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_what_is_no_template_is_not_taken_for_a_simple_one(source: str) -> None:
    if plan_of(source) is not None:
        ENGINE.check(source)


@pytest.mark.parametrize(
    "source",
    [
        "{{ a|e }}",
        "{{ a }",
        "{{{ a }}}",
        "{{ true }}",
        "{{ range }}",
        "{% if a %}",
        "{# #}",
        "{{}}",
    ],
)
def test_the_rest_is_left_to_the_engine(source: str) -> None:
    assert plan_of(source) is None


def test_values_that_are_not_plainly_text_are_left_to_the_engine() -> None:
    plan = plan_of("{{ a.b }}")
    assert plan is not None
    assert names_of(plan) == {"a"}
    for value in ({}, {"b": [1]}, {"b": 1 << 20_000}, "text", None):
        assert fill(plan, {"a": value}) is None
    assert fill(plan, {}) is None
    items = plan_of("{{ a.items }}")
    assert items is not None
    assert fill(items, {"a": {"items": 1}}) is None
