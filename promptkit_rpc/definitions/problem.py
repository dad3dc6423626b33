"""What is wrong in a definition file, with its place."""

from attrs import frozen

from promptkit_rpc.errors import Location

MAX_PROBLEMS = 100
"""How many problems of one file are reported."""


@frozen
class Span:
    """A stretch of a file; lines and columns count from 1, in characters, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@frozen(kw_only=True)
class Problem:
    """What is wrong, where, and what to do about it.

    `path` holds the keys that lead to the place, `code` a stable word for the kind of problem.
    Without an end the problem reaches to the end of its line.
    """

    location: Location
    message: str
    end_line: int | None = None
    end_column: int | None = None
    code: str | None = None
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.location}: {self.message}"


class Problems:
    """Collects the problems of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []
        self.count = 0

    def add(
        self, span: Span, message: str, *, code: str | None = None, path: tuple[str, ...] = ()
    ) -> None:
        """One more, at a span of this file."""
        self.include(
            Problem(
                location=Location(self.file, span.line, span.column),
                message=message,
                end_line=span.end_line,
                end_column=span.end_column,
                code=code,
                path=path,
            )
        )

    def include(self, problem: Problem) -> None:
        """One more, which may lie in another file."""
        self.count += 1
        if self.count <= MAX_PROBLEMS:
            self.found.append(problem)

    def all(self) -> tuple[Problem, ...]:
        """Those found, in the order found."""
        return tuple(self.found)
