"""Roots and settings files whose names no file can have, or that are no text."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.session import attached
from tests.support.workspace import echoing

LONG = "x" * 5000

ASKED: tuple[tuple[str, Any], ...] = (
    ("promptkit/prompt/list", {}),
    ("promptkit/profile/list", {}),
    ("promptkit/engine/reload", {}),
    ("promptkit/run", {"promptId": "ask", "variables": {"text": "x"}}),
    ("promptkit/prompt/inspect", {"promptId": "ask"}),
)


@pytest.mark.parametrize(
    "opened",
    [
        {"root": LONG},
        {"config": LONG},
        {"config": "a\0b"},
        {"config": "../.."},
        {"root": "file:///no/%ff/%fe"},
        {"root": "/proc/self/mem"},
        {"root": "/dev/null", "config": LONG},
    ],
    ids=lambda one: str(one)[:30],
)
async def test_an_engine_that_cannot_be_read_opens_and_tells(tmp_path: Path, opened: Any) -> None:
    """SEC-4: its problems are listed, and what needs it fails without an internal error."""
    async with attached(echoing(tmp_path).root) as client:
        engine = await client.request("promptkit/engine/open", opened)
        assert engine["problems"]
        for method, params in ASKED:
            await client.answered(method, params | {"engineId": engine["engineId"]})
        status = await client.request("promptkit/session/status")
        assert len(status["engines"]) == 2


@pytest.mark.parametrize("root", ["a\0b", "file:///a%00b"])
async def test_a_root_with_nul_is_refused(tmp_path: Path, root: str) -> None:
    """SEC-4."""
    async with attached(echoing(tmp_path).root) as client:
        error = await client.refused("promptkit/engine/open", {"root": root})
        assert error.code == -32602


async def test_a_workspace_below_a_name_that_is_no_text_is_served(tmp_path: Path) -> None:
    """SEC-4: and its prompts are; what has no id is told of."""
    root = tmp_path / "\udcff"
    workspace = echoing(root).write("prompts/\udcfe.prompt.yaml", "messages: []")
    async with attached(tmp_path) as client:
        uri = f"{tmp_path.as_uri()}/%ff"
        opened = await client.request("promptkit/engine/open", {"root": uri})
        engine = {"engineId": opened["engineId"]}
        listed = await client.request("promptkit/prompt/list", engine)
        assert [item["name"] for item in listed["items"]] == ["ask"]
        assert len(opened["problems"]) == 1
        status = await client.request("promptkit/session/status")
        assert status["engines"][1]["root"].endswith("/\ufffd")
    assert workspace.root == root
