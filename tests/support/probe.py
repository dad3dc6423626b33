"""The real daemon with one more method, `test/probe`, that tells what it holds inside.

    python -m tests.support.probe [LOG LEVEL]      # takes the place of `promptkit-rpc serve`

    async with Daemon(root, command=PROBED) as d:
        probe = await d.request("test/probe")

It answers `tasks`, `threads`, `descriptors`, `objects` (living ones by type), `residentBytes`, and
`stallMs`, the event loop's longest delay since the last look. With `{"held": true}` it also tells
every text that is reachable from a held exchange, as `held`.

With `PROBE_LOG` in the environment, whatever any library logs at any level also goes to that file,
as a host program might have it.
"""

import asyncio
import gc
import logging
import os
import sys
import threading
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.rpc.serve import serve
from promptkit_rpc.rpc.session import Session
from promptkit_rpc.rpc.started import Options

PROBED = (sys.executable, "-m", "tests.support.probe")
"""The command line."""

BEAT = 0.005
"""Seconds between two looks at the loop."""

_LOG = os.environ.get("PROBE_LOG")
_TALKATIVE = ("httpx", "httpcore", "h11", "httpx_sse", "asyncio", "promptkit_rpc")
_COUNTED = ("promptkit_rpc.", "httpx.", "httptools.")
_NOT_FOLLOWED = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.FrameType,
)


class ProbedSession(Session):
    """A session that also tells about itself."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if _LOG:
            for name in _TALKATIVE:
                logging.getLogger(name).setLevel(1)
        self.methods = {**self.methods, "test/probe": self._probe}
        self._loop = asyncio.get_running_loop()
        self._stall = 0.0
        self._due = self._loop.time() + BEAT
        self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        self._stall = max(self._stall, self._loop.time() - self._due)
        self._due = self._loop.time() + BEAT
        self._loop.call_at(self._due, self._beat)

    def _probe(self, params: dict[str, Any], _: object) -> dict[str, Any]:
        stall = max(self._stall, self._loop.time() - self._due)
        gc.collect()
        told: dict[str, Any] = {
            "tasks": len(asyncio.all_tasks()),
            "threads": threading.active_count(),
            "descriptors": len(list(Path("/proc/self/fd").iterdir())),
            "objects": Counter(_counted(gc.get_objects())),
            "residentBytes": resident(os.getpid()),
            "stallMs": round(stall * 1000, 1),
        }
        if params.get("held"):
            held = [one for one in gc.get_objects() if isinstance(one, Exchange)]
            told["held"] = sorted(set(_texts(*held)))
        # Looking takes a while, which is not the daemon's doing.
        self._due, self._stall = self._loop.time() + BEAT, 0.0
        return told


def resident(process_id: int) -> int:
    """The memory that a process has in use, in bytes."""
    pages = Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _counted(objects: Iterable[object]) -> Iterator[str]:
    for one in objects:
        kind = type(one)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name.startswith(_COUNTED):
            yield name


def _texts(*roots: object) -> Iterator[str]:
    """Every text that can be reached by following references, code and modules left out."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _NOT_FOLLOWED):
            continue
        seen.add(id(one))
        if isinstance(one, str):
            yield one
        elif isinstance(one, bytes | bytearray):
            yield bytes(one).decode("utf-8", "replace")
        else:
            waiting += gc.get_referents(one)


if __name__ == "__main__":
    if _LOG:
        logging.basicConfig(filename=_LOG, level=1)
    level = sys.argv[1].upper() if sys.argv[1:] else "WARNING"
    serve(Options(log_level=level), lambda: ProbedSession)
