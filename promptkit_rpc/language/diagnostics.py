"""Problems of definition files as an editor shows them. Knows no message and no file system."""

import re

from lsprotocol import types

from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.secret import known

SOURCE = "promptkit"

_LINE_END = re.compile("\r\n|\r|\n")
_MARK = "\ufeff"


class Lines:
    """A text's lines, to turn places in it into an editor's: from 0, in UTF-16 code units.

    A byte-order mark belongs to no line's columns, but takes up one of the editor's.
    """

    def __init__(self, text: str) -> None:
        self._first = int(text.startswith(_MARK))
        self._lines = _LINE_END.split(text.removeprefix(_MARK))

    def position(self, line: int, column: int | None) -> types.Position:
        """The position of a line and column that count from 1; None is the end of the line.

        A place outside the text is moved to the nearest one inside.
        """
        if line > len(self._lines):
            line, column = len(self._lines), None
        index = max(line, 1) - 1
        text = self._lines[index]
        before = text if column is None else text[: max(column, 1) - 1]
        units = len(before) + sum(char > "\uffff" for char in before)
        return types.Position(index, units + (self._first if index == 0 else 0))


def diagnostic(problem: Problem, lines: Lines) -> types.Diagnostic:
    """One problem in the text of its file; what it says is free of credentials."""
    place = problem.location
    line = place.line or 1
    start = lines.position(line, place.column or 1)
    end = lines.position(problem.end_line or line, problem.end_column)
    if (end.line, end.character) < (start.line, start.character):
        end = start
    return types.Diagnostic(
        range=types.Range(start, end),
        message=known().text(problem.message).encode(errors="replace").decode(),
        severity=types.DiagnosticSeverity.Error,
        code=problem.code,
        source=SOURCE,
    )
