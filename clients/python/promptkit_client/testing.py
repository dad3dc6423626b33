"""Tests of what is built on PromptKit: a workspace whose model is a script, and what it was sent.

Needs no test framework; `pytest_plugin` makes a fixture of it.
"""

import asyncio
import inspect
import json
import re
import shutil
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar, cast

from promptkit_client._codec import encode
from promptkit_client.client import Client
from promptkit_client.connect import connect
from promptkit_client.errors import GenerateError
from promptkit_client.requests import Action, Turn
from promptkit_client.types import GenerateParams, GenerateResult, Message, RunResult

T = TypeVar("T")
Answer = Any
"""A reply: a text; a tuple of pieces; a dict or list, sent as JSON; a `GenerateResult`; an error to
be raised, such as a `GenerateError`; or a function of the call that gives any of these."""

_PROFILE = "test"
_BACKEND = {"kind": "client", "retry": {"attempts": 3, "baseDelay": 0.001, "maxDelay": 0.01}}


class Sent:
    """One call of the model: `prompt`, `messages`, and `text`, the last of them; all in `call`."""

    def __init__(self, call: GenerateParams) -> None:
        self.call = call

    @property
    def prompt(self) -> str:
        """The prompt's id."""
        return self.call.prompt_id

    @property
    def messages(self) -> tuple[Message, ...]:
        """Everything that was sent, in order."""
        return self.call.messages

    @property
    def text(self) -> str:
        """The content of the last message."""
        return self.call.messages[-1].content

    @property
    def said(self) -> list[tuple[str, str]]:
        """Role and content of every message, for comparing."""
        return [(message.role, message.content) for message in self.call.messages]

    def __repr__(self) -> str:
        return f"<{self.prompt}: {textwrap.shorten(self.text, 60)}>"


class Actions:
    """A callback for `Client.coordinate` that gives one action after the other, and its turns."""

    def __init__(self, actions: Sequence[Action | Exception]) -> None:
        self._left = list(actions)
        self.turns: list[Turn] = []

    @property
    def results(self) -> list[RunResult]:
        """What was delivered."""
        return [turn.result for turn in self.turns if turn.result is not None]

    async def __call__(self, turn: Turn) -> Action:
        """The next action; raises what stands in its place, and `AssertionError` after the last."""
        self.turns.append(turn)
        if not self._left:
            raise AssertionError(f"no action is left for turn {turn.delivery_index}: {turn}")
        action = self._left.pop(0)
        if isinstance(action, Exception):
            raise action
        return action


class _Entry:
    def __init__(self, answer: Answer, prompt: str, contains: str) -> None:
        self.answer = answer
        self.prompt = prompt
        self.contains = contains

    def fits(self, sent: Sent) -> bool:
        return fnmatchcase(sent.prompt, self.prompt) and self.contains in sent.text


class PromptKit:
    """A workspace in a folder of its own; the model of all its profiles is a script.

    `sent` is every call that was made of the model, in order.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sent: list[Sent] = []
        self._script: list[_Entry] = []
        self._head = "version: 1\n"
        self._backend: dict[str, Any] = dict(_BACKEND)
        self._profiles: dict[str, Any] = {_PROFILE: {"backend": _PROFILE, "model": "scripted"}}
        (root / "prompts").mkdir(parents=True, exist_ok=True)
        self._write()

    # The workspace

    def prompt(self, name: str, messages: str | Sequence[Mapping[str, Any]], **keys: Any) -> str:
        """Writes a prompt, of one user message or of many; `keys` are those of the file."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        path = self.root / "prompts" / f"{name}.prompt.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        definition = {"profile": _PROFILE, **keys, "messages": list(messages)}
        path.write_text(json.dumps(definition), encoding="utf-8")  # JSON is YAML
        return name

    def workspace(self, folder: str | Path, *, profiles: Sequence[str] = ()) -> None:
        """Copies a real workspace; the script stands in for every profile that its prompts name.

        `profiles` are further ones, which only requests name.
        """
        shutil.copytree(folder, self.root, dirs_exist_ok=True, ignore=_not_of_a_workspace)
        settings = (self.root / "promptkit.yaml").read_text(encoding="utf-8")
        self._head = "version: 1\n" + _block("prompts", settings) + _block("inputs", settings)
        found = set(profiles)
        for path in self.root.rglob("*.prompt.yaml"):
            text = path.read_text(encoding="utf-8")
            found |= set(re.findall(r"^profile:\s*([\w./-]+)", text, re.MULTILINE)[:1])
        for name in sorted(found):
            self._profiles[name] = {"backend": _PROFILE, "model": name}
        self._write()

    def backend(self, **keys: Any) -> None:
        """Sets keys of the backend, such as `capacity=1`."""
        self._backend.update(keys)
        self._write()

    def _write(self) -> None:
        settings = {"backends": {_PROFILE: self._backend}, "profiles": self._profiles}
        lines = [f"{name}: {json.dumps(value)}\n" for name, value in settings.items()]
        text = self._head + "".join(lines)
        (self.root / "promptkit.yaml").write_text(text, encoding="utf-8")

    # The script

    def reply(self, *answers: Answer, prompt: str = "*", contains: str = "") -> None:
        """Adds answers, each for one call: the first that fits a call answers it.

        Args:
            answers: see `Answer`.
            prompt: the prompt's id, `*` for any part of it.
            contains: what the last message must contain.
        """
        self._script += [_Entry(answer, prompt, contains) for answer in answers]

    @property
    def left(self) -> list[Answer]:
        """The answers that no call has got."""
        return [entry.answer for entry in self._script]

    def actions(self, *actions: Action | Exception) -> Actions:
        """A callback for `Client.coordinate` that gives these, and keeps its turns."""
        return Actions(actions)

    async def generate(self, call: GenerateParams) -> AsyncIterator[str | GenerateResult]:
        """The model, to be given to `connect(generate=…)` where a test connects by itself."""
        sent = Sent(call)
        self.sent.append(sent)
        entry = next((entry for entry in self._script if entry.fits(sent)), None)
        if entry is None:
            raise GenerateError(f"promptkit.reply(…) has no answer left for {sent}")
        self._script.remove(entry)
        answer = entry.answer
        if callable(answer):
            answer = answer(call)
            if inspect.isawaitable(answer):
                answer = await answer
        match answer:
            case BaseException():
                raise answer
            case tuple():
                for piece in cast("tuple[str, ...]", answer):
                    yield piece
            case str() | GenerateResult():
                yield answer
            case _:
                yield json.dumps(encode(answer), ensure_ascii=False)

    # The server

    def connect(self, **options: Any) -> AbstractAsyncContextManager[Client]:
        """A client of a new server on the workspace; takes what `promptkit_client.connect` does."""
        options.setdefault("generate", self.generate)
        return connect(self.root, **options)

    def run(self, program: Callable[[Client], Awaitable[T]], *, bound: float = 60.0) -> T:
        """Runs an async function with such a client, from a test that is not async.

        A function that takes more than `bound` seconds fails with `TimeoutError`.
        """

        async def main() -> T:
            async with asyncio.timeout(bound), self.connect() as client:
                return await program(client)

        return asyncio.run(main())


def _not_of_a_workspace(_: str, names: list[str]) -> set[str]:
    return {name for name in names if name.startswith(".") or name in {"node_modules", "venv"}}


def _block(key: str, settings: str) -> str:
    """The lines of a key at the top of a YAML file, as they are."""
    found = re.search(rf"^{key}:.*\n?(?:^[ \t#-].*\n?|^\n)*", settings, re.MULTILINE)
    return f"{found[0].rstrip()}\n" if found else ""
