"""What the process says on standard error."""

import logging
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from promptkit_rpc.rpc import log
from promptkit_rpc.secret import Secret
from tests.support.daemon import Daemon, RpcError
from tests.support.workspace import Workspace, echoing

STRAY = {"jsonrpc": "2.0", "id": 99, "result": None}


@contextmanager
def bare_root() -> Generator[logging.Logger]:
    """The root logger without handlers, as a process starts."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    try:
        yield root
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


async def stderr_of(root: Path, *arguments: str) -> str:
    async with Daemon(echoing(root).root, args=arguments) as daemon:
        await daemon.send(STRAY)
        await daemon.request("promptkit/session/status")
    return daemon.stderr


async def test_the_command_line_says_how_much_is_logged(tmp_path: Path) -> None:
    """SEC-1, R-07: an answer to no request is worth a warning."""
    line = "WARNING promptkit_rpc.rpc.asked: dropped an answer to no request\n"
    assert await stderr_of(tmp_path) == line
    assert await stderr_of(tmp_path, "--log-level", "error") == ""
    assert await stderr_of(tmp_path, "--log-level", "debug") == line


async def test_each_run_is_told_to_who_asks_for_it(tmp_path: Path) -> None:
    """SEC-1: what became of it and why, and nothing of what was said."""
    retry = {"attempts": 2, "baseDelay": 0, "maxDelay": 0}
    fault = {"fault": {"status": 529}, "times": 1}
    workspace = Workspace(tmp_path).scripted(
        fault, {"content": "canary", "times": 1}, {"fault": {"status": 401}}, retry=retry
    )
    workspace.prompt("ask", "canary {{ text }}", profile="p")
    params = {"promptId": "ask", "variables": {"text": "canary"}}
    for level in ("info", "warning"):
        async with Daemon(workspace.root, args=("--log-level", level)) as daemon:
            good = (await daemon.request("promptkit/run", params))["runId"]
            with pytest.raises(RpcError) as caught:
                await daemon.request("promptkit/run", params)
        bad = caught.value.data["runId"]
        lines = (
            f"{good}: ask on script, model m",
            f"{good}: attempt 1 failed: overloaded",
            f"{good}: trying again in 0.0 s",
            f"{good}: completed, attempts: 2",
            f"{bad}: ask on script, model m",
            f"{bad}: attempt 1 failed: authentication",
            f"{bad}: failed, attempts: 1, generationFailed",
        )
        said = "".join(f"INFO promptkit_rpc.rpc.runlog: {line}\n" for line in lines)
        assert daemon.stderr == (said if level == "info" else "")


def test_every_handler_is_kept_free_of_keys(capfd: pytest.CaptureFixture[str]) -> None:
    """SEC-1, K-03: the daemon's own, and one of the program that started it."""
    key = Secret("sk-canary-LOG")
    with bare_root() as root:
        for _ in range(2):  # the second time the handler is a host's
            log.install("DEBUG")
            logging.getLogger("promptkit_rpc").debug("sent %s", key.reveal())
            logging.getLogger("httpx").info("sent headers")
        assert len(root.handlers) == 1
    assert capfd.readouterr().err == "DEBUG promptkit_rpc: sent ***\n" * 2


def test_a_line_that_nobody_has_room_for_is_dropped() -> None:
    """R-12: a full pipe holds nothing up."""
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    try:
        while True:
            os.write(sink, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(sink, True)
    log.Stderr(sink).emit(logging.LogRecord("x", logging.ERROR, "", 1, "never", (), None))
    os.close(sink)
    os.close(source)
