"""Nothing hangs when the server dies, says nonsense, is silent or is not there at all."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from promptkit_client import (
    STOP,
    Action,
    ConnectionLost,
    PromptKitError,
    Turn,
    connect,
    find_server,
)
from promptkit_client.types import GenerateParams

ADA = {"name": "Ada"}
HELLO = {
    "capabilities": {"experimental": {"promptkit": {"protocolVersion": 1, "schemaHash": "0"}}},
}

FAKE = """
import json, sys, time
def read():
    size = int(sys.stdin.buffer.readline().split(b":")[1]); sys.stdin.buffer.readline()
    message = json.loads(sys.stdin.buffer.read(size))
    return message if "id" in message else read()
def say(data):
    sys.stdout.buffer.write(data); sys.stdout.buffer.flush()
def answer(value):
    body = json.dumps({"jsonrpc": "2.0", "id": read()["id"], "result": value}).encode()
    say(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
"""


def fake(then: str) -> list[str]:
    """A server that answers `initialize` and then does something else."""
    return [sys.executable, "-c", f"{FAKE}\nanswer({json.dumps(HELLO)!s})\n{then}"]


def number(file: Path) -> int:
    """The number in a file."""
    return int(file.read_text())


async def killed(samples: Path, pid_file: Path, *, nested: bool) -> None:
    """A coordination and a run are open when the server is killed."""
    called, gate, left = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def generate(_: GenerateParams) -> str:
        await gate.wait()
        return ""

    command = ["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), *find_server()]
    async with connect(samples, generate=generate, command=command) as client, asyncio.timeout(60):
        start = await client.run("hello", variables=ADA, capture=True)

        async def next_action(_: Turn) -> Action:
            called.set()
            try:
                if nested:
                    await client.run("hello", variables=ADA, profile="host")
                else:
                    await gate.wait()
            finally:
                left.set()
            return STOP

        run = asyncio.create_task(client.run("hello", variables=ADA, profile="host"))
        branch = asyncio.create_task(client.coordinate(start, next_action, additional_turns=1))
        await called.wait()
        os.kill(number(pid_file), signal.SIGKILL)
        for task in (run, branch):
            with pytest.raises(ConnectionLost, match="exit code -9"):
                await task
        assert left.is_set()
        with pytest.raises(ConnectionLost):
            await client.status()


@pytest.mark.parametrize("nested", [False, True])
async def test_a_server_that_is_killed_fails_what_is_open(
    samples: Path, tmp_path: Path, *, nested: bool
) -> None:
    await killed(samples, tmp_path / "pid", nested=nested)


@pytest.mark.parametrize(
    "then",
    [
        "say(b'hello, world\\r\\n\\r\\n'); time.sleep(100)",
        "say(b'Content-Length: x\\r\\n\\r\\n'); time.sleep(100)",
        "say(b'Content-Length: 3\\r\\n\\r\\n{]}'); time.sleep(100)",
        "say(b'Content-Length: 2\\r\\n\\r\\n[]'); time.sleep(100)",
        "say(b'Content-Length: 9\\r\\n\\r\\n{}')",
        "sys.exit(0)",
    ],
)
async def test_a_server_that_says_nonsense_or_ends_fails_what_is_open(then: str) -> None:
    async with asyncio.timeout(60), connect(command=fake(then), patience=0.2) as client:
        with pytest.raises(ConnectionLost):
            await client.status()


async def test_the_end_of_a_server_is_noticed_though_its_child_holds_the_pipes() -> None:
    leaves = "import os, subprocess; subprocess.Popen(['sleep', '30'], stderr=-3); os._exit(3)"
    async with asyncio.timeout(60), connect(command=fake(leaves)) as client:
        with pytest.raises(ConnectionLost, match=r"the server has ended \(exit code 3\)"):
            await client.status()


async def test_a_silent_server_neither_holds_a_cancel_nor_the_end() -> None:
    silent = fake("time.sleep(100)")
    async with asyncio.timeout(60), connect(command=silent, patience=0.1) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await client.status()


async def test_an_answer_of_another_shape_is_an_error_and_not_a_crash() -> None:
    async with asyncio.timeout(60), connect(command=fake("answer({})"), patience=0.1) as client:
        with pytest.raises(PromptKitError, match=r"SessionStatus\.exchanges is missing"):
            await client.status()


async def test_a_server_that_speaks_no_common_version_is_told() -> None:
    refuses = (
        'body = b\'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no common version"}}\''
        '\nread(); say(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body)); time.sleep(9)'
    )
    with pytest.raises(PromptKitError, match="no common version"):
        async with connect(command=[sys.executable, "-c", FAKE + refuses], patience=0.1):
            pass


async def test_without_a_server_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROMPTKIT_COMMAND")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "promptkit_rpc", None)
    with pytest.raises(FileNotFoundError, match="install promptkit-rpc, or set PROMPTKIT_COMMAND"):
        async with connect():
            pass
    with pytest.raises(FileNotFoundError, match="cannot start no-such-program: No such file or"):
        async with connect(command=["no-such-program", "serve"]):
            pass


async def test_the_server_ends_with_the_block_whatever_happens_in_it(
    samples: Path, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    command = ["sh", "-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), *find_server()]
    with pytest.raises(KeyError):
        async with connect(samples, command=command):
            raise KeyError
    with pytest.raises(ProcessLookupError):
        os.kill(number(pid_file), 0)


async def test_what_is_no_json_is_refused_before_it_is_sent(samples: Path) -> None:
    async with connect(samples) as client:
        for wrong in (float("nan"), "\ud800", object()):
            with pytest.raises((ValueError, TypeError)):
                await client.run("hello", variables={"name": wrong})
        assert (await client.status()).runs.active == 0
