"""What the README says of the program is so."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from promptkit_rpc.commands.init import write_samples
from promptkit_rpc.rpc.schema import markdown
from tests.support.frames import frame

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_methods_is_the_generated_one() -> None:
    """Renewed by pasting what `promptkit-rpc schema --markdown` prints."""
    table = README.partition("<!-- methods:")[2].partition("-->\n")[2].partition("<!-- end")[0]
    assert table.strip() == markdown().strip()


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if ":" not in link and not (ROOT / link).exists()] == []


def test_the_first_two_shell_blocks_are_one_command_each() -> None:
    """The first runs the demo, the second the tests."""
    first, second = re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[:2]
    assert [block.count("\n") for block in (first, second)] == [1, 1]
    assert first.rstrip().endswith("promptkit-rpc demo")
    assert second.rstrip().endswith("-m pytest")


def test_both_consumer_sketches_are_short() -> None:
    """Under forty lines each, as ordinary application code."""
    source = (ROOT / "promptkit_rpc/demo/sketches.py").read_text(encoding="utf-8")
    for name in ("analyse", "review"):
        body = re.search(rf"^async def {name}\(.*?(?=^\S)", source, re.MULTILINE | re.DOTALL)
        assert body
        assert body.group().strip().count("\n") < 40


def sample() -> str:
    """The host program in Python."""
    (code,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert '["promptkit-rpc", "serve"]' in code
    return code


def test_the_host_program_does_what_it_says(tmp_path: Path) -> None:
    write_samples(tmp_path / "work")
    command = json.dumps([sys.executable, "-P", "-m", "promptkit_rpc", "serve"])
    code = sample().replace('["promptkit-rpc", "serve"]', command)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "Load-test the bridge; the last test is nine years old.\n"


def test_the_host_program_passes_over_what_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems of the workspace are told at any time."""
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": "x"}}
    told = {"jsonrpc": "2.0", "method": "window/logMessage", "params": {"type": 2, "message": "m"}}
    output = io.BytesIO(frame(told) + frame(answer))
    server = SimpleNamespace(stdin=io.BytesIO(), stdout=output)

    def popen(*_: Any, **__: Any) -> Any:
        return server

    monkeypatch.setattr(subprocess, "Popen", popen)
    names: dict[str, Any] = {}
    exec(sample().partition("options =")[0], names)  # noqa: S102 - the README's own
    assert names["receive"]() == answer
