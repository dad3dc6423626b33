"""A thousand runs at once on sixteen leases, with every way to fail, and nothing left of them.

The long form, `-m load`, does it ten times over with other dice and holds memory to what it was.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon, Outgoing, RpcError
from tests.support.figures import megabytes, tell
from tests.support.probe import PROBED
from tests.support.provider import (
    End,
    Provider,
    Script,
    completion,
    refusal,
    respond,
    streamed_completion,
)
from tests.support.workspace import Workspace

Json = Any
RUNS = 1000
CAPACITY = 16
KEPT_AT_MOST = 25_000_000
"""Bytes by which memory may have grown after one round; later ones may add a fifth of it."""

OF_CONNECTIONS = ("promptkit_rpc.backends.http.connection.", "httptools.")
"""Connections that ended while they were idle are let go of a little later."""

COORDINATED, PREPARED = 0.2, 0.3
EXPECTED = {
    "completed", "stopped", "exhausted", "cancelled", "discarded", "callbackFailed",
    "callbackInvalid", "deadlineExceeded", "generationFailed",
}  # fmt: skip
"""Every one of these must have happened."""


def scripts(dice: random.Random) -> Iterator[Script]:
    """What the provider does: mostly well, and everything else too."""
    stream = streamed_completion(*["word "] * 20)
    kinds = (
        (60, completion("fine")),
        (15, stream),
        (5, (End.RESET,)),
        (5, (End.CLOSE,)),
        (4, (*stream[:5], End.RESET)),
        (2, (*stream[:5], End.NEVER)),
        (2, (End.NEVER,)),
        (5, refusal(429, {"error": {"message": "slow down"}}, ("retry-after-ms", "5"))),
        (2, respond(200, b"no JSON")),
    )
    weights, made = zip(*kinds, strict=True)
    while True:
        yield from dice.choices(made, weights, k=100)


class Storm:
    """Starts runs of all sorts and counts how they end."""

    def __init__(self, daemon: Daemon, start: str, seed: int) -> None:
        self.daemon = daemon
        self.start = start
        self.dice = random.Random(seed)  # noqa: S311 - dice, not keys
        self.ends: Counter[str] = Counter()
        daemon.on("promptkit/coordinator/next", self.next)

    async def one(self, number: int) -> None:
        """One run, however it goes."""
        kind = self.dice.random()
        try:
            if kind < COORDINATED:
                end = await self._coordination(number)
            elif kind < PREPARED:
                end = await self._prepared(number)
            else:
                end = await self._run(self.daemon.start("promptkit/run", self._params(number)))
        except RpcError as error:
            end = error.kind or "callbackFailed"
        self.ends[end] += 1

    def next(self, _: Json) -> Json:
        """The application's next action, or one of the ways to have none."""
        match self.dice.randrange(10):
            case 0 | 1:
                raise RpcError(-32000, "the application failed", {"why": "dice"})
            case 2:
                return None
            case 3:
                return {"action": "fly"}
            case 4:
                return {"action": "stop"}
            case _:
                return {
                    "action": "continue",
                    "request": {"promptId": "ask", "variables": {"text": "go on"}},
                }

    def _params(self, number: int) -> Json:
        dice = self.dice
        params: Json = {
            "promptId": "ask",
            "variables": {"text": "x" * dice.randrange(2000)},
            "observe": f"observe-{number}",
            "capture": dice.random() < 0.5,
        }
        if dice.random() < 0.5:
            params["partialResultToken"] = f"text-{number}"
        if dice.random() < 0.15:
            params["timeoutMs"] = dice.randrange(1, 500)
        if dice.random() < 0.2:
            params["continueFrom"] = self.start
        return params

    async def _run(self, call: Outgoing) -> str:
        await self._perhaps_cancelled(call)
        result = await call
        if result.get("exchange"):
            await self.daemon.request("promptkit/exchange/release", {"runId": result["runId"]})
        return "completed"

    async def _coordination(self, number: int) -> str:
        params: Json = {
            "exchange": self.start,
            "additionalTurns": self.dice.randrange(4),
            "observe": f"observe-{number}",
        }
        call = self.daemon.start("promptkit/coordinate", params)
        await self._perhaps_cancelled(call)
        result = await call
        return result["outcome"]

    async def _prepared(self, number: int) -> str:
        prepared = await self.daemon.request("promptkit/prepare", self._params(number))
        handle = {"preparedId": prepared["preparedId"]}
        if self.dice.random() < 0.3:
            await self.daemon.request("promptkit/prepared/discard", handle)
            return "discarded"
        return await self._run(self.daemon.start("promptkit/prepared/execute", handle))

    async def _perhaps_cancelled(self, call: Outgoing) -> None:
        if self.dice.random() < 0.25:
            await asyncio.sleep(self.dice.random() * 2)  # a moment like any other
            await call.cancel()


