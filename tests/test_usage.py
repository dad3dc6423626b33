"""Token counts: unknown is no zero, subtotals say so, a run's usage is its own."""

from typing import Any

import pytest
from attrs import asdict, fields
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.usage import UNKNOWN, TokenCounts, Total, Usage, count

FIELDS = tuple(one.name for one in fields(Usage))

counts = st.none() | st.integers(min_value=0, max_value=10**30)
attempts = st.lists(st.builds(TokenCounts, **dict.fromkeys(FIELDS, counts)), max_size=8)


def total(values: list[int | None]) -> Total:
    """The rule of USE-2, said once more and simply."""
    known = [value for value in values if value is not None]
    return Total(sum(known) if known else None, len(known) == len(values))


def by_field(usage: Usage) -> dict[str, Total]:
    return {name: getattr(usage, name) for name in FIELDS}


@given(attempts)
def test_a_runs_usage_sums_its_attempts_field_by_field(given_attempts: list[TokenCounts]) -> None:
    """USE-1, USE-2."""
    expected = {name: total([getattr(a, name) for a in given_attempts]) for name in FIELDS}
    assert by_field(Usage.of_attempts(given_attempts)) == expected


@given(attempts, st.integers(min_value=0, max_value=8))
def test_sums_over_runs_are_sums_over_all_their_attempts(
    given_attempts: list[TokenCounts], cut: int
) -> None:
    """USE-2, GRP-6."""
    runs = Usage().with_run(Usage.of_attempts(given_attempts[:cut]))
    runs = runs.with_run(Usage.of_attempts(given_attempts[cut:]))
    assert runs == Usage.of_attempts(given_attempts)


@given(st.lists(attempts, max_size=4))
def test_the_order_of_runs_does_not_matter(runs: list[list[TokenCounts]]) -> None:
    """GRP-10."""

    def summed(order: list[list[TokenCounts]]) -> Usage:
        usage = Usage()
        for one in order:
            usage = usage.with_run(Usage.of_attempts(one))
        return usage

    assert summed(runs) == summed(runs[::-1])


def test_a_run_without_attempts_knows_nothing_and_misses_nothing() -> None:
    """USE-1, USE-2."""
    assert set(by_field(Usage()).values()) == {Total(None, complete=True)}


def test_an_unknown_attempt_makes_a_subtotal_and_a_zero_does_not() -> None:
    """USE-1, USE-2, U-02, U-13."""
    zero = TokenCounts.reported(input_tokens=0, output_tokens=0)
    assert Usage.of_attempts([zero]).input_tokens == Total(0, complete=True)
    assert Usage.of_attempts([UNKNOWN]).input_tokens == Total(None, complete=False)
    assert Usage.of_attempts([zero, UNKNOWN]).input_tokens == Total(0, complete=False)


def test_what_an_answer_counted_before_it_broke_off_is_a_subtotal() -> None:
    """USE-2: its input is known, of its output only the least that it was."""
    part = TokenCounts.reported(input_tokens=25, output_tokens=1, reasoning_tokens=0).of_a_part()
    usage = Usage.of_attempts([part])
    assert usage.input_tokens == Total(25, complete=True)
    assert usage.output_tokens == Total(1, complete=False)
    assert usage.total_tokens == Total(26, complete=False)
    assert usage.reasoning_tokens == Total(0, complete=False)
    assert TokenCounts().of_a_part() is UNKNOWN


def test_a_retry_adds_to_what_was_spent() -> None:
    """U-01."""
    usage = Usage.of_attempts(
        [
            TokenCounts.reported(input_tokens=100, output_tokens=10),
            TokenCounts.reported(input_tokens=130, output_tokens=12),
        ]
    )
    assert (usage.input_tokens, usage.output_tokens) == (Total(230), Total(22))
    assert usage.total_tokens == Total(252)
    assert usage.reasoning_tokens == Total(None, complete=False)


def test_adding_changes_nothing_that_was_there() -> None:
    """USE-3."""
    first = Usage.of_attempts([TokenCounts.reported(input_tokens=1)])
    first.with_attempt(TokenCounts.reported(input_tokens=5))
    first.with_run(first)
    assert first.input_tokens == Total(1)


@pytest.mark.parametrize("value", [0, 1, 10**30])
def test_a_non_negative_integer_is_a_count(value: int) -> None:
    """USE-1."""
    assert count(value) == value


@pytest.mark.parametrize("value", [None, -1, True, False, 1.0, "5", [], {}, float("nan")])
def test_anything_else_is_unknown(value: Any) -> None:
    """USE-1, U-02, U-04."""
    assert count(value) is None
    assert TokenCounts.reported(**dict.fromkeys(FIELDS, value)) == UNKNOWN


def test_a_missing_total_is_summed_where_both_parts_are_known() -> None:
    """U-04, U-11. A reported one stays as reported."""
    assert TokenCounts.reported(input_tokens=10, output_tokens=5).total_tokens == 15
    assert TokenCounts.reported(input_tokens=10).total_tokens is None
    assert TokenCounts.reported(output_tokens=5).total_tokens is None
    as_sent = TokenCounts.reported(input_tokens=2181, output_tokens=57, total_tokens=2518)
    assert as_sent.total_tokens == 2518
    assert TokenCounts.reported(total_tokens=7).input_tokens is None
    bad = TokenCounts.reported(input_tokens=2, output_tokens=3, total_tokens=-1)
    assert bad.total_tokens == 5


@given(attempts)
def test_usage_has_the_same_fields_as_what_it_sums(given_attempts: list[TokenCounts]) -> None:
    """USE-1."""
    assert set(asdict(Usage.of_attempts(given_attempts))) == set(FIELDS)


def test_every_count_of_a_report_is_kept_under_its_own_name() -> None:
    """USE-1, U-04."""
    given_counts = {name: number for number, name in enumerate(FIELDS, start=1)}
    assert asdict(TokenCounts.reported(**given_counts)) == {**given_counts, "cut_off": False}
    assert TokenCounts.reported() == UNKNOWN
