"""Sends whatever it is given to a daemon, and knows what must come back.

Every request is answered exactly once, under its own id where that can be read and under null where
it cannot; answers and whatever else comes fit the published schema; nothing is an internal error;
and afterwards the daemon still answers.
"""

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from attrs import frozen

from tests.fuzz.dice import Dice
from tests.support.contract import check_error, check_params, check_result
from tests.support.daemon import Daemon

Json = Any
INTERNAL = -32603
A_WHILE = 0.2
"""Seconds after which what is not answered is cancelled, for it may wait for this client."""

PATIENCE = 100
"""How often that is done before what was cancelled is taken to hang."""

OURS = (-32602, -32800, -32803)
OWN = re.compile(r'[0-9]{10}|"message [0-9]{6}"')
"""The ids that are given to messages, each once, before chance changes them."""

HEAD = 4096
"""Bytes of a body that cannot be used in which its id is looked for."""


@frozen(kw_only=True)
class Sent:
    """One body, and how it must be answered: `least` to `most` times, under its id or null."""

    body: bytes
    ident: Json = None
    method: Json = None
    least: int = 0
    most: int = 1
    plain: bool = False
    """Whether it is JSON beyond doubt, so that nobody may fail to see its id."""


def sent(body: bytes) -> Sent:
    """What a body is to a reader that takes everything that Python takes for JSON."""
    try:
        message = json.loads(body.decode(), parse_int=_integer, parse_constant=_constant)
    except (ValueError, RecursionError):
        return Sent(body=body)
    if not isinstance(message, dict):
        return Sent(body=body, least=1)
    members = cast("dict[str, Json]", message)
    ident, method = members.get("id"), members.get("method")
    if "method" not in members:
        return Sent(body=body)
    if "id" not in members:
        return Sent(body=body, method=method)
    if isinstance(ident, bool) or not isinstance(ident, int | str):
        return Sent(body=body, least=1, method=method)
    return Sent(body=body, ident=ident, method=method, least=1, plain=_plain(body))


def _integer(digits: str) -> int:
    return int(digits) if len(digits) < 1000 else 0


def _constant(_: str) -> None:
    return None


def _plain(body: bytes) -> bool:
    """Whether no reader could stumble over it; the test looks for more than there is to fear."""
    odd = (b"NaN", b"Infinity", b"\\ud", b"\\uD", b"9" * 1000, b"e3", b"E3")
    deep = body.count(b"[") + body.count(b"{") > 300
    return len(body) < HEAD and not deep and not any(one in body for one in odd)


