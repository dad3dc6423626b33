"""How the daemon starts, what its bytes are, and how it ends, whatever its environment.

Siblings tried beside each case: a workspace that holds modules with the names of libraries,
Python's development mode, a command for a key that prints (R-03); headers repeated, in capitals,
and a refused charset in front of a good frame (R-16); names of prompts, inputs and folders beyond
ASCII (R-18).
"""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.frames import frame
from tests.support.process import RawDaemon, environment
from tests.support.provider import Provider
from tests.support.workspace import Workspace, echoing
from tests.support.wrapped import Wrapped

Json = Any
BOUND = 20.0

HELLO: Json = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"processId": None, "capabilities": {}},
}
SCRIPT = "import sys; from promptkit_rpc.cli import main; sys.exit(main())"
"""What the console script holds."""


def request(ident: Json, method: str, **params: Json) -> bytes:
    return frame({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})


def run(ident: Json, text: str, **more: Json) -> bytes:
    return request(ident, "promptkit/run", promptId="ask", variables={"text": text}, **more)


def shadowed(root: Path) -> Path:
    """A workspace whose folder holds modules that would print if anything imported them."""
    echoing(root)
    for name in ("jinja2", "yaml", "httpx", "asyncio", "json", "typing", "select", "attrs"):
        (root / f"{name}.py").write_text("print('imported from the workspace')\n")
    return root


def broken(root: Path) -> Path:
    root.mkdir()
    (root / "promptkit.yaml").write_text("version: [\n")
    return root


STARTS: Mapping[str, tuple[list[str], Any]] = {
    "module": ([sys.executable, "-m", "promptkit_rpc", "serve"], echoing),
    "stdio": ([sys.executable, "-m", "promptkit_rpc", "serve", "--stdio"], echoing),
    "console script": ([sys.executable, "-c", SCRIPT, "serve"], echoing),
    "development mode": (
        [sys.executable, "-X", "dev", "-W", "always", "-u", "-m", "promptkit_rpc", "serve"],
        echoing,
    ),
    "broken settings": ([sys.executable, "-m", "promptkit_rpc", "serve"], broken),
    "no prompts": ([sys.executable, "-m", "promptkit_rpc", "serve"], Path.mkdir),
    "shadowed modules": ([sys.executable, "-m", "promptkit_rpc", "serve"], shadowed),
}


@pytest.mark.parametrize("start", STARTS)
async def test_nothing_stands_before_the_first_answer(tmp_path: Path, start: str) -> None:
    """R-03: and nothing but frames after it, whatever the workspace is like."""
    command, make = STARTS[start]
    root = tmp_path / "w"
    make(root)
    async with RawDaemon(root, command=command) as daemon:
        await daemon.write(frame(HELLO) + run(1, "hello") + request(2, "shutdown"))
        answers = [json.loads(await daemon.read_frame() or b"") for _ in range(3)]
        await daemon.write(frame({"jsonrpc": "2.0", "method": "exit"}))
        assert await daemon.read_rest() == b""
        assert await daemon.wait() == 0
        assert {one["id"] for one in answers} == {0, 1, 2}
        assert bytes(daemon.received).startswith(b"Content-Length: ")
        assert "imported" not in daemon.stderr
        assert "Traceback" not in daemon.stderr


async def test_who_is_asked_nothing_says_nothing(tmp_path: Path) -> None:
    """R-03: the input ends before a first frame."""
    async with RawDaemon(echoing(tmp_path).root) as silent:
        silent.close_stdin()
        assert await silent.read_rest() == b""
        await silent.wait()
        assert silent.stderr == ""


async def test_what_a_command_prints_is_in_no_frame(tmp_path: Path) -> None:
    """R-03: a command that supplies a key writes to both of its outputs."""
    root = echoing(tmp_path / "w").root
    noisy = [sys.executable, "-c", "import sys; print('key'); print('noise', file=sys.stderr)"]
    async with Provider() as provider:
        backend = {"kind": "openai", "baseUrl": provider.url, "credential": {"command": noisy}}
        Workspace(root).settings(
            backends={"b": backend}, profiles={"p": {"backend": "b", "model": "m"}}
        )
        async with RawDaemon(root) as daemon:
            await daemon.write(frame(HELLO) + run(1, "hello"))
            await daemon.read_frame()
            await daemon.read_frame()
            assert provider.requests[0].headers["authorization"] == "Bearer key"
            daemon.close_stdin()
            assert await daemon.read_rest() == b""


