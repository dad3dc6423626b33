"""What differs from session to session, and the stable words that stand for it in a transcript."""

import json
import re
from pathlib import Path
from typing import Any, cast

Json = Any

ROOT = "/workspace"
"""Stands for the folder of the workspace."""

_FIXED = {"time": 0, "waitedMs": 0, "delayMs": 0, "schemaHash": "0" * 16, "version": "0.0.0"}
_RUN_ID = re.compile(r"\brun-[0-9a-f]{20}\b")
_PLACEHOLDER = re.compile(r"\brun-[1-9][0-9]*\b")
_WAIT = re.compile(r"in [0-9.]+ s$")


class Placeholders:
    """The words of one session: run ids by first appearance, times as 0, the folder as `ROOT`."""

    def __init__(self, root: Path) -> None:
        self._root = root.as_posix()
        self._runs: dict[str, str] = {}

    def put(self, message: Json) -> Json:
        """The message as it stands in a transcript; run ids met for the first time are learnt."""
        text = json.dumps(_still(message), ensure_ascii=False)
        text = _RUN_ID.sub(lambda found: self._run(found[0]), text)
        return json.loads(text.replace(self._root, ROOT))

    def take(self, message: Json) -> Json:
        """A message of a transcript as it has to be said in this session."""
        real = {placeholder: run_id for run_id, placeholder in self._runs.items()}
        text = json.dumps(message, ensure_ascii=False)
        text = _PLACEHOLDER.sub(lambda found: real.get(found[0], found[0]), text)
        return json.loads(text.replace(ROOT, self._root))

    def _run(self, run_id: str) -> str:
        return self._runs.setdefault(run_id, f"run-{len(self._runs) + 1}")


def _still(value: Json, name: str = "") -> Json:
    """The value with its times stopped and the version of the server taken out."""
    if isinstance(value, dict):
        members = cast("dict[str, Json]", value)
        return {key: _still(member, key) for key, member in members.items()}
    if isinstance(value, list):
        return [_still(member) for member in cast("list[Json]", value)]
    if name == "message" and isinstance(value, str):
        return _WAIT.sub("in 0.0 s", value)
    return _FIXED.get(name, value)