class Split(Daemon):
    """A daemon whose input comes in pieces of any size."""

    def __init__(self, root: Path, dice: Dice, **client: Json) -> None:
        super().__init__(root, **client)
        self._dice = dice
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None

    async def launch(self) -> None:
        await super().launch()
        self._pump = asyncio.create_task(self._write())

    async def kill(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
        await super().kill()

    def put(self, data: bytes) -> None:
        self._outbox.put_nowait(data)

    async def write(self, data: bytes) -> None:
        self.put(data)

    async def _write(self) -> None:
        assert self.process.stdin
        while True:
            data, at = await self._outbox.get(), 0
            while at < len(data):
                size = self._dice.one(1, 3, 100, 5_000, 100_000, 1_000_000)
                with suppress(ConnectionError):
                    super().put(data[at : at + size])
                    await self.process.stdin.drain()
                at += size


class Fuzz:
    """A daemon under fire; leave the block to hear what was wrong at its end."""

    def __init__(self, root: Path, dice: Dice, **client: Json) -> None:
        self.daemon = Split(root, Dice(f"{dice.seed} split"), **client)
        self.dice = dice
        self.tried = 0
        self.answered: Counter[str] = Counter()
        self._statuses = 0
        self._open: defaultdict[str, list[Sent]] = defaultdict(list)
        """What has to be answered still, by its id, which may be used more than once."""
        self._done: dict[str, Sent] = {}
        self._nulls = 0
        """Answers under null, or under what looked like the id of a body that nobody can read."""
        self._least = self._most = 0
        """How many of those there must and may be."""

    async def __aenter__(self) -> Self:
        await self.daemon.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                await self._until(lambda: self._nulls >= self._least + self._unclear())
                assert self._nulls <= self._most + self._unclear(), self.dice.seed
        finally:
            await self.daemon.__aexit__(kind, error, traceback)
        if kind is None:
            assert " raised " not in self.daemon.stderr, self.daemon.stderr
            assert "never" not in self.daemon.stderr, self.daemon.stderr

    async def batch(self, bodies: Sequence[bytes]) -> list[Json]:
        """Sends bodies, split anywhere, and waits for the answers, which are held to the rules."""
        for one in map(sent, bodies):
            if one.ident is None:
                self._least += one.least
                self._most += one.most
            else:
                self._open[_key(one.ident)].append(one)
        self.tried += len(bodies)
        await self.daemon.write(b"".join(self._frame(body) for body in bodies))
        answers = await self._until(lambda: not self._missing())
        for message in self.daemon.log:
            if "method" in message:
                check_params(message["method"], message["params"])
        self.daemon.log.clear()
        self.daemon.received.clear()
        return answers

    async def _until(self, settled: Callable[[], bool]) -> list[Json]:
        """Takes answers until all is settled; what waits for this client for ever is cancelled."""
        answers: list[Json] = []
        for _ in range(PATIENCE):
            with suppress(TimeoutError):
                async with asyncio.timeout(A_WHILE):
                    while True:
                        check_result("promptkit/session/status", await self._status())
                        answers += self._taken()
                        if settled():
                            return answers
            for one in self._missing():
                await self.daemon.notify("$/cancelRequest", {"id": one.ident})
        raise AssertionError(f"unanswered: {self._missing()} {self._open}, {self.dice.seed}")

    async def _status(self) -> Json:
        """Asks under an id that no damage to another one makes."""
        self._statuses += 1
        ident = f"status of {self._statuses}"
        return await self.daemon.start("promptkit/session/status", request_id=ident)

    def _frame(self, body: bytes) -> bytes:
        """A frame with one of the headers that are allowed."""
        name = self.dice.one(b"Content-Length", b"content-length", b"CONTENT-LENGTH ")
        fields = [b"%b:%b%d" % (name, self.dice.one(b" ", b"", b"\t 0"), len(body))]
        if self.dice.often(0.2):
            fields.append(b"Content-Type: application/vscode-jsonrpc; charset=utf-8")
        if self.dice.often(0.1):
            fields.append(b"X-%b: %b" % (self.dice.one(b"A", b"-", b"b!"), b":" * 20))
        self.dice.random.shuffle(fields)
        end = self.dice.one(b"\r\n", b"\n")
        return b"".join(field + end for field in fields) + end + body

    def _missing(self) -> list[Sent]:
        """What must be answered under its own id and was not so far."""
        return [one for open_ in self._open.values() for one in open_ if one.plain]

    def _unclear(self) -> int:
        """How many others were not, which may have been answered under null."""
        return sum(map(len, self._open.values()))

    def _taken(self) -> list[Json]:
        """The answers that have come, each the first to its request."""
        answers, self.daemon.strays[:] = self.daemon.strays[:], []
        for answer in answers:
            key = _key(answer["id"])
            asked = sorted(self._open.pop(key, []), key=lambda one: not one.plain)
            if asked:
                self._done[key] = asked[0]
                self._open[key] = asked[1:]
            else:
                # An id that chance made may stand in a body that nobody can read, too.
                twice = key in self._done and OWN.fullmatch(key)
                assert not twice, f"answered twice: {self._done[key]}, {self.dice.seed}"
                self._nulls += 1
            try:
                self._check(answer, asked)
            except AssertionError as fault:
                raise AssertionError(f"{asked}\n{str(answer)[:2000]}\n{self.dice.seed}") from fault
        return answers

    def _check(self, answer: Json, asked: list[Sent]) -> None:
        if "result" in answer:
            assert asked
            self.answered["results"] += 1
            if len(asked) == 1:
                check_result(asked[0].method, answer["result"])
            return
        error = answer["error"]
        match error:
            case {"data": {"kind": str(kind)}}:
                self.answered[kind] += 1
            case _:
                self.answered[str(error["code"])] += 1
        assert isinstance(error["message"], str)
        assert error["code"] != INTERNAL
        if error["code"] in OURS and "data" in error:
            check_error({k: v for k, v in error["data"].items() if k not in _OF_INITIALIZE})
            assert error["data"]["kind"] != "internal"


_OF_INITIALIZE = ("offered", "supported")


def _key(ident: Json) -> str:
    return json.dumps(ident)
