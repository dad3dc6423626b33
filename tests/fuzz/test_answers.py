"""Providers that answer anything: odd JSON, broken streams, half of HTTP.

As for messages, the long form, `-m load`, goes on for `PROMPTKIT_FUZZ_SECONDS` (80).
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fuzz.answers import script
from tests.fuzz.dice import Dice
from tests.fuzz.rounds import ROUNDS, Rounds
from tests.fuzz.workspace import written
from tests.support.contract import check_error, check_result
from tests.support.daemon import Daemon, RpcError
from tests.support.provider import Provider

Json = Any
BATCH = 60
POSSIBLE = ("generationFailed", "deadlineExceeded")


async def run(daemon: Daemon, params: Json) -> tuple[str, Json]:
    """What became of a run: `result`, or why it failed; both fit the schema."""
    call = daemon.start("promptkit/run", params)
    await call.settled()
    match call.answer.exception():
        case None:
            check_result("promptkit/run", call.answer.result())
            return "result", call.answer.result()
        case RpcError(data=data) as error:
            check_error(data)
            assert data["kind"] in POSSIBLE, (error.code, error.message, data)
            return data.get("reason", data["kind"]), data
        case other:
            raise other


def request(dice: Dice, number: int) -> Json:
    """A run over HTTP, streamed or not, with a contract or without."""
    params: Json = {
        "promptId": "ask",
        "profile": dice.one("http", "claude"),
        "variables": {"text": "x"},
        "output": dice.one(None, {"format": "json"}, {"format": "schema", "schema": {}}),
        "observe": number,
    }
    if dice.often(0.6):
        params["partialResultToken"] = number
    if dice.often(0.2):
        params["timeoutMs"] = 1 + dice.upto(100)
    return params


def check_streams(daemon: Daemon, outcomes: Sequence[tuple[str, Json]]) -> None:
    """What was streamed since the last reset is what the result says."""
    told: dict[int, str] = {}
    for progress in daemon.notifications("$/progress"):
        token, value = progress["token"], progress["value"]
        told[token] = "" if "reset" in value else told.get(token, "") + value["text"]
    for number, (end, result) in enumerate(outcomes):
        if end == "result" and number in told:
            assert told[number] == result["content"]


@ROUNDS
async def test_whatever_a_provider_answers_the_run_ends_as_it_must(
    tmp_path: Path, rounds: Rounds
) -> None:
    """SEC-4, T-08, T-16, USE-1: a result or a failed generation, and nothing stays held."""
    ends: Counter[str] = Counter()
    async with Provider() as provider:
        workspace = written(tmp_path, provider.url)
        for dice in rounds:
            provider.endless(iter(lambda dice=dice: script(dice), None))
            async with Daemon(workspace.root) as daemon:
                while rounds.go_on():
                    runs = [run(daemon, request(dice, number)) for number in range(BATCH)]
                    try:
                        outcomes = await asyncio.gather(*runs)
                        check_streams(daemon, outcomes)
                    except AssertionError as fault:
                        raise AssertionError(dice.seed) from fault
                    ends.update(end for end, _ in outcomes)
                    daemon.log.clear()
                    daemon.received.clear()
                    status = await daemon.request("promptkit/session/status")
                    assert status["runs"]["active"] == 0
                    for load in status["engines"][0]["backends"]:
                        assert load["leases"] == load["generating"] == 0
            assert " raised " not in daemon.stderr, daemon.stderr
            assert daemon.stderr == ""
    rounds.tell(f"answers of providers: {ends.total()} runs, {dict(ends.most_common())}")
