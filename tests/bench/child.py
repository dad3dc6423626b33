"""A program on pipes, driven by a client that waits for nothing else, and the CPU that it took."""

import atexit
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds without a byte after which something is wrong."""

_BLANK = b"\r\n\r\n"
_READ = 1 << 20


def spawn(
    *arguments: str, cwd: Path = ROOT, stdin: int | None = None, stdout: int | None = None
) -> "subprocess.Popen[bytes]":
    """A Python program of this project, ended with this process at the latest."""
    environment = {name: value for name, value in os.environ.items() if "PROXY" not in name.upper()}
    environment |= {"PYTHONPATH": str(ROOT), "PROMPTKIT_BENCH_KEY": "sk-bench"}
    command = [sys.executable, *arguments]
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=stdin, stdout=stdout)
    atexit.register(process.kill)
    return process


def life_of(process: "subprocess.Popen[bytes]", *, kill: bool) -> float:
    """The CPU seconds of a program's whole life."""
    if kill:
        process.kill()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


class Child:
    """Frames to a program and back. `callbacks[method]` answers its requests."""

    def __init__(self, *arguments: str, cwd: Path = ROOT) -> None:
        self.process = spawn(*arguments, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin
        assert self.process.stdout
        self._sink, self._source = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._sink, False)
        self._out, self._in = bytearray(), bytearray()
        self._ids = 0
        self.callbacks: dict[str, Any] = {}

    def cpu(self) -> float:
        """CPU seconds so far; the clock of another process, see clock_getcpuclockid(3)."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def frame(self, method: str, params: Any) -> bytes:
        """A request, framed."""
        self._ids += 1
        return framed({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})

    def call(self, method: str, params: Any) -> Any:
        """The result of one request."""
        return json.loads(self.drive([self.frame(method, params)])[0])["result"]

    def drive(self, frames: Sequence[bytes], at_once: int = 1) -> list[bytes]:
        """Makes requests, so many unanswered at a time; the answers as they came."""
        answers: list[bytes] = []
        sent = 0
        while len(answers) < len(frames):
            more = frames[sent : len(answers) + at_once]
            self._out += b"".join(more)
            sent += len(more)
            self._pump()
            answers += self._answers()
        return answers

    def _pump(self) -> None:
        waiting = [self._sink] if self._out else []
        readable, writable, _ = select.select([self._source], waiting, [], PATIENCE)
        if writable:
            del self._out[: os.write(self._sink, self._out)]
        if readable:
            data = os.read(self._source, _READ)
            if not data:
                raise RuntimeError("the program has ended")
            self._in += data
        if not readable and not writable:
            raise TimeoutError("no answer")

    def _answers(self) -> Iterator[bytes]:
        for body in self._bodies():
            near = body[:300] + body[-100:]  # of a large answer no more is looked at
            if b'"method"' not in near:
                if b'"error"' in near and "error" in (refused := json.loads(body)):
                    raise RuntimeError(refused["error"]["message"])
                yield body
            elif "id" in (asked := json.loads(body)):
                result = self.callbacks[asked["method"]]
                self._out += framed({"jsonrpc": "2.0", "id": asked["id"], "result": result})

    def _bodies(self) -> Iterator[bytes]:
        while (blank := self._in.find(_BLANK)) >= 0:
            start = blank + len(_BLANK)
            stop = start + int(self._in[self._in.index(b":") + 1 : blank])
            if len(self._in) < stop:
                return
            body = bytes(self._in[start:stop])
            del self._in[:stop]
            yield body


def framed(message: Any) -> bytes:
    """A message in its frame."""
    body = json.dumps(message, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
