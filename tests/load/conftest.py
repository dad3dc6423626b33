"""Tells what the load tests measured."""

import pytest

from tests.load.figures import FIGURES


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the figures."""
    if FIGURES:
        terminalreporter.section("figures under load")
        for line in FIGURES:
            terminalreporter.line(line)
