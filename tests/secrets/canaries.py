"""Fake keys, every way to spell them, and a look for them in whatever left the daemon."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

CANARIES: Mapping[str, str] = {
    "env": "sk-canary-ENV/a+b=&c",
    "file": 'sk-canary-FILE"quoted\\and',
    "command": "sk-canary-COMMAND with space",
    "client": "sk-canary-CLIENT%41{x}",
    "direct": "sk-canary-DIRECT<&>'~",
    "gate": "canary-GATE-of-a-header",
    "fixed": "canary-FIXED-in-settings",
    "query": "canary-QUERY-in-the-url",
    "login": "canary-LOGIN-in-the-url",
    "proxy": "canary-PROXY-of-the-environment",
}
"""By the place they come from; with all that needs escaping somewhere."""

SPELLED = ("raw", "json", "url", "base64")

_OFFSETS = 3


def spelled(key: str, how: str, before: str = "") -> str:
    """A key as a provider may send it back; `before` shifts the groups of base64."""
    match how:
        case "json":
            return json.dumps(key)[1:-1]
        case "url":
            return quote(key, safe="")
        case "base64":
            return base64.b64encode(f"{before}{key}".encode()).decode()
        case _:
            return key


def _forms(key: str) -> Iterator[str]:
    yield key
    once = json.dumps(key)[1:-1]
    yield once
    yield json.dumps(once)[1:-1]
    for escaped in (quote(key, safe=""), quote(key), quote_plus(key), quote(key, safe="/:+=&")):
        yield escaped
        yield re.sub("%..", lambda found: found[0].lower(), escaped)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(_OFFSETS):
            # What stands before and after the key changes the characters at both ends.
            whole = encode(b"?" * offset + key.encode() + b"?" * _OFFSETS).decode()
            yield whole[4:-8]


_NEEDLES = {name: tuple(set(_forms(key))) for name, key in CANARIES.items()}


def found(text: str) -> list[str]:
    """Which canaries stand in a text in any spelling, each with what surrounds it."""
    seen: list[str] = []
    for name, needles in _NEEDLES.items():
        for needle in needles:
            at = text.find(needle)
            if at != -1:
                seen.append(f"{name}: …{text[max(0, at - 80) : at + len(needle) + 40]}…")
    return seen
