"""Sessions in which every kind of key is used and every kind of failure happens."""

import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.secrets.canaries import CANARIES, found, spelled
from tests.secrets.echoes import NAMES, echo
from tests.support.daemon import Daemon, RpcError
from tests.support.probe import PROBED
from tests.support.provider import Provider
from tests.support.workspace import Workspace

Json = Any
SOURCES = ("env", "file", "command", "client", "direct")
KINDS = ("openai", "anthropic")

PRINTER = "import sys; sys.stderr.write({0!r}); print({0!r})"
"""A command that also says its key where it should not."""


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def environment(log: Path) -> dict[str, str | None]:
    """What the daemon is started with; it logs all there is to a file."""
    return {
        "PROBE_LOG": str(log),
        "TEST_KEY": CANARIES["env"],
        "TEST_GATE": f" {CANARIES['gate']}\r",
        **dict.fromkeys((*PROXIES, *(name.upper() for name in PROXIES))),
    }


def written(root: Path, url: str) -> Workspace:
    """A workspace with a backend of each kind for each source of a key."""
    workspace = Workspace(root).write("key.txt", f"{CANARIES['file']}\r\n")
    sources: dict[str, Json] = {
        "env": {"env": "TEST_KEY"},
        "file": {"file": "key.txt"},
        "command": {"command": [sys.executable, "-c", PRINTER.format(CANARIES["command"])]},
        "client": {"client": "the-key"},
    }
    backends = {
        f"{kind}-{source}": {
            "kind": kind,
            "baseUrl": _address(url, kind),
            "headers": {"X-Gate": {"env": "TEST_GATE"}, "X-Api-Secret": CANARIES["fixed"]},
            "retry": {"attempts": 1},
            "timeouts": {"connect": 5, "read": 0.1},
            **({"credential": sources[source]} if source in sources else {}),
        }
        for kind in KINDS
        for source in SOURCES
    }
    profiles = {name: {"backend": name, "model": "m"} for name in backends}
    return workspace.settings(backends=backends, profiles=profiles).prompt("ask", "{{ text }}")


def _address(url: str, kind: str) -> str:
    return f"{url}{'/v1' if kind == 'openai' else ''}?key={CANARIES['query']}&plain=1"


class Session:
    """Drives the daemon, and keeps what became of each run."""

    def __init__(self, daemon: Daemon, provider: Provider) -> None:
        self.daemon = daemon
        self.provider = provider
        self.results: list[Json] = []
        self.errors: list[RpcError] = []
        daemon.on("promptkit/credential/get", lambda _: {"credential": CANARIES["client"]})

    async def run(self, kind: str, source: str, number: int, text: str, **more: Json) -> None:
        """One run whose provider sends the text back in the way of this number."""
        came = len(self.provider.requests)
        self.provider.play(echo(number, text, anthropic=kind == "anthropic"))
        params = {
            "promptId": "ask",
            "profile": f"{kind}-{source}",
            "variables": {"text": "a question"},
            "capture": True,
            "observe": "o",
            "workDoneToken": "w",
            **more,
        }
        if source == "direct":
            params["credential"] = CANARIES["direct"]
        if number % 2:
            params["partialResultToken"] = "p"
        try:
            self.results.append(await self.daemon.request("promptkit/run", params))
        except RpcError as error:
            self.errors.append(error)
        assert len(self.provider.requests) == came + 1

    async def everything(self, spellings: Iterable[str]) -> None:
        """Every source of a key with every way to send it back; also the keys beside it."""
        for how in spellings:
            for turn, source in enumerate(SOURCES):
                for number in NAMES:
                    keys = (source, "gate", "fixed", "query")
                    key = CANARIES[keys[(number + turn) % len(keys)] if how == "raw" else source]
                    if key == CANARIES["direct"] and source != "direct":
                        continue
                    text = spelled(key, how)
                    for kind in KINDS:
                        await self.run(kind, source, number, text)

    async def looked_at(self) -> None:
        """Asks for all that can be asked."""
        request = self.daemon.request
        for result in self.results:
            await request("promptkit/exchange/details", {"runId": result["runId"]})
        for noun, field in (("backend", "backend"), ("profile", "profile"), ("prompt", "promptId")):
            listed = await request(f"promptkit/{noun}/list")
            for item in listed["items"]:
                await request(f"promptkit/{noun}/inspect", {field: item["name"]})
        for profile in (f"{kind}-{source}" for kind in KINDS for source in SOURCES):
            params = {"promptId": "ask", "profile": profile, "variables": {"text": "a question"}}
            prepared = await request(
                "promptkit/prepare", params | {"credential": CANARIES["direct"]}
            )
            await request("promptkit/prepared/details", {"preparedId": prepared["preparedId"]})
        await request("promptkit/session/status")
        await request("promptkit/engine/reload")
        # Goes to the output like all the rest, and is looked through there.
        held = await request("test/probe", {"held": True})
        assert "a question" in held["held"]


def sent(provider: Provider) -> str:
    """All that the provider was sent."""
    return "\n".join(request.raw.decode("latin-1") for request in provider.requests)


@asynccontextmanager
async def watched(root: Path, log: Path, **env: str) -> AsyncGenerator[Daemon, None]:
    """A daemon of which nothing that it has written anywhere may hold a canary in the end."""
    command = (*PROBED, "debug")
    async with Daemon(root, command=command, env=environment(log) | env) as daemon:
        yield daemon
    logged = log.read_text()  # noqa: ASYNC240 - nothing else goes on any more
    seen = found("\n".join([bytes(daemon.received).decode(), daemon.stderr, logged]))
    assert not seen, "\n".join(seen[:20])
