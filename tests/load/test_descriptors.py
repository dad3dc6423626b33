"""More connections at once than the process may have descriptors."""

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.support.daemon import BOUND, Daemon, RpcError
from tests.support.provider import Provider, completion
from tests.support.workspace import Workspace

Json = Any
RUNS = 100
SERVE = f"exec {sys.executable} -m promptkit_rpc serve"


def written(root: Path, url: str) -> Workspace:
    backend = {"kind": "openai", "baseUrl": url, "retry": {"attempts": 1}}
    workspace = Workspace(root).settings(
        backends={"main": backend}, profiles={"p": {"backend": "main", "model": "m"}}
    )
    return workspace.prompt("ask", "{{ text }}", profile="p").prompt("other", "x", profile="p")


async def outcome(daemon: Daemon, **params: Json) -> str:
    """A run's answer, or the reason or kind of its failure."""
    asked: Json = {"promptId": "ask", "variables": {"text": "x"}, **params}
    call = daemon.start("promptkit/run", asked)
    await call.settled()
    match call.answer.exception():
        case None:
            return call.answer.result()["content"]
        case RpcError(data=data, message=message):
            assert message != "internal error"
            return data.get("reason", data["kind"])
        case other:
            raise other


async def storm(daemon: Daemon, provider: Provider, gate: asyncio.Event) -> Counter[str]:
    """Many runs at once, of which none is answered before all have begun or failed."""
    runs = [asyncio.create_task(outcome(daemon)) for _ in range(RUNS)]
    async with asyncio.timeout(BOUND):
        while len(provider.requests) + sum(run.done() for run in runs) < RUNS:
            await daemon.request("promptkit/session/status")
    gate.set()
    return Counter(await asyncio.gather(*runs))


async def test_the_daemon_takes_as_many_descriptors_as_it_may(tmp_path: Path) -> None:
    """R-12: a low soft limit is no limit."""
    gate = asyncio.Event()
    async with Provider() as provider:
        provider.always((gate, *completion("fine")))
        command = ["bash", "-c", f"ulimit -Sn 40; {SERVE}"]
        async with Daemon(written(tmp_path, provider.url).root, command=command) as daemon:
            assert await storm(daemon, provider, gate) == {"fine": RUNS}


async def test_when_descriptors_run_out_it_is_told_and_passes(tmp_path: Path) -> None:
    """SEC-4, ADM-4: other runs go on, nothing stays broken, and the error says what to do."""
    gate = asyncio.Event()
    async with Provider() as provider:
        provider.play(completion("first"))
        provider.always((gate, *completion("fine")))
        command = ["bash", "-c", f"ulimit -n 40; {SERVE}"]
        workspace = written(tmp_path, provider.url)
        async with Daemon(workspace.root, command=command) as daemon:
            assert await outcome(daemon) == "first"
            provider.requests.clear()
            ends = await storm(daemon, provider, gate)
            assert ends.total() == RUNS
            assert set(ends) <= {"fine", "connection", "internal", "promptInvalid", "configInvalid"}
            assert ends["fine"] > 10
            await provider.hang_up()
            async with asyncio.timeout(BOUND):
                while await outcome(daemon, promptId="other") != "fine":
                    pass
            assert await outcome(daemon) == "fine"
            reloaded = await daemon.request("promptkit/engine/reload")
            assert reloaded["problems"] == []