async def started(daemon: Daemon) -> str:
    """A captured exchange, however often the provider has to be asked for it."""
    while True:
        try:
            params = {"promptId": "ask", "variables": {"text": "start"}, "capture": True}
            return (await daemon.request("promptkit/run", params))["runId"]
        except RpcError:
            continue


async def released(daemon: Daemon, but: str) -> None:
    """Lets go of what coordinations have left; each of their results names its exchange."""
    for message in daemon.log:
        match message:
            case {"method": "promptkit/observation", "params": {"event": event, "runId": run_id}}:
                if event["kind"] == "runFinished" and run_id != but:
                    handle = {"runId": run_id}
                    await daemon.start("promptkit/exchange/release", handle).settled()
            case _:
                pass


def terminals(daemon: Daemon) -> Counter[str]:
    """How many terminal observations came, by run."""
    told = daemon.notifications("promptkit/observation")
    return Counter(one["runId"] for one in told if one["event"]["kind"] == "runFinished")


async def round_of(daemon: Daemon, provider: Provider, start: str, seed: int) -> Json:
    """A thousand runs; afterwards nobody holds or waits for anything. Answers a probe."""
    storm = Storm(daemon, start, seed)
    began = asyncio.get_running_loop().time()
    await asyncio.gather(*(storm.one(number) for number in range(RUNS)))
    took = asyncio.get_running_loop().time() - began
    stall = (await daemon.request("test/probe"))["stallMs"]
    assert storm.ends.total() == RUNS
    assert set(storm.ends) == EXPECTED
    assert set(terminals(daemon).values()) == {1}
    await released(daemon, start)
    status = await daemon.request("promptkit/session/status")
    assert status["exchanges"]["count"] == 1
    assert status["prepared"]["count"] == status["runs"]["active"] == 0
    (load,) = status["engines"][0]["backends"]
    assert load["capacity"] == CAPACITY
    assert load["leases"] == load["waiting"] == load["generating"] == 0
    daemon.log.clear()
    daemon.received.clear()
    probe = await daemon.request("test/probe")
    tell(
        f"{RUNS} runs at once at capacity {CAPACITY} in {took:.1f} s over {provider.connections}"
        f" connections, longest stall {stall} ms, {megabytes(probe['residentBytes'])} in use:"
        f" {dict(storm.ends.most_common())}"
    )
    return probe


def held(probe: Json) -> dict[str, int]:
    """What a probe found, but for what is let go of later."""
    objects = probe["objects"].items()
    return {name: count for name, count in objects if not name.startswith(OF_CONNECTIONS)}


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(1, id="short"),
        pytest.param(10, id="long", marks=pytest.mark.load),
    ],
)
async def test_after_a_thousand_runs_everything_is_as_it_was(tmp_path: Path, rounds: int) -> None:
    """ADM-4, RET-3, OBS-3, C-05: leases, permits, tasks, handles, descriptors and memory."""
    async with Provider() as provider:
        provider.endless(scripts(random.Random(1)))  # noqa: S311 - likewise
        backend = {
            "kind": "openai",
            "baseUrl": provider.url,
            "capacity": CAPACITY,
            "timeouts": {"connect": 10, "read": 0.3},
            "retry": {"attempts": 3, "baseDelay": 0.01, "maxDelay": 0.05},
        }
        workspace = (
            Workspace(tmp_path)
            .settings(backends={"main": backend}, profiles={"p": {"backend": "main", "model": "m"}})
            .prompt("ask", "{{ text }}", profile="p")
        )
        async with Daemon(workspace.root, command=PROBED) as daemon:
            start = await started(daemon)
            # What is loaded with the first request of its kind is there before anything is counted.
            before = await round_of(daemon, provider, start, rounds)
            after = first = await round_of(daemon, provider, start, 0)
            for seed in range(1, rounds):
                after = await round_of(daemon, provider, start, seed)
            assert not daemon.strays
            assert held(after) == held(before)
            assert after["tasks"] == before["tasks"]
            assert first["residentBytes"] - before["residentBytes"] < KEPT_AT_MOST
            assert after["residentBytes"] - first["residentBytes"] < KEPT_AT_MOST / 5
            await provider.hang_up()
            async with asyncio.timeout(10):
                while after["descriptors"] >= before["descriptors"]:  # one of those was a socket
                    after = await daemon.request("test/probe")
