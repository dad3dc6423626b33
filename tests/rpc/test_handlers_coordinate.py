"""`promptkit/coordinate` over the wire: the client is the callback."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.peer import Call
from tests.support.session import BOUND, Client, attached
from tests.support.workspace import Workspace, echoing

STOP = {"action": "stop"}
NEXT = "promptkit/coordinator/next"


def go_on(text: str = "more", **more: Any) -> dict[str, Any]:
    request = {"promptId": "ask", "variables": {"text": text}} | more
    return {"action": "continue", "request": request}


async def captured(client: Client, text: str = "start", **more: Any) -> str:
    params = {"promptId": "ask", "variables": {"text": text}, "capture": True} | more
    return (await client.request("promptkit/run", params))["runId"]


def scripted(client: Client, *actions: Any) -> list[Any]:
    """Answers the callbacks in turn, the last one for ever; keeps what they were asked."""
    asked: list[Any] = []

    def answer(params: Any, _: Call) -> Any:
        asked.append(params)
        return actions[min(len(asked), len(actions)) - 1]

    client.on(NEXT, answer)
    return asked


async def coordinate(client: Client, exchange: str, turns: int, **more: Any) -> Any:
    params = {"exchange": exchange, "additionalTurns": turns} | more
    return await client.request("promptkit/coordinate", params)


async def test_each_callback_gets_the_branch_as_it_is(tmp_path: Path) -> None:
    """COO-1, COO-2, COO-3, COO-4, COO-5."""
    async with attached(echoing(tmp_path).root) as client:
        asked = scripted(client, go_on("one"), go_on("two"), STOP)
        start = await captured(client)
        assert await coordinate(client, start, 2, coordinationId="mine") == {"outcome": "stopped"}
        first, second, third = asked
        assert first == {
            "coordinationId": "mine",
            "exchange": {"runId": start},
            "remainingTurns": 2,
            "deliveryIndex": 0,
        }
        assert (second["remainingTurns"], second["deliveryIndex"]) == (1, 1)
        assert second["result"]["parentRunId"] == start
        assert second["exchange"] == second["result"]["exchange"]
        assert (third["remainingTurns"], third["deliveryIndex"]) == (0, 2)
        assert third["exchange"]["parentRunId"] == second["exchange"]["runId"]
        details = await client.request(
            "promptkit/exchange/details", {"runId": third["exchange"]["runId"]}
        )
        said = [one["content"] for one in details["messages"] if one["role"] == "user"]
        assert said == ["start", "one", "two"]


@pytest.mark.parametrize(("budget", "callbacks"), [(0, 1), (1, 2), (3, 4)])
async def test_wanting_more_than_the_budget_is_exhausted(
    tmp_path: Path, budget: int, callbacks: int
) -> None:
    """COO-2, COO-6, COO-8, C-03."""
    async with attached(echoing(tmp_path).root) as client:
        asked = scripted(client, go_on())
        start = await captured(client)
        group = (await client.request("promptkit/group/create"))["groupId"]
        outcome = await coordinate(client, start, budget, groups=[group])
        assert outcome == {"outcome": "exhausted"}
        assert len(asked) == callbacks
        snapshot = await client.request("promptkit/group/snapshot", {"groupId": group})
        assert len(snapshot["runs"]) == budget


async def test_what_is_not_executed_may_name_what_is_not_there(tmp_path: Path) -> None:
    """COO-6."""
    async with attached(echoing(tmp_path).root) as client:
        scripted(client, go_on(promptId="none", engineId="none", groups=["none"]))
        start = await captured(client)
        assert await coordinate(client, start, 0) == {"outcome": "exhausted"}


async def test_exhaustion_is_no_failure_of_a_run(tmp_path: Path) -> None:
    """COO-6, C-12."""
    async with attached(echoing(tmp_path).root) as client:
        scripted(client, go_on())
        outcome = await coordinate(client, await captured(client), 1, observe="t")
        assert outcome == {"outcome": "exhausted"}
        ends = [one["event"] for one in client.events("t") if "outcome" in one["event"]]
        assert [(end["outcome"], end.get("error")) for end in ends] == [("completed", None)]


async def test_stopping_after_the_last_permitted_answer_is_stopped(tmp_path: Path) -> None:
    """COO-4, C-04."""
    async with attached(echoing(tmp_path).root) as client:
        scripted(client, go_on(), go_on(), STOP)
        assert await coordinate(client, await captured(client), 2) == {"outcome": "stopped"}


async def test_asking_for_a_third_of_two_delivers_both_once(tmp_path: Path) -> None:
    """COO-3, COO-6, C-04."""
    async with attached(echoing(tmp_path).root) as client:
        asked = scripted(client, go_on("one"), go_on("two"), go_on("three"))
        assert await coordinate(client, await captured(client), 2) == {"outcome": "exhausted"}
        delivered = [one["result"]["runId"] for one in asked if "result" in one]
        assert len(delivered) == len(set(delivered)) == 2


async def test_a_turn_that_cannot_be_prepared_ends_it_with_that_error(tmp_path: Path) -> None:
    """COO-9, C-04."""
    async with attached(echoing(tmp_path).root) as client:
        asked = scripted(client, go_on("one"), go_on(variables={}), STOP)
        start = await captured(client)
        error = await client.refused(
            "promptkit/coordinate", {"exchange": start, "additionalTurns": 2}
        )
        assert (error.code, error.data["kind"]) == (-32803, "templateFailed")
        assert len(asked) == 2


async def test_a_turn_that_fails_in_transport_ends_it_with_that_error(tmp_path: Path) -> None:
    """COO-9, CAP-7, C-04."""
    workspace = Workspace(tmp_path).scripted(
        {"match": {"contains": "fail"}, "fault": {"status": 400}}, {"content": "fine"}
    )
    workspace.prompt("ask", "{{ text }}", profile="p")
    async with attached(workspace.root) as client:
        asked = scripted(client, go_on("one"), go_on("fail"), STOP)
        start = await captured(client)
        error = await client.refused(
            "promptkit/coordinate", {"exchange": start, "additionalTurns": 2}
        )
        assert error.data["kind"] == "generationFailed"
        assert len(asked) == 2
        latest = asked[1]["exchange"]["runId"]
        assert await captured(client, "again", continueFrom=latest)


async def test_an_answer_that_breaks_its_contract_is_delivered_like_any(tmp_path: Path) -> None:
    """COO-16, CAP-7."""
    async with attached(echoing(tmp_path).root) as client:
        asked = scripted(client, go_on(output={"format": "json"}), STOP)
        assert await coordinate(client, await captured(client), 1) == {"outcome": "stopped"}
        assert asked[1]["result"]["validation"]["status"] == "invalid"


async def test_callbacks_run_anything_on_the_same_backend(tmp_path: Path) -> None:
    """ADM-2, ADM-3, COO-17, C-01, R-20."""
    workspace = Workspace(tmp_path).scripted(capacity=1).prompt("ask", "{{ text }}", profile="p")
    leases: list[int] = []
    async with attached(workspace.root) as client:

        async def busy(params: Any, _: Call) -> Any:
            status = await client.request("promptkit/session/status")
            if params["deliveryIndex"] == 0:
                (backend,) = status["engines"][0]["backends"]
                leases.append(backend["leases"])
            await captured(client, "nested")
            return go_on() if params["remainingTurns"] else STOP

        client.on(NEXT, busy)
        start = await captured(client)
        assert await coordinate(client, start, 2) == {"outcome": "stopped"}
        assert leases == [0]
        together = [
            client.start("promptkit/coordinate", {"exchange": start, "additionalTurns": 2})
            for _ in range(3)
        ]
        assert [await one for one in together] == [{"outcome": "stopped"}] * 3
        status = await client.request("promptkit/session/status")
        assert status["engines"][0]["backends"][0]["leases"] == 0


async def test_the_clients_error_comes_back_as_it_is(tmp_path: Path) -> None:
    """COO-7, COO-14."""
    data = {"mine": [1, {"deep": None}], "kind": "whatever"}
    async with attached(echoing(tmp_path).root) as client:
        start = await captured(client)
        for index in (0, 1):

            def fail(params: Any, _: Call, index: int = index) -> Any:
                if params["deliveryIndex"] == index:
                    raise RpcError(-31999, "the application says no", data)
                return go_on()

            client.on(NEXT, fail)
            error = await client.refused(
                "promptkit/coordinate", {"exchange": start, "additionalTurns": 2}
            )
            assert (error.code, error.message, error.data) == (
                -31999,
                "the application says no",
                data,
            )


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (None, "expected an object, got null"),
        ({"action": "carry on"}, "result.action: not one of continue, stop"),
        ({"action": "continue"}, "result.request: is required"),
        (go_on(continueFrom="run-1"), "continueFrom"),
        (go_on(promptid="x"), "result.request.promptid: unknown field"),
        (go_on(credential=""), "credential"),
    ],
)
async def test_an_answer_that_is_no_action_ends_it(tmp_path: Path, action: Any, told: str) -> None:
    """COO-7, COO-18."""
    async with attached(echoing(tmp_path).root) as client:
        scripted(client, action)
        start = await captured(client)
        error = await client.refused(
            "promptkit/coordinate", {"exchange": start, "additionalTurns": 1}
        )
        assert (error.code, error.data["kind"]) == (-32803, "callbackInvalid")
        assert told in error.message


async def test_a_callback_has_no_time_limit_but_the_one_given(tmp_path: Path) -> None:
    """C-09."""
    async with attached(echoing(tmp_path).root) as client:
        cancelled = asyncio.Event()

        async def never(_params: Any, call: Call) -> Any:
            call.signal.on_cancel(cancelled.set)
            with call.signal.scope():
                await asyncio.Event().wait()

        client.on(NEXT, never)
        start = await captured(client)
        error = await client.refused(
            "promptkit/coordinate",
            {"exchange": start, "additionalTurns": 1, "callbackTimeoutMs": 1},
        )
        assert error.data["kind"] == "callbackInvalid"
        assert "callbackTimeoutMs" in error.message
        await asyncio.wait_for(cancelled.wait(), BOUND)


async def test_a_request_may_name_its_engine_its_groups_and_its_observers(
    tmp_path: Path,
) -> None:
    """GRP-3, GRP-4, OWN-3, OBS-1."""
    other = Workspace(tmp_path / "other").scripted({"content": "from the other"})
    other.prompt("ask", "{{ text }}", profile="p")
    async with attached(echoing(tmp_path / "main").root) as client:
        opened = await client.request("promptkit/engine/open", {"root": str(other.root)})
        mine, ours = [(await client.request("promptkit/group/create"))["groupId"] for _ in range(2)]
        first = go_on(
            engineId=opened["engineId"],
            groups=[mine, ours],
            observe="own",
            partialResultToken="own",
            workDoneToken="own",
        )
        asked = scripted(client, first, go_on("two"), STOP)
        start = await captured(client)
        await coordinate(client, start, 2, groups=[ours], observe="all", partialResultToken="all")
        assert asked[1]["result"]["content"] == "from the other"
        assert asked[2]["result"]["content"] != "from the other"
        members = {
            group: [
                run["runId"]
                for run in (await client.request("promptkit/group/snapshot", {"groupId": group}))[
                    "runs"
                ]
            ]
            for group in (mine, ours)
        }
        runs = [one["result"]["runId"] for one in asked[1:]]
        assert members == {mine: runs[:1], ours: runs}
        assert {one["runId"] for one in client.events("own")} == {runs[0]}
        assert [one["seq"] for one in client.events("own")] == list(
            range(len(client.events("own")))
        )
        for run_id in runs:
            seen = [one["seq"] for one in client.events("all") if one["runId"] == run_id]
            assert seen == list(range(len(seen)))
            assert seen
        assert client.progress("all")
        assert client.progress("own")[-1]["kind"] == "end"


async def test_a_name_is_used_by_one_coordination_at_a_time(tmp_path: Path) -> None:
    """COO-17."""
    async with attached(echoing(tmp_path).root) as client:
        start = await captured(client)
        params = {"exchange": start, "additionalTurns": 0, "coordinationId": "mine"}

        async def again(_params: Any, _: Call) -> Any:
            error = await client.refused("promptkit/coordinate", params)
            assert (error.code, error.data["kind"]) == (-32602, "requestInvalid")
            (field,) = error.data["invalid"]
            assert field == {"path": "params.coordinationId", "message": "is in use; take another"}
            return STOP

        client.on(NEXT, again)
        assert await client.request("promptkit/coordinate", params) == {"outcome": "stopped"}


async def test_what_it_names_has_to_be_there(tmp_path: Path) -> None:
    """ENG-5."""
    async with attached(echoing(tmp_path).root) as client:
        asked = scripted(client, STOP)
        start = await captured(client)
        known = {"exchange": start, "additionalTurns": 1}
        for more, kind in (
            ({"exchange": "run-none"}, "exchangeNotFound"),
            ({"groups": ["nowhere"]}, "groupNotFound"),
            ({"engineId": "nowhere"}, "engineNotFound"),
        ):
            error = await client.refused("promptkit/coordinate", known | more)
            assert error.data["kind"] == kind
        for turns in (-1, 1.0, True, None, "1"):
            error = await client.refused("promptkit/coordinate", known | {"additionalTurns": turns})
            assert error.code == -32602
        assert asked == []
