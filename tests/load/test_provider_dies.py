"""A provider whose process is killed while it answers, and that comes back."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.daemon import BOUND, Daemon, RpcError
from tests.support.probe import PROBED
from tests.support.process import ROOT
from tests.support.workspace import Workspace

RUNS, CAPACITY = 100, 16

SERVE = """
import asyncio, sys
from tests.support.provider import End, Provider, completion, delta, events
async def main(port, whole):
    async with Provider(port=port) as provider:
        begun = (*events(delta("begun"), end=False), End.NEVER)
        provider.always(completion("whole") if whole else begun)
        print(provider.port, flush=True)
        await asyncio.Event().wait()
asyncio.run(main(int(sys.argv[1]), sys.argv[2] == "whole"))
"""


@asynccontextmanager
async def provider(
    port: int, manner: str
) -> AsyncGenerator[tuple[asyncio.subprocess.Process, int]]:
    """A provider in a process of its own, and its port; it is killed when the block ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVE, str(port), manner, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    try:
        assert process.stdout
        async with asyncio.timeout(BOUND):
            yield process, int(await process.stdout.readline())
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def outcome(daemon: Daemon, number: int) -> str | None:
    """What became of a run: its content or why it failed."""
    params = {"promptId": "ask", "partialResultToken": number}
    try:
        return (await daemon.request("promptkit/run", params))["content"]
    except RpcError as error:
        return error.data["reason"]


async def test_runs_survive_the_death_of_their_provider(tmp_path: Path) -> None:
    """RET-1, ADM-4: all fail as the connection did, nothing stays held, and later ones succeed."""
    workspace = Workspace(tmp_path).prompt("ask", "hi", profile="p")
    async with provider(0, "begun") as (process, port), Daemon(tmp_path, command=PROBED) as daemon:
        workspace.settings(
            backends={
                "main": {
                    "kind": "openai",
                    "baseUrl": f"http://127.0.0.1:{port}",
                    "capacity": CAPACITY,
                    "retry": {"attempts": 2, "baseDelay": 0.01},
                }
            },
            profiles={"p": {"backend": "main", "model": "m"}},
        )
        runs = [asyncio.create_task(outcome(daemon, number)) for number in range(RUNS)]
        for number in range(CAPACITY):
            await daemon.notification("$/progress", lambda told, n=number: told["token"] == n)
        busy = await daemon.request("test/probe")
        process.kill()
        assert Counter(await asyncio.gather(*runs)) == {"connection": RUNS}

        status = await daemon.request("promptkit/session/status")
        (load,) = status["engines"][0]["backends"]
        assert load["leases"] == load["waiting"] == load["generating"] == 0
        async with asyncio.timeout(BOUND):
            # The workspace may just be looked through for problems, which is a task as well.
            while (idle := await daemon.request("test/probe"))["tasks"] > 1:
                pass
        assert busy["tasks"] > RUNS
        assert idle["descriptors"] == busy["descriptors"] - CAPACITY

        async with provider(port, "whole"):
            again = [outcome(daemon, number) for number in range(RUNS)]
            assert Counter(await asyncio.gather(*again)) == {"whole": RUNS}
