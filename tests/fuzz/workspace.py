"""A workspace in which nearly everything can be reached by chance."""

from pathlib import Path
from typing import Any

from tests.support.workspace import Workspace

Json = Any
PROFILES = ("echo", "script", "host", "http", "narrow", "claude")
PROMPTS = ("ask", "odd/session", "odd/input", "odd/schema", "odd/logic")


def written(root: Path, url: str) -> Workspace:
    """The workspace; `url` is a provider's."""
    http: Json = {
        "baseUrl": url,
        "timeouts": {"connect": 5, "read": 0.05, "total": 1},
        "retry": {"attempts": 2, "baseDelay": 0, "maxDelay": 0.01},
    }
    replies: list[Json] = [
        {"match": {"contains": "fault"}, "fault": {"status": 529}},
        {"match": {"regex": "a+"}, "json": {"name": "a", "n": 1}, "usage": {"inputTokens": 3}},
        {"content": "{{ lastUser }} {{ turn }}", "times": 1000},
        {"chunks": ["one ", "two"], "finishReason": "length"},
    ]
    backends: dict[str, Json] = {
        "echo": {"kind": "scripted"},
        "script": {"kind": "scripted", "replies": replies, "retry": {"baseDelay": 0}},
        "host": {"kind": "client"},
        "http": {"kind": "openai", **http},
        "narrow": {
            "kind": "openai",
            "capacity": 1,
            "queue": 2,
            "credential": {"client": "k"},
            **http,
        },
        "claude": {"kind": "anthropic", **http},
    }
    profiles = {name: {"backend": name, "model": "m"} for name in PROFILES}
    text = {"type": "string"}
    return (
        Workspace(root)
        .settings(backends=backends, profiles=profiles)
        .write("data/a.txt", "input")
        .prompt("ask", "{{ text }}", profile="echo")
        .prompt(
            "odd/session", ("system", "s"), "{{ text }}", session="s-{{ text }}", profile="script"
        )
        .prompt("odd/input", "{{ inputs.i }}", inputs={"i": {"file": "data/{{ text }}.txt"}})
        .prompt(
            "odd/schema",
            {"role": "user", "content": "{{ text }}", "cache": {"type": "ephemeral"}},
            output={
                "format": "schema",
                "schema": {"type": "object", "required": ["n"]},
                "repairs": 1,
            },
            profile="script",
            variables={"text": text, "n": {"type": "integer", "default": 1}},
        )
        .prompt(
            "odd/logic", "{% for k in text %}{{ k | upper }}{% else %}{{ text.a[0] }}{% endfor %}"
        )
    )
