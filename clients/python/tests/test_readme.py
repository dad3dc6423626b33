"""What README shows is what works."""

import re
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PROGRAM, TEST = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_program_runs(
    samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(samples.parent)
    names: dict[str, Any] = {}
    exec(PROGRAM.replace('"demo"', repr(str(samples))), names)  # noqa: S102 - that is the point
    shown = capsys.readouterr().out
    assert "CoordinateResult(outcome='stopped'" in shown
    assert "TextDelta" in shown
    assert "TokenTotal" in shown


def test_the_test_passes(pytester: pytest.Pytester) -> None:
    program = """
async def my_program(client):
    first = await client.run("ask", variables={"question": "…"}, capture=True)
    return await client.continue_(first, "ask", variables={"question": "…"})
"""
    pytester.makepyfile(program + TEST)
    pytester.runpytest_subprocess("-p", "no:asyncio").assert_outcomes(passed=1)
