"""The fixture `promptkit`, and what was sent beside the report of a test that failed."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from promptkit_client.testing import PromptKit


@pytest.fixture
def promptkit(tmp_path: Path) -> PromptKit:
    """A workspace whose model is a script; see `promptkit_client.testing.PromptKit`."""
    return PromptKit(tmp_path / "promptkit")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the calls of the model to a failure."""
    report = yield
    funcargs: dict[str, Any] = getattr(item, "funcargs", {})
    used = funcargs.get("promptkit")
    if report.when == "call" and report.failed and isinstance(used, PromptKit):
        lines = [repr(sent) for sent in used.sent] or ["nothing was sent"]
        lines += [f"not used: {answer!r}" for answer in used.left]
        report.sections.append(("promptkit", "\n".join(lines)))
    return report
