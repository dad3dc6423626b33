"""What is loaded when: by the command line, before the first answer, and for a first run."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.support.process import BOUND, ROOT
from tests.support.source import PACKAGE
from tests.support.workspace import Workspace, echoing

LIBRARIES = frozenset(
    (
        *("attr", "attrs", "cattrs", "msgspec", "yaml", "jinja2", "jsonschema_rs"),
        *("httptools", "httpcore", "httpx", "httpx_sse", "lsprotocol", "pygls"),
    )
)

TELLING = """
import os, sys
bare = set(sys.modules)
from promptkit_rpc.rpc import serve, started

first, end = started.Started.first, os._exit

def tell():
    print(*(sys.modules.keys() - bare), file=sys.stderr, flush=True)

def answered(self):
    done = first(self)
    tell()
    return done

def ended(code):
    tell()
    end(code)

started.Started.first, os._exit = answered, ended
serve.serve()
"""
"""A daemon that tells what it has loaded: when `initialize` has been answered, and at its end.

What the interpreter loads by itself depends on how the package is installed.
"""


def loaded(importtime: str) -> set[str]:
    """The modules that `-X importtime` names."""
    return set(re.findall(r"^import time: .*\| *([\w.]+)$", importtime, re.MULTILINE))


def within(names: set[str], *rooms: str) -> list[str]:
    return sorted(n for n in names if any(n == room or n.startswith(f"{room}.") for room in rooms))


def inside(names: set[str], room: str) -> set[str]:
    """The modules right below a room of the package."""
    found = (name.removeprefix(f"{PACKAGE}.{room}.") for name in within(names, f"{PACKAGE}.{room}"))
    return {name for name in found if name.isidentifier()}


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_command_line_answers_without_loading_the_daemon(option: str) -> None:
    """Nobody waits for an editor's types to read a usage line."""
    command = [sys.executable, "-X", "importtime", "-m", PACKAGE, option]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    names = loaded(done.stderr)

    assert f"{PACKAGE}.cli" in names
    heavy = (f"{PACKAGE}.rpc", f"{PACKAGE}.engine", f"{PACKAGE}.language")
    assert not within(names, *heavy, *LIBRARIES)


async def test_nothing_large_is_loaded_before_initialize_is_answered(tmp_path: Path) -> None:
    """What a bare interpreter and `json` load, and a few modules that are made for it."""
    async with Daemon(tmp_path, command=[sys.executable, "-c", TELLING]) as d:
        pass
    names = set(d.stderr.splitlines()[0].split())

    few = "capabilities codes descriptors framing hello protocol_hash serve started"
    assert inside(names, "rpc") == set(few.split())
    assert not within(names, "asyncio", "attr", "logging", "msgspec", "pathlib", "typing")


async def test_a_first_run_loads_nothing_but_what_it_takes(tmp_path: Path) -> None:
    """Each library, and each noun of the wire, waits for the first request that needs it."""
    root = echoing(tmp_path).root
    async with Daemon(root, command=[sys.executable, "-c", TELLING]) as d:
        await d.request("promptkit/run", {"promptId": "ask", "variables": {"text": "hi"}})
    names = set(d.stderr.splitlines()[1].split())

    assert names & LIBRARIES == {"attr", "attrs", "cattrs", "msgspec", "yaml"}
    assert inside(names, "rpc.handlers") == {"run"}
    assert inside(names, "rpc.protocol") == {"base", "message", "run", "usage"}
    unwanted = "backends.http backends.openai backends.anthropic backends.client"
    unwanted += " commands coordination demo language rpc.documents rpc.streams"
    assert not within(names, *(f"{PACKAGE}.{room}" for room in unwanted.split()))


async def test_a_client_with_text_documents_gets_one(tmp_path: Path) -> None:
    """Three quarters of a stock server's start-up are `lsprotocol`; only these clients pay."""
    root = echoing(tmp_path).root
    capabilities: Any = {"textDocument": {"publishDiagnostics": {}, "hover": {}}}
    async with Daemon(root, flags=["-X", "importtime"], capabilities=capabilities) as d:
        await d.notification("textDocument/publishDiagnostics")

    assert within(loaded(d.stderr), "lsprotocol")


@pytest.mark.parametrize(("kind", "loads"), [("openai", True), ("scripted", False)])
async def test_what_a_first_call_needs_is_loaded_ahead_of_it(
    tmp_path: Path, kind: str, loads: int
) -> None:
    """And of HTTP nothing for a workspace that has no use for it."""
    backend = {"kind": kind, "baseUrl": "http://127.0.0.1:1/v1"} if loads else {"kind": kind}
    workspace = Workspace(tmp_path).settings(backends={"b": backend}, profiles={})
    ready = f"{PACKAGE}.backends.http.endpoint" if loads else f"{PACKAGE}.backends.scripted"
    async with Daemon(workspace.root, flags=["-X", "importtime"]) as d:
        async with asyncio.timeout(BOUND):
            while ready not in loaded(d.stderr):
                await d.request("promptkit/session/status")
    assert ("httpx" in loaded(d.stderr)) == loads
