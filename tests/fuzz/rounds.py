"""How long a fuzzer goes on: in the short form for a few rounds with the same dice, else a time."""

import os
import secrets
import time
from collections.abc import Iterator

import pytest

from tests.fuzz.dice import Dice
from tests.support.figures import tell

SECONDS = float(os.environ.get("PROMPTKIT_FUZZ_SECONDS", "80"))
SEED = os.environ.get("PROMPTKIT_FUZZ_SEED")
BATCHES = 3
"""Batches of a daemon in the short form."""

AT_A_TIME = 10.0
"""Seconds that a daemon is kept in the long form; then a new one with new dice takes its place."""


class Rounds:
    """Gives dice for one daemon after the other, and says how long each goes on."""

    def __init__(self, *, long: bool) -> None:
        self._long = long
        self._left = 0
        self._end = self._turn_end = 0.0

    def __iter__(self) -> Iterator[Dice]:
        if not self._long:
            self._left = BATCHES
            yield Dice(SEED or "short")
            return
        self._end = time.monotonic() + SECONDS
        while time.monotonic() < self._end:
            self._turn_end = min(self._end, time.monotonic() + AT_A_TIME)
            yield Dice(SEED or secrets.token_hex(8))

    def go_on(self) -> bool:
        """Whether there is time for one more batch."""
        if self._long:
            return time.monotonic() < self._turn_end
        self._left -= 1
        return self._left >= 0

    def tell(self, line: str) -> None:
        """Says at the end what was done."""
        if self._long:
            tell(line)


ROUNDS = pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(Rounds(long=False), id="short"),
        pytest.param(Rounds(long=True), id="long", marks=pytest.mark.load),
    ],
)
