"""Places in a text, and problems as an editor shows them."""

import pytest
from lsprotocol import types

from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.errors import Location
from promptkit_rpc.language.diagnostics import Lines, diagnostic
from promptkit_rpc.secret import Secret

TEXT = "plain\na😀b\r\n日本\rend"


def at(text: str, line: int, column: int | None) -> tuple[int, int]:
    position = Lines(text).position(line, column)
    return position.line, position.character


def problem(
    message: str = "wrong",
    *,
    line: int | None = None,
    column: int | None = None,
    end_line: int | None = None,
    end_column: int | None = None,
) -> Problem:
    return Problem(
        location=Location("a", line, column),
        message=message,
        code="type",
        end_line=end_line,
        end_column=end_column,
    )


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        (1, 1, (0, 0)),
        (1, 6, (0, 5)),
        (2, 2, (1, 1)),  # before the emoji
        (2, 3, (1, 3)),  # after it: two units
        (2, 4, (1, 4)),
        (2, None, (1, 4)),  # a carriage return is no part of the line
        (3, 2, (2, 1)),  # one unit each
        (4, None, (3, 3)),
    ],
)
def test_columns_are_counted_in_utf_16_units_from_zero(
    line: int, column: int | None, expected: tuple[int, int]
) -> None:
    assert at(TEXT, line, column) == expected


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [(1, 99, (0, 5)), (99, 1, (3, 3)), (0, 0, (0, 0)), (99, None, (3, 3))],
)
def test_a_place_outside_the_text_is_moved_inside(
    line: int, column: int, expected: tuple[int, int]
) -> None:
    assert at(TEXT, line, column) == expected


def test_only_the_line_breaks_of_an_editor_end_a_line() -> None:
    assert at("a\u2028b\u0085c\x0cd\ne", 1, None) == (0, 7)


def test_a_byte_order_mark_takes_up_one_unit_of_the_first_line_only() -> None:
    assert at("\ufeffabc\ndef", 1, 2) == (0, 2)
    assert at("\ufeffabc\ndef", 2, 2) == (1, 1)


def test_a_problem_is_shown_with_its_range_code_severity_and_source() -> None:
    shown = diagnostic(problem(line=2, column=2, end_line=2, end_column=3), Lines(TEXT))

    assert shown == types.Diagnostic(
        range=types.Range(types.Position(1, 1), types.Position(1, 3)),
        message="wrong",
        severity=types.DiagnosticSeverity.Error,
        code="type",
        source="promptkit",
    )


def test_a_problem_without_an_end_reaches_to_the_end_of_its_line() -> None:
    shown = diagnostic(problem(line=2, column=2), Lines(TEXT))
    assert (shown.range.end.line, shown.range.end.character) == (1, 4)


def test_a_problem_without_a_place_is_shown_on_the_first_line() -> None:
    shown = diagnostic(problem(), Lines(TEXT))
    assert shown.range == types.Range(types.Position(0, 0), types.Position(0, 5))


def test_an_end_before_the_start_gives_an_empty_range() -> None:
    shown = diagnostic(problem(line=2, column=3, end_line=1, end_column=1), Lines(TEXT))
    assert shown.range.start == shown.range.end == types.Position(1, 3)


def test_no_credential_is_shown() -> None:
    """SEC-1."""
    key = Secret("canary-0123456789")
    shown = diagnostic(problem(f"'{key.reveal()}' is not a key here"), Lines(TEXT))
    assert shown.message == "'***' is not a key here"


def test_a_name_that_is_no_text_is_still_shown() -> None:
    shown = diagnostic(problem("the file \udcff is not read"), Lines(TEXT))
    assert shown.message == "the file ? is not read"
