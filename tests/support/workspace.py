"""Writes workspaces for tests: `promptkit.yaml`, prompts, and any other file."""

import json
from pathlib import Path
from typing import Any, Self

Json = Any


class Workspace:
    """A workspace folder under construction; every method writes at once and returns it again.

    What is given as plain data is written as JSON, which is YAML; to test a spelling, `write` it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    @property
    def uri(self) -> str:
        """The root as clients name it."""
        return self.root.as_uri()

    def write(self, path: str, content: str | bytes) -> Self:
        """Writes one file below the root, folders included."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return self

    def settings(
        self, *, backends: dict[str, Json], profiles: dict[str, Json], **more: Json
    ) -> Self:
        """Writes `promptkit.yaml`."""
        content = {"version": 1, "backends": backends, "profiles": profiles, **more}
        return self.write("promptkit.yaml", json.dumps(content, ensure_ascii=False))

    def scripted(self, *replies: Json, **backend: Json) -> Self:
        """Settings with one scripted backend `script` and its profile `p`; no reply is an echo."""
        script = {"kind": "scripted", **backend}
        if replies:
            script["replies"] = list(replies)
        return self.settings(
            backends={"script": script}, profiles={"p": {"backend": "script", "model": "m"}}
        )

    def prompt(self, prompt_id: str, *messages: str | tuple[str, str] | Json, **more: Json) -> Self:
        """Writes a prompt; a message is a user's text, `(role, text)`, or the whole object."""
        content = {**more, "messages": [_message(message) for message in messages]}
        return self.write(
            f"prompts/{prompt_id}.prompt.yaml", json.dumps(content, ensure_ascii=False)
        )


def _message(message: Json) -> Json:
    match message:
        case str():
            return {"role": "user", "content": message}
        case (role, content):
            return {"role": role, "content": content}
        case _:
            return message


def echoing(root: Path) -> Workspace:
    """A workspace whose prompt `ask` sends `{{ text }}` to a backend that echoes it."""
    return Workspace(root).scripted().prompt("ask", "{{ text }}", profile="p")
