"""How the daemon's process ends: by the client's word, with its input, its output or its parent."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.fake_session import COMMAND
from tests.support.wire import BOUND, GREETING, PROJECT, fake, request

QUICK: dict[str, Any] = {"grace": 0.05}
"""Spares the tests the three seconds that requests in flight get."""

WRAPPER = """
import os, subprocess, sys
words = sys.argv[2:]
child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=2)
child.stdin.write(bytes.fromhex(sys.argv[1])); child.stdin.flush()
seen = b""
while b"ready" not in seen:
    more = os.read(child.stdout.fileno(), 65536)
    assert more, "the daemon ended"
    seen += more
print(child.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def wrapped(*frames: bytes, **env: str) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """A process with a daemon as its child that has said "ready"; and a handle on the daemon."""
    words = [sys.executable, "-c", WRAPPER, b"".join(frames).hex(), *COMMAND]
    environment = {**os.environ, "FAKE_OPTIONS": json.dumps(QUICK), **env}
    with subprocess.Popen(
        words, cwd=PROJECT, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as wrapper:  # fmt: skip
        assert wrapper.stdout
        pid = int(wrapper.stdout.readline())
        handle = os.pidfd_open(pid)
        try:
            yield wrapper, handle
        finally:
            ended = bool(select.select([handle], [], [], 0)[0])
            os.close(handle)
            wrapper.kill()
            if not ended:
                os.kill(pid, signal.SIGKILL)
            assert wrapper.stderr
            stderr = wrapper.stderr.read()
        assert b"Traceback" not in stderr
        assert b"Error" not in stderr


def ends(handle: int) -> bool:
    """Whether the process behind the handle ends in good time."""
    return bool(select.select([handle], [], [], BOUND)[0])


IDLE = request(1, "fake/echo", {"text": "ready"})
RUNNING = request(1, "fake/wait", {"announce": True}) + request(2, "fake/echo", {"text": "ready"})
STUBBORN = request(1, "fake/stubborn") + request(2, "fake/echo", {"text": "ready"})
ASKING = request(1, "fake/ask", {"text": "ready"})


@pytest.mark.parametrize("work", [IDLE, RUNNING, STUBBORN, ASKING])
def test_the_daemon_ends_when_its_client_is_killed(work: bytes) -> None:
    """R-12: idle, during a request, one that ignores its cancel, during a pending callback."""
    with wrapped(request(0, "initialize", GREETING), work) as (wrapper, handle):
        wrapper.kill()
        assert ends(handle)


@pytest.mark.parametrize("env", [{}, {"FAKE_OLD": "1"}])
def test_the_daemon_ends_with_the_process_its_client_names(env: dict[str, str]) -> None:
    """R-12: its input may be held open by another one."""
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    greeting = GREETING | {"processId": sleeper.pid}
    with sleeper, wrapped(request(0, "initialize", greeting), RUNNING, **env) as (wrapper, handle):
        assert not select.select([handle], [], [], 0)[0]
        sleeper.kill()
        sleeper.wait(BOUND)
        assert ends(handle)
        assert wrapper.poll() is None


@pytest.mark.parametrize("process_id", [None, 0, -1, 2**22 + 7, 2**70])
async def test_a_process_that_cannot_be_seen_is_not_watched(process_id: Any) -> None:
    """R-12: it may live in another namespace; the end of the input ends the daemon all the same."""
    async with fake(**QUICK) as daemon:
        await daemon.greet(processId=process_id)
        assert (await daemon.call(1, "fake/echo"))["result"] == {}
        daemon.close_stdin()
        assert await daemon.wait() == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [(["exit"], 1), (["initialize", "exit"], 1), (["initialize", "shutdown", "exit"], 0)],
)
async def test_the_exit_code_says_whether_shutdown_came_first(words: list[str], code: int) -> None:
    """X-08."""
    async with fake() as daemon:
        for ident, word in enumerate(words[:-1]):
            await daemon.call(ident, word, GREETING)
        await daemon.tell("exit")
        assert await daemon.wait() == code
        assert await daemon.read_rest() == b""
        assert daemon.stderr == ""


async def test_at_exit_what_is_in_flight_is_answered() -> None:
    """X-08, R-12: cancelled at once, exactly one answer each, and what came after is not served."""
    async with fake() as daemon:
        await daemon.greet()
        for ident in (1, 2):
            await daemon.ask(ident, "fake/wait", {"announce": True})
            await daemon.next()
        daemon.put(
            request(3, "shutdown")
            + request(4, "fake/wait")
            + b'Content-Length: 33\r\n\r\n{"jsonrpc":"2.0","method":"exit"}'
            + request(5, "fake/echo")
        )
        rest = [await daemon.next() for _ in range(4)]
        codes = {m["id"]: m["error"]["code"] if "error" in m else None for m in rest}
        assert codes == {3: None, 4: -32600, 1: -32800, 2: -32800}
        assert await daemon.read_rest() == b""
        assert await daemon.wait() == 0


async def test_at_the_end_of_input_every_request_is_answered() -> None:
    """R-12: what can finishes, the rest is cancelled; one that ignores that is answered too."""
    async with fake(**QUICK) as daemon:
        await daemon.greet()
        await daemon.ask(1, "fake/stubborn")
        await daemon.next()
        daemon.put(
            request(2, "fake/wait")
            + request(3, "fake/later", {"n": 3})
            + request(4, "fake/ask")
            + request(5, "fake/big", {"size": 3_000_000})
        )
        daemon.close_stdin()
        answers: dict[Any, Any] = {}
        while (body := await daemon.read_frame()) is not None:
            message = json.loads(body)
            if "method" not in message:
                assert message["id"] not in answers
                answers[message["id"]] = message
        assert {n: a["error"]["code"] for n, a in answers.items() if "error" in a} == {
            1: -32800,
            2: -32800,
            4: -32800,
        }
        assert answers[3]["result"] == {"n": 3}
        assert len(answers[5]["result"]) == 3_000_000
        assert await daemon.wait() == 1


async def test_a_thread_that_is_stuck_does_not_keep_the_process() -> None:
    """R-12: a template, a schema or a credential command may never come back."""
    async with fake(**QUICK) as daemon:
        await daemon.greet()
        await daemon.ask(1, "fake/stuck")
        daemon.close_stdin()
        assert (await daemon.next())["error"]["code"] == -32800
        assert await daemon.wait() == 1


async def test_a_daemon_that_cannot_load_says_so_and_ends() -> None:
    """R-12: whatever threads there are."""
    async with fake({"FAKE_BROKEN": "1"}) as daemon:
        await daemon.greet()
        assert await daemon.wait() == 1
        assert "ZeroDivisionError" in daemon.stderr


async def test_the_last_answers_are_written_and_the_session_closed() -> None:
    """R-12: also when the client is slow to read them."""
    async with fake({"FAKE_FAREWELL": "1"}) as daemon:
        await daemon.greet()
        daemon.put(request(1, "fake/big", {"size": 20_000_000}) + request(2, "shutdown"))
        await daemon.tell("exit")
        assert len((await daemon.next())["result"]) == 20_000_000
        assert (await daemon.next())["id"] == 2
        assert (await daemon.next())["method"] == "fake/closed"
        assert await daemon.wait() == 0


async def test_an_input_that_ends_inside_a_frame_is_told() -> None:
    """R-16: exit code 1 and a line, at the first frame and later."""
    for greeted in (False, True):
        async with fake(**QUICK) as daemon:
            if greeted:
                await daemon.greet()
            await daemon.write(b"Content-Length: 50\r\n\r\n{")
            daemon.close_stdin()
            assert await daemon.wait() == 1
            assert daemon.stderr == "promptkit-rpc: the input ended inside a frame\n"


@pytest.mark.parametrize("first", ["initialize", "fake/echo"])
@pytest.mark.parametrize("greeted", [True, False])
def test_the_daemon_ends_quietly_when_nobody_reads_its_output(first: str, *, greeted: bool) -> None:
    """R-12: EPIPE, at the first answer and later, while the input stays open."""
    with subprocess.Popen(
        COMMAND, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as daemon:
        assert daemon.stdin
        assert daemon.stdout
        assert daemon.stderr
        if greeted:
            daemon.stdin.write(request(0, "initialize", GREETING))
            daemon.stdin.flush()
            assert daemon.stdout.read(16) == b"Content-Length: "
        daemon.stdout.close()
        daemon.stdin.write(request(1, first, GREETING))
        daemon.stdin.flush()
        assert daemon.wait(BOUND) == 1
        assert daemon.stderr.read() == b""


async def test_an_interrupt_ends_the_daemon_without_a_traceback() -> None:
    """R-12."""
    async with fake() as daemon:
        await daemon.greet()
        daemon.process.send_signal(signal.SIGINT)
        assert await daemon.wait() == -signal.SIGINT
        assert daemon.stderr == ""
