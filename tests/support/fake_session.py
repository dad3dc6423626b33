"""A session of methods that show what a peer does, and the daemon that serves them.

`python -m tests.support.fake_session` is that daemon on standard input and output.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptkit_rpc.rpc.hello import Hello
    from promptkit_rpc.rpc.peer import Call, Handler, Peer, Receiver

COMMAND = (sys.executable, "-m", "tests.support.fake_session")


class FakeSession:
    """Echoes, waits, crashes, asks back; `gate` holds `fake/wait` until `fake/release`."""

    def __init__(self, peer: "Peer", hello: "Hello") -> None:
        self.peer = peer
        self.hello = hello
        self.gate = asyncio.Event()
        self.closed = False
        self.methods: dict[str, Handler] = {
            "fake/echo": lambda params, _: params,
            "fake/later": self._later,
            "fake/wait": self._wait,
            "fake/stubborn": self._stubborn,
            "fake/stuck": self._stuck,
            "fake/crash": self._crash,
            "fake/threads": lambda _, __: threading.active_count(),
            "fake/release": self._release,
            "fake/status": self._status,
            "fake/ask": self._ask,
            "fake/big": lambda params, _: "x" * params["size"],
            "fake/length": lambda params, _: len(params["text"]),
            "fake/stream": self._stream,
            "fake/print": self._print,
            "fake/hello": self._hello,
        }
        self.heard: list[dict[str, Any]] = []
        self.notifications: dict[str, Receiver] = {"fake/hear": self.heard.append}

    async def close(self) -> None:
        self.closed = True
        if "FAKE_FAREWELL" in os.environ:
            self.peer.notify("fake/closed", {})

    async def _later(self, params: dict[str, Any], _call: "Call") -> Any:
        await asyncio.sleep(0)
        return params

    async def _wait(self, params: dict[str, Any], call: "Call") -> Any:
        if params.get("announce"):
            self.peer.notify("fake/waiting", {"id": call.id})
        with call.signal.scope():
            await self.gate.wait()
        return params

    async def _stubborn(self, _params: dict[str, Any], call: "Call") -> None:
        self.peer.notify("fake/waiting", {"id": call.id})
        await asyncio.Event().wait()

    async def _stuck(self, _params: dict[str, Any], _call: "Call") -> None:
        await asyncio.to_thread(threading.Event().wait)

    async def _crash(self, _params: dict[str, Any], _call: "Call") -> None:
        raise KeyError("a crash")

    def _release(self, _params: dict[str, Any], _call: "Call") -> None:
        self.gate.set()

    def _status(self, _params: dict[str, Any], _call: "Call") -> Any:
        return {"active": self.peer.active, "heard": self.heard}

    async def _ask(self, params: dict[str, Any], call: "Call") -> Any:
        return {"answer": await self.peer.request("client/ask", params, call.signal)}

    async def _stream(self, params: dict[str, Any], call: "Call") -> int:
        """Sends pieces while the signal is not set; gives how often it had to wait."""
        waits = 0
        for number in range(params["pieces"]):
            self.peer.notify("fake/piece", {"number": number, "text": "x" * params["size"]})
            if room := self.peer.room():
                waits += 1
                with call.signal.scope():
                    await room
        return waits

    def _print(self, _params: dict[str, Any], _call: "Call") -> Any:
        print("a stray print")  # noqa: T201 - that is the point
        os.write(1, b"a stray write\n")
        code = "import sys; print('a child', repr(sys.stdin.read()))"
        subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
        return None

    def _hello(self, _params: dict[str, Any], _call: "Call") -> Any:
        return {
            "root": self.hello.root,
            "config": self.hello.config,
            "textDocuments": self.hello.text_documents,
        }


def main() -> None:
    """Serves; `FAKE_OPTIONS` holds the options as JSON, `FAKE_OLD` an older kernel.

    With `FAKE_FAREWELL` the session says when it is closed; `FAKE_BROKEN` loads none.
    """
    # ruff: noqa: PLC0415 - only the daemon's process needs these
    from promptkit_rpc.rpc.serve import serve
    from promptkit_rpc.rpc.started import Options

    if "FAKE_OLD" in os.environ:
        del os.pidfd_open
    if "FAKE_BROKEN" in os.environ:
        threading.Thread(target=threading.Event().wait).start()
        serve(None, lambda: 1 // 0)  # type: ignore[arg-type, return-value]
    serve(Options(**json.loads(os.environ.get("FAKE_OPTIONS", "{}"))), lambda: FakeSession)


if __name__ == "__main__":
    main()
