"""The real model server of these tests; where it cannot be installed they are skipped, aloud."""

import contextlib
from collections.abc import Generator

import pytest

from tests.support.llama import Llama, NotInstallable, serving

_missing: list[str] = []


@pytest.fixture(scope="session")
def llama() -> Generator[Llama]:
    """llama.cpp's server with a small chat model, one for all tests."""
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(serving())
        except NotInstallable as error:
            _missing.append(str(error))
            pytest.skip(f"no real model server: {error}")
        yield server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in red what the skipped tests would have shown."""
    for reason in set(_missing):
        terminalreporter.section("NOT TESTED AGAINST A REAL MODEL SERVER", red=True)
        terminalreporter.line(f"its packages could not be installed: {reason}", red=True)
