"""One exchange continued many times over, side by side and one after the other.

The long form, `-m load`, makes ten thousand of each.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.support.figures import megabytes, tell
from tests.support.probe import PROBED
from tests.support.workspace import echoing

Json = Any
AT_ONCE = 100
STORY = "It was a dark and stormy night. " * 4000
"""128 KB that every continuation sends again."""

A_BRANCH = 6_000
"""Bytes that a continuation of a few words may cost."""

COUNTS = pytest.mark.parametrize(
    "count",
    [
        pytest.param(500, id="short"),
        pytest.param(10_000, id="long", marks=pytest.mark.load),
    ],
)


async def said(daemon: Daemon, text: str, **more: Json) -> str:
    """A captured run's id."""
    params = {"promptId": "ask", "variables": {"text": text}, "capture": True, **more}
    result = await daemon.request("promptkit/run", params)
    assert result["content"] == text
    return result["runId"]


async def told(daemon: Daemon) -> tuple[Json, Json]:
    """Status and probe; what this side remembers is forgotten."""
    daemon.log.clear()
    daemon.received.clear()
    return await daemon.request("promptkit/session/status"), await daemon.request("test/probe")


async def let_go(daemon: Daemon, runs: Iterable[str]) -> None:
    """Releases exchanges."""
    for run_id in runs:
        await daemon.request("promptkit/exchange/release", {"runId": run_id})


@COUNTS
async def test_branches_of_one_exchange_cost_what_they_add(tmp_path: Path, count: int) -> None:
    """OWN-1, OWN-5, OWN-7: bytes held and memory in use; and all of it comes back."""
    async with Daemon(echoing(tmp_path).root, command=PROBED) as daemon:
        start = await said(daemon, STORY)
        warm = [await said(daemon, "x", continueFrom=start) for _ in range(20)]
        await let_go(daemon, warm)
        before, empty = await told(daemon)
        assert before["exchanges"] == {"count": 1, "bytes": 2 * len(STORY)}

        branches: list[str] = []
        for number in range(0, count, AT_ONCE):
            texts = [f"branch {one:06}" for one in range(number, number + AT_ONCE)]
            made = (said(daemon, text, continueFrom=start) for text in texts)
            branches += await asyncio.gather(*made)
        status, full = await told(daemon)
        added = 2 * len("branch 000000") * count
        assert status["exchanges"] == {"count": 1 + count, "bytes": 2 * len(STORY) + added}
        grown = full["residentBytes"] - empty["residentBytes"]
        assert grown < A_BRANCH * count + 2_000_000

        await let_go(daemon, [start])
        last = {"runId": branches[-1]}
        details = await daemon.request("promptkit/exchange/details", last)
        contents = [one["content"] for one in details["messages"]]
        assert contents == [STORY, STORY, f"branch {count - 1:06}", f"branch {count - 1:06}"]
        assert details["parentRunId"] == start

        await let_go(daemon, branches)
        status, left = await told(daemon)
        assert status["exchanges"] == {"count": 0, "bytes": 0}
        assert not [name for name in left["objects"] if name.endswith(("Exchange", "History"))]
        tell(
            f"{count} branches of {megabytes(2 * len(STORY))}: {megabytes(grown)},"
            f" longest stall {full['stallMs']} ms"
        )


@COUNTS
async def test_a_chain_of_continuations_comes_back_too(tmp_path: Path, count: int) -> None:
    """OWN-5, OWN-7: each turn continues the one before it; the ends of the chain go first."""
    async with Daemon(echoing(tmp_path).root, command=PROBED) as daemon:
        runs = [await said(daemon, "turn 000000")]
        for number in range(1, count + 1):
            runs.append(await said(daemon, f"turn {number:06}", continueFrom=runs[-1]))
        status, full = await told(daemon)
        size = 2 * len("turn 000000")
        assert status["exchanges"] == {"count": count + 1, "bytes": size * (count + 1)}

        await let_go(daemon, runs[:-1])
        status, _ = await told(daemon)
        assert status["exchanges"] == {"count": 1, "bytes": size * (count + 1)}
        page = await daemon.request(
            "promptkit/exchange/details", {"runId": runs[-1], "maxBytes": 1000}
        )
        assert page["messages"][0]["content"] == "turn 000000"
        await let_go(daemon, runs[-1:])
        status, left = await told(daemon)
        assert status["exchanges"] == {"count": 0, "bytes": 0}
        assert not [name for name in left["objects"] if name.endswith(("Exchange", "History"))]
        tell(f"a chain of {count} continuations: longest stall {full['stallMs']} ms")