SERVE = [sys.executable, "-m", "promptkit_rpc", "serve"]


@pytest.mark.parametrize("named", [False, True])
async def test_the_daemon_ends_with_the_program_that_started_it(
    tmp_path: Path, *, named: bool
) -> None:
    """R-12: killed hard while it is idle, runs, or waits for a callback; without using the CPU.

    Whether it is known by the end of the input alone or by its process too.
    """
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(Provider())
        provider.always((asyncio.Event(),))
        backends = {"b": {"kind": "openai", "baseUrl": provider.url}, "s": {"kind": "scripted"}}
        profiles = {name: {"backend": name, "model": "m"} for name in "bs"}
        workspace = echoing(tmp_path / "w").settings(backends=backends, profiles=profiles)
        workspace.prompt("ask", "{{ text }}", profile="s")
        idle, busy, asking = [
            await stack.enter_async_context(Wrapped(workspace.root, named=named)) for _ in range(3)
        ]
        hello = {"promptId": "ask", "variables": {"text": "x"}}
        busy.start("promptkit/run", {**hello, "profile": "b"})
        await provider.arrived(1)
        start = await asking.request("promptkit/run", {**hello, "capture": True})
        asking.start("promptkit/coordinate", {"exchange": start["runId"], "additionalTurns": 1})
        await asking.incoming("promptkit/coordinator/next")
        await asyncio.gather(*(daemon.outlive() for daemon in (idle, busy, asking)))
        for daemon in (idle, busy, asking):
            await daemon.kill()
            assert daemon.stderr == ""
        await provider.hung_up(1)


