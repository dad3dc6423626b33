"""Work that never has to wait still lets others have their turns."""

from pathlib import Path

from tests.support.session import attached
from tests.support.workspace import Workspace


async def test_a_run_that_is_repaired_for_ever_can_be_cancelled(tmp_path: Path) -> None:
    """RET-3, R-20: the backend answers at once, and always wrong."""
    workspace = Workspace(tmp_path).scripted({"content": "no JSON"}).prompt("ask", "x", profile="p")
    async with attached(workspace.root) as client:
        output = {"format": "json", "repairs": 2**53 - 1}
        params = {"promptId": "ask", "output": output, "workDoneToken": "t"}
        running = client.start("promptkit/run", params)
        await client.status(lambda status: status["runs"]["active"])
        client.cancel("t")
        error = await client.refused_by(running)
        assert error.code == -32800


async def test_a_run_that_is_tried_for_ever_can_be_cancelled(tmp_path: Path) -> None:
    """RET-3, R-20: the backend fails at once, and is to be asked again at once."""
    retry = {"attempts": 2**31, "baseDelay": 0, "maxDelay": 0}
    workspace = Workspace(tmp_path).scripted({"fault": {"status": 500}}, retry=retry)
    workspace.prompt("ask", "x", profile="p")
    async with attached(workspace.root) as client:
        running = client.start("promptkit/run", {"promptId": "ask", "workDoneToken": "t"})
        await client.status(lambda status: status["runs"]["active"])
        client.cancel("t")
        error = await client.refused_by(running)
        assert error.code == -32800
