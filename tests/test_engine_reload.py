"""What was prepared stands, whatever settings are reloaded before it is executed."""

import asyncio
import json
from pathlib import Path

import pytest

from promptkit_rpc import system
from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.engine import Engine
from promptkit_rpc.execution.request import RunRequest
from tests.support.fakes import BOUND, file
from tests.support.provider import Provider, completion

ASK = RunRequest(prompt_id="ask", capture=True)


def settings(root: Path, url: str, model: str, capacity: int) -> None:
    backend = {
        "kind": "openai",
        "baseUrl": url,
        "capacity": capacity,
        "retry": {"attempts": 1},
    }
    profile = {"backend": "main", "model": model}
    content = {"version": 1, "backends": {"main": backend}, "profiles": {"p": profile}}
    file(root, "promptkit.yaml", json.dumps(content))


@pytest.mark.parametrize("count", [1, 3])
async def test_a_prepared_run_is_sent_though_its_backend_was_changed_since(
    tmp_path: Path, count: int
) -> None:
    """ENG-1, CAP-3: the changed backend takes nothing from it, and its connections come back."""
    file(tmp_path, "prompts/ask.prompt.yaml", "profile: p\nmessages: [{role: user, content: hi}]")
    async with asyncio.timeout(BOUND), Provider() as provider:
        provider.always(completion("yes"))
        settings(tmp_path, provider.url, "before", 4)
        engine = Engine.open(tmp_path, services=system.services())
        await engine.run(ASK, CancelSignal())
        plans = [await engine.prepare(ASK, CancelSignal()) for _ in range(count)]
        settings(tmp_path, provider.url, "after", 5)
        await engine.reload()
        results = await asyncio.gather(*(engine.execute(p, CancelSignal()) for p in plans))
        assert [result.content for result in results] == ["yes"] * count
        assert [r.json()["model"] for r in provider.requests] == ["before"] * (count + 1)
        await engine.run(ASK, CancelSignal())
        assert provider.requests[-1].json()["model"] == "after"
        await provider.hung_up(1 + count)
        await engine.close()
