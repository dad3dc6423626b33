"""What was measured or tried, told at the end of the test run and never asserted."""

import pytest

_FIGURES: list[str] = []


def tell(line: str) -> None:
    """Keeps a line for the end."""
    _FIGURES.append(line)


def megabytes(size: int) -> str:
    """A size in words."""
    return f"{size / 1_000_000:.1f} MB"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints them."""
    if _FIGURES:
        terminalreporter.section("figures")
        for line in _FIGURES:
            terminalreporter.line(line)
