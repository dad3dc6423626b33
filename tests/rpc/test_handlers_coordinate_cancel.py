"""How a coordination over the wire ends when it is cancelled, or its connection ends."""

import asyncio
from pathlib import Path
from typing import Any

from promptkit_rpc.rpc.peer import Call
from tests.rpc.test_handlers_coordinate import NEXT, STOP, captured, coordinate, go_on, scripted
from tests.support.session import BOUND, Gate, attached, hosted
from tests.support.workspace import Workspace


async def test_an_unanswered_callback_holds_no_capacity_and_a_cancel_settles_it(
    tmp_path: Path,
) -> None:
    """ADM-2, COO-11, COO-13, C-09."""
    workspace = Workspace(tmp_path).scripted(capacity=1).prompt("ask", "{{ text }}", profile="p")
    async with attached(workspace.root) as client:
        asked, answer_late = asyncio.Event(), asyncio.Event()

        async def never(_params: Any, _: Call) -> Any:
            asked.set()
            await answer_late.wait()
            return STOP

        client.on(NEXT, never)
        start = await captured(client)
        task = client.start(
            "promptkit/coordinate",
            {"exchange": start, "additionalTurns": 1, "workDoneToken": "w"},
        )
        await asyncio.wait_for(asked.wait(), BOUND)
        status = await client.request("promptkit/session/status")
        assert status["engines"][0]["backends"][0]["leases"] == 0
        assert await captured(client, "meanwhile")
        client.cancel("w")
        assert await task == {"outcome": "cancelled"}
        answer_late.set()
        assert await captured(client, "after")


async def test_a_result_that_a_cancel_kept_from_its_callback_is_returned_once(
    tmp_path: Path,
) -> None:
    """COO-10, COO-12, CAP-7."""
    async with attached(hosted(tmp_path).root) as client:
        asked = scripted(client, go_on("turn"))
        client.answers("promptkit/backend/generate", {"content": "first"})
        start = await captured(client)

        def generate(_params: Any, _: Call) -> Any:
            # The cancel is right behind the answer: it reaches the server before the next callback.
            asyncio.get_running_loop().call_soon(client.cancel, "w")
            return {"content": "paid for"}

        client.on("promptkit/backend/generate", generate)
        outcome = await coordinate(client, start, 3, workDoneToken="w")
        assert outcome["outcome"] == "cancelled"
        assert outcome["undelivered"]["content"] == "paid for"
        assert len(asked) == 1
        run_id = outcome["undelivered"]["exchange"]["runId"]
        assert await client.request("promptkit/exchange/details", {"runId": run_id})


async def test_a_cancel_during_a_turn_recovers_nothing(tmp_path: Path) -> None:
    """COO-12, RET-3."""
    gate = Gate()
    async with attached(hosted(tmp_path).root) as client:
        client.answers("promptkit/backend/generate", {"content": "first"})
        start = await captured(client)
        client.on("promptkit/backend/generate", gate)
        scripted(client, go_on())
        task = client.start(
            "promptkit/coordinate", {"exchange": start, "additionalTurns": 1, "workDoneToken": "w"}
        )
        await gate.reached()
        client.cancel("w")
        assert await task == {"outcome": "cancelled"}
        await gate.given_up()


async def test_no_turn_starts_once_the_connection_ends_and_the_one_in_flight_is_kept(
    tmp_path: Path,
) -> None:
    """COO-12, X-08."""
    async with attached(hosted(tmp_path).root) as client:
        asked = scripted(client, go_on("one"), go_on("two"))
        client.answers("promptkit/backend/generate", {"content": "first"})
        start = await captured(client)
        assert client.session is not None
        closing = client.session.state.peer.closing

        def generate(_params: Any, _: Call) -> Any:
            closing.cancel()
            return {"content": "in flight"}

        client.on("promptkit/backend/generate", generate)
        outcome = await coordinate(client, start, 3)
        assert outcome["outcome"] == "cancelled"
        assert outcome["undelivered"]["content"] == "in flight"
        assert len(asked) == 1
