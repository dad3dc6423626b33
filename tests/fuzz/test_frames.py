"""A stream of frames that is damaged somewhere, as the running daemon reads it.

As for messages, the long form, `-m load`, goes on for `PROMPTKIT_FUZZ_SECONDS` (80).
"""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.fuzz.dice import Dice, damaged
from tests.fuzz.rounds import ROUNDS, Rounds
from tests.support.frames import frame
from tests.support.process import RawDaemon
from tests.support.workspace import echoing

Json = Any
FRAMES = 12
AT_ONCE = 2

HELLO: Json = {"processId": None, "rootUri": None, "capabilities": {}}
ENDS = ("the input is out of step", "the input ended inside a frame")


def request(ident: int, dice: Dice) -> bytes:
    """A request's frame, small or large."""
    message: Json = {"jsonrpc": "2.0", "id": ident, "method": "promptkit/session/status"}
    if dice.often(0.3):
        message["params"] = {"_meta": dice.one("x" * 10, "x" * 70_000, "é" * 3000)}
    return frame(message)


async def sample(root: Path, dice: Dice) -> str:
    """Sends a stream whose last part is damaged; says how the daemon ended."""
    hello = frame({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
    frames = [hello, *(request(1 + number, dice) for number in range(FRAMES))]
    whole = 1 + dice.upto(FRAMES - 1)
    stream = b"".join(frames[:whole]) + damaged(dice, b"".join(frames[whole:]))
    async with RawDaemon(root) as daemon:
        writing = asyncio.create_task(write(daemon, stream, dice))
        answered: Counter[Json] = Counter()
        while (body := await daemon.read_frame()) is not None:
            answered[json.dumps(json.loads(body).get("id"))] += 1
        code = await daemon.wait()
        await writing
        answers = [answered[str(number)] for number in range(whole)]
        assert answers == [1] * whole, answered
        del answered["null"]
        assert max(answered.values()) == 1, answered
        assert code == 1
        lines = daemon.stderr.splitlines()
        ends = [
            line for line in lines if line.startswith(tuple(f"promptkit-rpc: {e}" for e in ENDS))
        ]
        assert len(ends) <= 1, lines
        assert "Traceback" not in daemon.stderr
        assert "raised" not in daemon.stderr
    return ends[0].removeprefix("promptkit-rpc: ").partition(":")[0] if ends else "read to its end"


async def write(daemon: RawDaemon, stream: bytes, dice: Dice) -> None:
    """Writes it split anywhere, and ends the input."""
    at = 0
    while at < len(stream):
        size = dice.one(1, 2, 50, 1000, 70_000)
        await daemon.write(stream[at : at + size])
        at += size
    daemon.close_stdin()


@ROUNDS
async def test_a_damaged_stream_is_read_as_far_as_it_can_be(tmp_path: Path, rounds: Rounds) -> None:
    """SEC-4, R-16, X-04: what came before is answered, and the daemon goes on or says why not."""
    root = echoing(tmp_path).root
    ends: Counter[str] = Counter()
    for dice in rounds:
        while rounds.go_on():
            seeds = [Dice(f"{dice.seed} {ends.total()} {number}") for number in range(AT_ONCE)]
            try:
                ends.update(await asyncio.gather(*(sample(root, one) for one in seeds)))
            except AssertionError as fault:
                raise AssertionError(dice.seed) from fault
    rounds.tell(f"frames: {ends.total()} damaged streams, {dict(ends)}")