def test_without_input_or_without_a_reader_the_daemon_ends_quietly(tmp_path: Path) -> None:
    """R-12: nothing to read from the start; nobody who reads the answers."""
    nothing = subprocess.run(SERVE, stdin=subprocess.DEVNULL, capture_output=True, timeout=BOUND,
                             env=environment({}), check=False)  # fmt: skip
    assert (nothing.stdout, nothing.stderr) == (b"", b"")
    root = echoing(tmp_path).root
    for work in (b"", run(1, "hello"), b"".join(run(n, "x" * 100_000) for n in range(1, 20))):
        with subprocess.Popen(
            SERVE, cwd=root, env=environment({}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as daemon:  # fmt: skip
            assert daemon.stdin
            assert daemon.stdout
            assert daemon.stderr
            daemon.stdin.write(frame(HELLO))
            daemon.stdin.flush()
            assert daemon.stdout.read(16) == b"Content-Length: "
            daemon.stdout.close()
            with suppress(BrokenPipeError):
                daemon.stdin.write(work + request(30, "promptkit/session/status"))
                daemon.stdin.flush()
            assert daemon.wait(BOUND) == 1
            assert daemon.stderr.read() == b""


async def test_a_run_that_nobody_waits_for_ends_with_its_reader(tmp_path: Path) -> None:
    """R-12: the output is closed while the input stays open and there is nothing to write."""
    async with Provider() as provider:
        provider.always((asyncio.Event(),))
        workspace = echoing(tmp_path).settings(
            backends={"b": {"kind": "openai", "baseUrl": provider.url}},
            profiles={"p": {"backend": "b", "model": "m"}},
        )
        async with RawDaemon(workspace.root) as daemon:
            await daemon.write(frame(HELLO))
            await daemon.read_frame()
            await daemon.write(run(1, "hello"))
            await provider.arrived(1)
            await daemon.stop_listening()
            assert await daemon.wait() == 1
            assert daemon.stderr == ""
        await provider.hung_up(1)


def framed(head: bytes, ident: Json) -> bytes:
    """A frame with this header block around a request; {n} is the body's length."""
    body = frame({"jsonrpc": "2.0", "id": ident, "method": "promptkit/session/status"})
    body = body.partition(b"\r\n\r\n")[2]
    return head.replace(b"{n}", b"%d" % len(body)) + body


HEADS = [
    b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {n}\r\n\r\n",
    b"content-length: {n}\r\n\r\n",
    b"Content-Length:{n}\r\n\r\n",
    b"CONTENT-LENGTH : {n} \r\n\r\n",
    b"Content-Length: {n}\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n",
    b'Content-Length: {n}\r\nContent-Type: x; a=b; charset="UTF-8"\r\n\r\n',
    b"X-Foo: a: b\r\nContent-Length: {n}\r\n\r\n",
    b"Content-Length: {n}\n\n",
    b"Content-Length: 00{n}\r\nContent-Length: {n}\r\n\r\n",
]
REFUSED = b"Content-Type: x; charset=utf-16\r\nContent-Length: {n}\r\n\r\n"


async def test_a_header_may_be_spelled_in_every_allowed_way(tmp_path: Path) -> None:
    """R-16: alone, byte by byte, and all in one write with a refused one between each."""
    async with RawDaemon(echoing(tmp_path).root) as daemon:
        await daemon.write(frame(HELLO))
        await daemon.read_frame()
        for number, head in enumerate(HEADS):
            await daemon.write(framed(head, number))
            assert json.loads(await daemon.read_frame() or b"")["id"] == number
        for byte in framed(HEADS[0], "slowly"):
            await daemon.write(bytes([byte]))
        assert json.loads(await daemon.read_frame() or b"")["id"] == "slowly"
        await daemon.write(
            b"".join(framed(h, n) + framed(REFUSED, f"no{n}") for n, h in enumerate(HEADS))
        )
        for number in range(len(HEADS)):
            good = json.loads(await daemon.read_frame() or b"")
            refused = json.loads(await daemon.read_frame() or b"")
            assert (good["id"], "result" in good) == (number, True)
            assert (refused["id"], refused["error"]["code"]) == (f"no{number}", -32600)
            assert "charset" in refused["error"]["message"]


LOCALES: list[Mapping[str, str | None]] = [
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONUTF8": "0", "LC_ALL": "C"},
    {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"},
    {"LC_ALL": None, "LANG": None, "PYTHONUTF8": "1"},
]
BEYOND = "né\r\n\u2028 😀\r"


@pytest.mark.parametrize("env", LOCALES, ids=str)
async def test_frames_are_utf_8_to_the_byte_whatever_the_locale(
    tmp_path: Path, env: Mapping[str, str | None]
) -> None:
    """R-18: header ends, bodies; names of prompts, inputs and folders too."""
    workspace = echoing(tmp_path / "wé")
    workspace.prompt(
        "é/ask", "{{ inputs.é }}{{ text }}", profile="p", inputs={"é": {"file": "ü {{ text }}.txt"}}
    )
    workspace.write("ü x.txt", BEYOND)
    async with RawDaemon(workspace.root, env=env) as daemon:
        listed = request(2, "promptkit/prompt/list")
        await daemon.write(frame(HELLO) + run(1, BEYOND) + listed)
        await daemon.write(request(3, "promptkit/run", promptId="é/ask", variables={"text": "x"}))
        answers = {(m := json.loads(await daemon.read_frame() or b""))["id"]: m for _ in range(4)}
        assert answers[1]["result"]["content"] == BEYOND
        names = [one["name"] for one in answers[2]["result"]["items"]]
        assert names == ["ask", "é/ask"]
        assert answers[3]["result"]["content"] == BEYOND + "x"
        daemon.close_stdin()
        await daemon.read_rest()
        raw = bytes(daemon.received)
        heads = re.findall(rb"Content-Length: [0-9]+\r\n\r\n", raw)
        assert (len(heads), raw.count(b"\r"), raw.count(b"\n")) == (4, 8, 8)
        assert "é".encode() in raw
        assert daemon.stderr == ""
