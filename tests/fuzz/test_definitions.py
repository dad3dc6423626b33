"""Definition files with anything changed in them, read, listed, inspected and run by the daemon.

As for messages, the long form, `-m load`, goes on for `PROMPTKIT_FUZZ_SECONDS` (80).
"""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from tests.fuzz import seeds
from tests.fuzz.dice import Dice, damaged, encoded, mutated
from tests.fuzz.rounds import ROUNDS, Rounds
from tests.support.contract import check_error, check_result
from tests.support.daemon import Daemon, RpcError
from tests.support.workspace import Workspace

Json = Any
FILES = 12
"""Prompts in a batch."""


class Asker:
    """Asks, and counts what comes of it: a result or an error of a kind, never an internal one."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self.ends: Counter[str] = Counter()

    async def ask(self, method: str, params: Json) -> Json:
        """The result, or None where it is an error."""
        call = self._daemon.start(method, params)
        await call.settled()
        match call.answer.exception():
            case None:
                self.ends["result"] += 1
                check_result(method, call.answer.result())
                return call.answer.result()
            case RpcError(data={"kind": str(kind)} as data) as error:
                check_error(data)
                assert kind != "internal", (method, params, error.message)
                self.ends[kind] += 1
                return None
            case other:
                raise other

    async def all_of_it(self) -> None:
        """Reads the workspace, and uses whatever of it is left."""
        reloaded = await self.ask("promptkit/engine/reload", {})
        self.ends["problems"] += len(reloaded["problems"])
        backends = await self.ask("promptkit/backend/list", {}) or {"items": ()}
        for backend in backends["items"]:
            await self.ask("promptkit/backend/inspect", {"backend": backend["name"]})
        scripted = {one["name"] for one in backends["items"] if one["kind"] == "scripted"}
        profiles = await self.ask("promptkit/profile/list", {}) or {"items": ()}
        for profile in profiles["items"]:
            await self.ask("promptkit/profile/inspect", {"profile": profile["name"]})
        usable = [one["name"] for one in profiles["items"] if one["backend"] in scripted]
        listed = await self.ask("promptkit/prompt/list", {}) or {"items": ()}
        names = [prompt["name"] for prompt in listed["items"]]
        for number, name in enumerate((*names, *(f"p{number}" for number in range(FILES)))):
            await self.ask("promptkit/prompt/inspect", {"promptId": name})
            for profile in usable[:2]:
                params: Json = {"promptId": name, "profile": profile, "timeoutMs": 2000}
                if number % 2:
                    params["variables"] = {"case": "bridge", "question": "why", "list": []}
                await self.ask("promptkit/run", params)


def broken(dice: Dice, text: str) -> bytes:
    """A file's text with something changed: bytes, lines, words, or its tree."""
    kind = dice.upto(5)
    if kind == 0:
        return text.encode()
    if kind == 1:
        return damaged(dice, text.encode())
    if kind == 2:
        lines = text.splitlines(keepends=True)
        for _ in range(1 + dice.upto(2)):
            at, to = dice.upto(len(lines) - 1), dice.upto(len(lines) - 1)
            lines[at : at + dice.upto(2)] = [
                dice.one(lines[to], f"  {lines[to]}", lines[to].lstrip())
            ]
        return "".join(lines).encode()
    if kind == 3:
        tree = msgspec.yaml.decode(text)
        return encoded(mutated(dice, tree))
    for _ in range(1 + dice.upto(2)):
        at = dice.upto(len(text))
        text = text[:at] + dice.one(*seeds.SCRAPS) + text[at + dice.upto(5) :]
    return text.encode("utf-8", "surrogatepass")


def write(dice: Dice, workspace: Workspace) -> None:
    """A workspace in which mostly the prompts are broken, and sometimes all the rest too."""
    whole = dice.often(0.5)
    settings = seeds.SETTINGS if whole else broken(dice, seeds.SETTINGS)
    workspace.write("promptkit.yaml", settings)
    workspace.write("replies.yaml", seeds.REPLIES if whole else broken(dice, seeds.REPLIES))
    for name, content in seeds.OTHERS.items():
        workspace.write(name, damaged(dice, content) if dice.often(0.2) else content)
    for number in range(FILES):
        text = broken(dice, dice.one(*seeds.PROMPTS))
        workspace.write(f"prompts/p{number}.prompt.yaml", text)


@ROUNDS
async def test_whatever_stands_in_a_file_it_is_told_or_used(tmp_path: Path, rounds: Rounds) -> None:
    """SEC-4, SEC-2: every request about it is answered, and none with an internal error."""
    workspace = Workspace(tmp_path)
    ends: Counter[str] = Counter()
    files = 0
    for dice in rounds:
        async with Daemon(workspace.root) as daemon:
            asker = Asker(daemon)
            while rounds.go_on():
                write(dice, workspace)
                files += FILES + 2
                try:
                    await asker.all_of_it()
                except (AssertionError, ConnectionError) as fault:
                    raise AssertionError(dice.seed) from fault
                daemon.log.clear()
                daemon.received.clear()
            ends += asker.ends
        assert daemon.stderr == "", dice.seed
    rounds.tell(f"definition files: {files} broken, {dict(ends.most_common())}")
