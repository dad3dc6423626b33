"""A daemon in every state in which its client may leave it."""

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from attrs import define

from tests.support.daemon import Daemon, Outgoing
from tests.support.frames import frame
from tests.support.provider import End, Provider, delta, events, refusal
from tests.support.workspace import Workspace

Json = Any

SLEEPER = """
import os, signal, sys
open(sys.argv[1], "w").write(str(os.getpid()))
signal.alarm(100)
signal.pause()
"""
"""A command for a key that says who it is and takes far too long."""

ENDLESS = "{% for a in range(1000) %}{% for b in range(1900) %}{{ a * b }}{% endfor %}{% endfor %}"
"""A template that takes a while, in a thread that nothing can stop."""


@define
class Left:
    """A daemon, what it was asked, and whether its provider has a connection of it."""

    daemon: Daemon
    calls: list[Outgoing]
    provider: Provider
    connected: int = 0


def written(root: Path, provider: Provider) -> Workspace:
    """A workspace with a backend for each state."""
    late = {"content": "at last", "delay": 86400}
    slow: Json = {"kind": "openai", "baseUrl": provider.url}
    command = [sys.executable, "-c", SLEEPER, str(root / "pid")]
    backends: dict[str, Json] = {
        "echo": {"kind": "scripted"},
        "late": {"kind": "scripted", "capacity": 1, "replies": [late]},
        "http": slow | {"retry": {"attempts": 3, "baseDelay": 50, "maxDelay": 50}},
        "host": {"kind": "client"},
        "keyed": slow | {"credential": {"client": "key"}},
        "command": slow | {"credential": {"command": command}},
    }
    return (
        Workspace(root)
        .settings(
            backends=backends, profiles={name: {"backend": name, "model": "m"} for name in backends}
        )
        .prompt("ask", "{{ text }}")
        .prompt("endless", ENDLESS)
    )


def run(left: Left, profile: str, **more: Json) -> Outgoing:
    """Starts a run."""
    params = {"promptId": "ask", "profile": profile, "variables": {"text": "x"}, "observe": "o"}
    call = left.daemon.start("promptkit/run", params | more)
    left.calls.append(call)
    return call


async def observed(left: Left, kind: str) -> None:
    """Waits for an observation."""
    await left.daemon.notification(
        "promptkit/observation", lambda params: params["event"]["kind"] == kind
    )


async def idle(left: Left) -> None:
    await left.daemon.request("promptkit/session/status")


async def waiting_for_a_lease(left: Left) -> None:
    run(left, "late")
    await observed(left, "attemptStarted")
    run(left, "late")
    status: Json = {"engines": [{"backends": [{"waiting": 0}]}]}
    while not status["engines"][0]["backends"][0]["waiting"]:
        status = await left.daemon.request("promptkit/session/status")


async def in_flight(left: Left) -> None:
    left.provider.play((End.NEVER,))
    run(left, "http")
    await left.provider.arrived(1)
    left.connected = 1


async def streaming(left: Left) -> None:
    left.provider.play((*events(delta("begun"), end=False), End.NEVER))
    run(left, "http", partialResultToken="text")
    await left.daemon.notification("$/progress")
    left.connected = 1


async def in_backoff(left: Left) -> None:
    left.provider.play((*refusal(429, {"error": {"message": "slow down"}}), End.CLOSE))
    run(left, "http")
    await observed(left, "retryScheduled")


async def asking_for_the_next_action(left: Left) -> None:
    start = await run(left, "echo", capture=True)
    params = {"exchange": start["runId"], "additionalTurns": 1}
    left.calls.append(left.daemon.start("promptkit/coordinate", params))
    await left.daemon.incoming("promptkit/coordinator/next")


async def asking_for_a_generation(left: Left) -> None:
    run(left, "host")
    await left.daemon.incoming("promptkit/backend/generate")


async def asking_for_a_key(left: Left) -> None:
    run(left, "keyed")
    await left.daemon.incoming("promptkit/credential/get")


async def waiting_for_a_command(left: Left) -> None:
    run(left, "command")
    assert left.daemon.root
    while not (left.daemon.root / "pid").exists():
        await idle(left)


async def rendering(left: Left) -> None:
    run(left, "echo", promptId="endless")
    await idle(left)


async def inside_a_frame(left: Left) -> None:
    run(left, "echo")
    await left.daemon.write(frame({"jsonrpc": "2.0", "method": "exit"})[:-1])


async def shut_down(left: Left) -> None:
    await in_flight(left)
    await left.daemon.request("shutdown")


State = Callable[[Left], Awaitable[None]]
STATES: Mapping[str, State] = {
    state.__name__: state
    for state in (
        idle,
        waiting_for_a_lease,
        in_flight,
        streaming,
        in_backoff,
        asking_for_the_next_action,
        asking_for_a_generation,
        asking_for_a_key,
        waiting_for_a_command,
        rendering,
        inside_a_frame,
        shut_down,
    )
}
"""Each brings a daemon that has just been greeted into the state."""


FEW = ("in_flight", "streaming", "in_backoff", "asking_for_the_next_action")
"""Those that the short forms try."""


async def brought(
    stack: AsyncExitStack,
    root: Path,
    names: Iterable[str],
    make: Callable[[Path], Daemon] = Daemon,
) -> list[Left]:
    """A daemon in each of the states; they end with the stack."""
    lefts: list[Left] = []
    for name in names:
        provider = await stack.enter_async_context(Provider())
        workspace = written(root / name, provider)
        daemon = await stack.enter_async_context(make(workspace.root))
        lefts.append(Left(daemon, [], provider))
        await STATES[name](lefts[-1])
    return lefts
