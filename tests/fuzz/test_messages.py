"""Messages made from the published schema, and then broken, sent to the running daemon.

The short form sends the same few hundred each time. The long form, `-m load`, goes on with new ones
for `PROMPTKIT_FUZZ_SECONDS` (80); `PROMPTKIT_FUZZ_SEED` repeats one that failed.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.answers import script
from tests.fuzz.dice import Dice, Maker, damaged, encoded, mutated
from tests.fuzz.driver import Fuzz
from tests.fuzz.rounds import ROUNDS, Rounds
from tests.fuzz.workspace import PROFILES, PROMPTS, written
from tests.support.daemon import Daemon, RpcError
from tests.support.process import ROOT
from tests.support.provider import Provider

Json = Any
BATCH = 120

SCHEMA = json.loads((ROOT / "schema" / "promptkit.schema.json").read_text(encoding="utf-8"))
METHODS = [
    method
    for method in json.loads((ROOT / "schema" / "methods.json").read_text(encoding="utf-8"))[
        "methods"
    ]
    if method["direction"] == "clientToServer"
]
RUNS = [method for method in METHODS if method["params"] in ("RunParams", "CoordinateParams")] * 4
"""What there is most to try of."""

BASE = (
    "initialize",
    "initialized",
    "$/cancelRequest",
    "$/setTrace",
    "window/workDoneProgress/cancel",
)


class Client:
    """Makes messages, and answers the daemon's own requests as badly as it can."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.maker = Maker(dice, SCHEMA["$defs"])
        self.runs: list[str] = []
        self.groups: list[str] = []
        self.prepared: list[str] = []
        self.engines: list[str] = []
        self._number = 0
        choose: dict[str, Callable[[], Json]] = {
            "promptId": lambda: dice.one(*PROMPTS),
            "engineId": lambda: dice.one("default", None, *self.engines[-3:]),
            "root": lambda: dice.one(None, ".", "prompts", "..", "nowhere"),
            "variables": lambda: {"text": dice.one("a", "fault", dice.text(), dice.value(1))},
            "repairs": lambda: dice.upto(3),
            "credential": lambda: dice.one(None, "sk-canary-1", dice.text()),
            "schema": lambda: dice.one({"type": "string"}, {"required": ["n"]}, dice.value(1)),
            "extra": lambda: dice.one(None, {"top_k": 3}, {dice.text(): dice.value(1)}),
            "cache": lambda: dice.one(None, {"type": "ephemeral"}, {dice.text(): dice.value(1)}),
            "capture": lambda: dice.often(0.7) or None,
            "profile": lambda: dice.one(*PROFILES),
            "timeoutMs": lambda: 1 + dice.upto(200),
            "additionalTurns": lambda: dice.upto(3),
            "groups": lambda: [dice.one(*self.groups, "no")],
            "groupId": lambda: dice.one(*self.groups, "no"),
            "preparedId": lambda: dice.one(*self.prepared, "prepared-1"),
        }
        for name in ("runId", "exchange", "continueFrom"):
            choose[name] = lambda: dice.one(*self.runs, "no")
        self.maker.known = choose
        self.maker.always = frozenset({"engineId", "profile", "variables", "capture"})

    def messages(self) -> Iterator[bytes]:
        """One batch, as bodies; chance closes engines, so that there is always a new one."""
        self._number += 1
        opened: Json = {"jsonrpc": "2.0", "id": f"message {self._number:06}", "params": {}}
        yield encoded(opened | {"method": "promptkit/engine/open"})
        for _ in range(BATCH):
            self._number += 1
            yield self._body(self._message())

    def learn(self, answers: list[Json]) -> None:
        """Keeps handles for later messages; not too many of them."""
        for answer in answers:
            match answer.get("result"):
                case {"runId": str(run_id), "exchange": {}}:
                    self.runs.append(run_id)
                case {"groupId": str(group_id)}:
                    self.groups.append(group_id)
                case {"engineId": str(engine_id)}:
                    self.engines.append(engine_id)
                case {"preparedId": str(prepared_id)}:
                    self.prepared.append(prepared_id)
                case _:
                    pass
        for held in (self.runs, self.groups, self.prepared):
            del held[:-20]

    def attach(self, daemon: Daemon) -> None:
        """Serves the daemon's requests."""
        for method, type_ in (
            ("promptkit/coordinator/next", "NextResult"),
            ("promptkit/backend/generate", "GenerateResult"),
            ("promptkit/credential/get", "CredentialResult"),
        ):
            daemon.on(method, lambda _, type_=type_: self._answer(type_))

    async def _answer(self, type_: str) -> Json:
        kind = self.dice.upto(9)
        if kind == 0:
            raise RpcError(self.dice.one(1, -32000), self.dice.text(), self.dice.value(1))
        if kind == 1:
            await asyncio.Event().wait()  # for ever, if it is not cancelled
        value = self.maker.of(type_)
        return value if kind < 7 else mutated(self.dice, value)

    def _message(self) -> Json:
        dice = self.dice
        kind = dice.upto(19)
        ident = dice.one(7919 * self._number + 10**9, f"message {self._number:06}")
        if kind == 0:
            return {"jsonrpc": "2.0", "id": dice.value(1), "result": dice.value()}
        if kind == 1:
            return {"jsonrpc": "2.0", "id": dice.upto(50), "error": dice.value()}
        if kind == 2:
            return {
                "jsonrpc": "2.0",
                "method": dice.one(*BASE[1:], dice.text()),
                "params": dice.value(),
            }
        if kind == 3:
            return {
                "jsonrpc": "2.0",
                "id": ident,
                "method": dice.one(*BASE, dice.text()),
                "params": {},
            }
        method = dice.one(*METHODS, *RUNS)
        params = self.maker.of(method["params"])
        if method["method"] == "promptkit/engine/close":  # not the default one, which is needed
            params = {"engineId": self.engines.pop(0) if self.engines else "no"}
        if dice.often(0.4):
            params = mutated(dice, params)
        message = {"jsonrpc": "2.0", "id": ident, "method": method["method"], "params": params}
        if kind == 4:
            del message["id"]
        if kind == 5:
            message = mutated(dice, message)
        return message

    def _body(self, message: Json) -> bytes:
        body = encoded(message)
        return damaged(self.dice, body) if self.dice.often(0.1) else body


@ROUNDS
async def test_every_message_is_answered_as_it_must_be(tmp_path: Path, rounds: Rounds) -> None:
    """SEC-4, X-03, R-04, R-07, R-19, R-20: whatever it is, and never more than once."""
    async with Provider() as provider:
        workspace = written(tmp_path, provider.url)
        tried, answered = 0, Counter[str]()
        for dice in rounds:
            provider.endless(iter(lambda dice=dice: script(dice), None))
            client = Client(dice)
            async with Fuzz(workspace.root, dice) as fuzz:
                client.attach(fuzz.daemon)
                while rounds.go_on():
                    client.learn(await fuzz.batch(list(client.messages())))
                tried += fuzz.tried
                answered += fuzz.answered
        rounds.tell(f"messages: {tried} sent, answered {dict(answered.most_common())}")
