"""What is measured: a name, and a function from a number of times to the CPU seconds they took.

`EACH` says of how many things one time consists, where it is more than one. A worker of pyperf runs
one measure only, so what a measure needs is made with its first call.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.bench.bare import Poster
from tests.bench.child import Child, life_of, spawn

Measure = Callable[[int], float]

LINE = 'He said "look", and the requirement was: each line is about eighty bytes long.\n'
TURNS = (10, 100, 1000, 10_000)
AT_ONCE = (1, 8, 32, 128, 512)
SIZES = {"1 KB": 1 << 10, "64 KB": 1 << 16, "1 MB": 1 << 20, "16 MB": 1 << 24}
CHUNKS = 500
_STEP = 100


def text(size: int) -> str:
    """Text of so many bytes."""
    return (LINE * (size // len(LINE) + 1))[:size]


@cache
def provider() -> int:
    """The port of a provider that answers at once."""
    process = spawn("-m", "tests.bench.bare", "provider", stdout=subprocess.PIPE)
    assert process.stdout
    return int(process.stdout.readline())


class Daemon(Child):
    """Ours, initialized; profile `offline` is scripted, `http` answers with `size` bytes."""

    def __init__(self, size: int = 1000, prompts: int = 0) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.root = Path(self._folder.name)
        url = f"http://127.0.0.1:{provider()}/{size}"
        key = {"env": "PROMPTKIT_BENCH_KEY"}
        backends = {
            "http": {"kind": "openai", "baseUrl": url, "credential": key},
            "offline": {"kind": "scripted"},
        }
        profiles = {name: {"backend": name, "model": "m"} for name in backends}
        settings = {"version": 1, "backends": backends, "profiles": profiles}
        (self.root / "prompts").mkdir()
        (self.root / "promptkit.yaml").write_text(json.dumps(settings))
        self.write("ask", '"{{ text }}"')
        for number in range(prompts):
            self.write(f"p{number}", "|\n" + "      Mind {{ one.two }}, and: colons.\n" * 90)
        super().__init__("-m", "promptkit_rpc", "serve")
        self.call("initialize", {"rootUri": self.root.as_uri(), "capabilities": {}})

    def write(self, name: str, content: str) -> None:
        """Writes a prompt file."""
        whole = f"messages:\n  - role: user\n    content: {content}\n"
        (self.root / "prompts" / f"{name}.prompt.yaml").write_text(whole)

    def run(self, profile: str = "http", size: int = 2000, **more: Any) -> bytes:
        """The frame of a run that asks with a text of so many bytes."""
        variables = {"text": text(size)}
        request = {"promptId": "ask", "profile": profile, "variables": variables, **more}
        return self.frame("promptkit/run", request)

    def ran(self, frame: bytes) -> str:
        """The run id of a run."""
        return json.loads(self.drive([frame])[0])["result"]["runId"]

    def chain(self, turns: int) -> str:
        """The run id of a captured conversation of so many turns of 2 KB a message."""
        told = [{"role": role, "content": text(2000)} for role in ("user", "assistant")]
        last = self.ran(self.run(capture=True, size=1))
        for start in range(1, turns, _STEP):
            messages = told * min(_STEP, turns - start)
            last = self.ran(self.run(size=1, messages=messages, continueFrom=last))
        return last


def cost(child: Child, frames: Sequence[bytes], at_once: int = 1) -> float:
    """CPU seconds of a program while it serves these, after some that do not count."""
    child.drive(frames[: max(at_once, 2)], at_once)
    began = child.cpu()
    child.drive(frames, at_once)
    return child.cpu() - began


# Starting


def bare_python(loops: int) -> float:
    """A Python that does nothing."""
    return sum(life_of(spawn("-c", "pass"), kill=False) for _ in range(loops))


def hello(loops: int) -> float:
    """From the start to the answer to `initialize`."""
    return sum(life_of(Daemon().process, kill=True) for _ in range(loops))


def first_run(loops: int) -> float:
    """From the start to a first scripted run."""
    total = 0.0
    for _ in range(loops):
        daemon = Daemon()
        daemon.ran(daemon.run("offline"))
        total += life_of(daemon.process, kill=True)
    return total


def cold(prompts: int, loops: int) -> float:
    """From the start to the list of so many prompts, of a hundred lines each."""
    total = 0.0
    for _ in range(loops):
        daemon = Daemon(prompts=prompts)
        daemon.call("promptkit/prompt/list", {})
        total += life_of(daemon.process, kill=True)
    return total


# The wire


@cache
def echo() -> Child:
    """The bare server."""
    child = Child("-m", "tests.bench.bare", "echo")
    child.callbacks["asked"] = {"action": "stop"}
    return child


@cache
def daemon(size: int = 1000) -> Daemon:
    """The one of this process."""
    child = Daemon(size)
    child.callbacks["promptkit/coordinator/next"] = {"action": "stop"}
    return child


def small(at_once: int, loops: int) -> float:
    """A small request."""
    child = daemon()
    return cost(child, [child.frame("promptkit/session/status", {})] * loops, at_once)


def bare_small(at_once: int, loops: int) -> float:
    """The same to the bare server."""
    return cost(echo(), [echo().frame("echo", {})] * loops, at_once)


@cache
def start() -> str:
    """An exchange to coordinate from."""
    return daemon().ran(daemon().run("offline", capture=True))


def callback(loops: int) -> float:
    """A request that makes the server ask its client."""
    params = {"exchange": start(), "additionalTurns": 0}
    frames = [daemon().frame("promptkit/coordinate", params) for _ in range(loops)]
    return cost(daemon(), frames)


def bare_callback(loops: int) -> float:
    """The same with the bare server."""
    return cost(echo(), [echo().frame("ask", {}) for _ in range(loops)])


# Runs


def runs(at_once: int, loops: int) -> float:
    """A run over HTTP, so many at once."""
    child = daemon()
    frames = [child.run() for _ in range(loops * at_once)]
    return cost(child, frames, at_once)


def streamed(loops: int) -> float:
    """A stream of `CHUNKS`, on to the client."""
    child = daemon(CHUNKS)
    frames = [child.run(partialResultToken=f"t{n}") for n in range(loops)]
    return cost(child, frames)


def sized(size: int, loops: int) -> float:
    """A run that asks with a text of so many bytes."""
    child = daemon()
    return cost(child, [child.run(size=size) for _ in range(loops)])


@cache
def chained(turns: int) -> str:
    """A conversation of so many turns."""
    return daemon().chain(turns)


def turn(turns: int, loops: int) -> float:
    """One more turn on a conversation of so many."""
    child, last = daemon(), chained(turns)
    return cost(child, [child.run(size=2000, continueFrom=last) for _ in range(loops)])


@cache
def poster(at_once: int = 1) -> Poster:
    """The bare client."""
    return Poster(provider(), at_once)


def body(messages: int, size: int, *, stream: bool = False) -> list[bytes]:
    """A request's body in parts."""
    message = json.dumps({"role": "user", "content": text(size)}).encode()
    parts = [b'{"model":"m","stream":%b,"messages":[' % (b"true" if stream else b"false")]
    return [*parts, *[message, b","] * (messages - 1), message, b"]}"]


