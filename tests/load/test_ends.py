"""A client that leaves: its input or output ends, or it is killed, in every state there is.

The short form tries the end of the input in all of them, and the others in a few.
"""

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from unittest.mock import ANY

import pytest

from tests.load.states import FEW, STATES, Left, brought
from tests.support.daemon import BOUND, RpcError
from tests.support.figures import tell
from tests.support.wrapped import Wrapped

CANCELLED = -32800
NAMES = pytest.mark.parametrize(
    "names",
    [
        pytest.param(FEW, id="short"),
        pytest.param(tuple(STATES), id="long", marks=pytest.mark.load),
    ],
)


async def answers(left: Left) -> list[object]:
    """How each request was answered: a code, or None for a result."""
    found: list[object] = []
    for call in left.calls:
        try:
            await call
        except RpcError as error:
            found.append(error.code if error.kind != "generationFailed" else error.kind)
        else:
            found.append(None)
    return found


def gone(process_id: int) -> bool:
    """Whether no such process runs any more."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    return False


async def test_when_the_input_ends_all_is_answered_and_the_process_goes(tmp_path: Path) -> None:
    """R-12, RET-3, COO-18: in every state; nothing is left at the provider, nor a command."""
    expected: dict[str, list[object]] = {
        "idle": [],
        "waiting_for_a_lease": [CANCELLED, CANCELLED],
        "in_flight": [CANCELLED],
        "streaming": [CANCELLED],
        "in_backoff": [CANCELLED],
        "asking_for_the_next_action": [None, None],
        "asking_for_a_generation": ["generationFailed"],
        "asking_for_a_key": [-32803],
        "waiting_for_a_command": [CANCELLED],
        "rendering": [ANY],
        "inside_a_frame": [None],
        "shut_down": [CANCELLED],
    }
    assert list(expected) == list(STATES)
    async with AsyncExitStack() as stack:
        lefts = await brought(stack, tmp_path, STATES)
        began = asyncio.get_running_loop().time()
        for left in lefts:
            left.daemon.close_stdin()
        codes = await asyncio.gather(*(left.daemon.wait(BOUND) for left in lefts))
        took = asyncio.get_running_loop().time() - began
        found = dict(zip(STATES, [await answers(left) for left in lefts], strict=True))
        assert found == expected
        assert set(codes) == {1}
        for left in lefts:
            await left.provider.hung_up(left.connected)
            assert not left.daemon.strays
        command = tmp_path / "waiting_for_a_command" / "pid"
        assert gone(int(command.read_text()))
        tell(
            f"the input ended in {len(STATES)} states: the last process was gone after {took:.1f} s"
        )


@NAMES
async def test_when_its_client_is_killed_the_daemon_goes_too(
    tmp_path: Path, names: Sequence[str]
) -> None:
    """R-12: in every state, idly; the provider sees its connections close."""
    async with AsyncExitStack() as stack:
        lefts = await brought(stack, tmp_path, names, Wrapped)
        began = asyncio.get_running_loop().time()
        wrapped = [left.daemon for left in lefts if isinstance(left.daemon, Wrapped)]
        await asyncio.gather(*(daemon.outlive() for daemon in wrapped))
        took = asyncio.get_running_loop().time() - began
        for left in lefts:
            await left.provider.hung_up(left.connected)
            await left.daemon.kill()
            assert "Traceback" not in left.daemon.stderr
        tell(f"kill -9 of the client in {len(names)} states: the last went after {took:.1f} s")


@NAMES
async def test_a_killed_daemon_leaves_nothing_waiting(tmp_path: Path, names: Sequence[str]) -> None:
    """R-12: the client's pipes end, and so do the provider's connections, in every state."""
    async with AsyncExitStack() as stack:
        lefts = await brought(stack, tmp_path, names)
        for left in lefts:
            await left.daemon.kill()
        for left in lefts:
            for call in left.calls:
                if not call.done:
                    with pytest.raises(ConnectionError):
                        await call
            await left.provider.hung_up(left.connected)


@NAMES
async def test_when_nobody_reads_its_output_the_daemon_goes(
    tmp_path: Path, names: Sequence[str]
) -> None:
    """R-12: the output is closed first, the input stays open, in every state."""
    async with AsyncExitStack() as stack:
        lefts = await brought(stack, tmp_path, names)
        for left in lefts:
            await left.daemon.stop_listening()
        codes = await asyncio.gather(*(left.daemon.wait(BOUND) for left in lefts))
        assert set(codes) == {1}
        for left in lefts:
            assert "Traceback" not in left.daemon.stderr
            await left.provider.hung_up(left.connected)