def posted(
    loops: int, *, messages: int = 1, size: int = 2000, at_once: int = 1, chunks: int = 0
) -> float:
    """The same bytes posted by the bare client."""
    parts = body(messages, size, stream=bool(chunks))
    return poster(at_once).cost(f"/{chunks or 1000}/x", parts, loops)


MEASURES: dict[str, Measure] = {
    "bare: Python": bare_python,
    "start: initialize answered": hello,
    "start: first scripted run done": first_run,
    "start: 500 prompt files listed": partial(cold, 500),
    "start: 0 prompt files listed": partial(cold, 0),
    "small request": partial(small, 1),
    "bare: small request": partial(bare_small, 1),
    "small request, 32 in flight": partial(small, 32),
    "bare: small request, 32 in flight": partial(bare_small, 32),
    "callback": callback,
    "bare: callback": bare_callback,
    "streamed chunk": streamed,
    "bare: streamed chunk": partial(posted, chunks=CHUNKS),
    **{f"run, {n} at once": partial(runs, n) for n in AT_ONCE},
    **{f"bare: run, {n} at once": partial(posted, at_once=n) for n in AT_ONCE},
    **{f"turn on {n}": partial(turn, n) for n in TURNS},
    **{f"bare: turn on {n}": partial(posted, messages=2 * n) for n in TURNS},
    **{f"run, {name}": partial(sized, size) for name, size in SIZES.items()},
    **{f"bare: run, {name}": partial(posted, size=size) for name, size in SIZES.items()},
}

EACH: dict[str, int] = {
    "streamed chunk": CHUNKS,
    "bare: streamed chunk": CHUNKS,
    **{f"run, {n} at once": n for n in AT_ONCE},
    **{f"bare: run, {n} at once": n for n in AT_ONCE},
}
