"""A session with the daemon in which one side speaks at a time, written down as it goes."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.frames import frame
from tests.support.process import RawDaemon
from tests.transcripts.placeholders import Placeholders

Json = Any
Line = dict[str, Json]


class Session:
    """A client that records; it reads only while it waits for something.

    So the order of lines depends on what was said and never on time.
    """

    def __init__(self, daemon: RawDaemon, root: Path) -> None:
        self._daemon = daemon
        self._root = root
        self._words = Placeholders(root)
        self._last_id = 0
        self.lines: list[Line] = []

    # Saying

    async def send(self, *messages: Json) -> None:
        """Sends messages in one write."""
        for message in messages:
            self.lines.append({"from": "client", "message": self._words.put(message)})
        await self._daemon.write(b"".join(map(frame, messages)))

    def request(self, method: str, params: Json) -> Json:
        """A request under the next id, still to be sent."""
        self._last_id += 1
        return {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}

    async def start(self, method: str, params: Json) -> int:
        """Sends a request and answers its id."""
        await self.send(self.request(method, params))
        return self._last_id

    async def ask(self, method: str, params: Json) -> Json:
        """Sends a request and answers its result."""
        answer = await self.answered(await self.start(method, params))
        assert "result" in answer, answer
        return answer["result"]

    async def refused(self, method: str, params: Json) -> None:
        """Sends a request that must fail."""
        answer = await self.answered(await self.start(method, params))
        assert "error" in answer, answer

    # Hearing

    async def read(self) -> Json:
        """The next message of the daemon's."""
        body = await self._daemon.read_frame()
        assert body is not None, self._daemon.stderr
        message = json.loads(body)
        self.lines.append({"from": "server", "message": self._words.put(message)})
        return message

    async def until(self, fits: Callable[[Json], bool]) -> Json:
        """Reads up to a message that fits."""
        while not fits(message := await self.read()):
            pass
        return message

    async def answered(self, ident: int) -> Json:
        """Reads up to the answer to a request."""
        return await self.until(lambda message: message.get("id") == ident and _is_answer(message))

    async def asked(self, method: str) -> Json:
        """Reads up to a request of the daemon's."""
        return await self.until(lambda message: message.get("method") == method)

    # The two ends

    async def begin(self) -> None:
        """`initialize` and `initialized`."""
        params = {
            "processId": None,
            "rootUri": self._root.as_uri(),
            "capabilities": {},
            "initializationOptions": {"promptkit": {"protocolVersions": [1]}},
        }
        await self.ask("initialize", params)
        await self.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})

    async def end(self) -> None:
        """`shutdown` and `exit`, and the daemon's good end."""
        await self.answered(await self.start("shutdown", {}))
        await self.send({"jsonrpc": "2.0", "method": "exit", "params": {}})
        assert await self._daemon.wait() == 0, self._daemon.stderr


def result(request: Json, value: Json) -> Json:
    """The answer to a request of the daemon's."""
    return {"jsonrpc": "2.0", "id": request["id"], "result": value}


def error(request: Json, code: int, message: str, data: Json) -> Json:
    """The error that answers a request of the daemon's."""
    failed = {"code": code, "message": message, "data": data}
    return {"jsonrpc": "2.0", "id": request["id"], "error": failed}


def notification(method: str, params: Json) -> Json:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


async def replay(lines: list[Line], daemon: RawDaemon, root: Path) -> list[tuple[Line, Line]]:
    """Says what the client said, and answers the pairs of lines where the daemon said otherwise."""
    words = Placeholders(root)
    differences: list[tuple[Line, Line]] = []
    for number, line in enumerate(lines):
        if line["from"] == "client":
            await daemon.write(_block(lines, number, words))
            continue
        async with asyncio.timeout(30):
            body = await daemon.read_frame()
        said = {"from": "server", "message": words.put(json.loads(body or b"null"))}
        if _text(said) != _text(line):
            differences.append((line, said))
    return differences


def _block(lines: list[Line], number: int, words: Placeholders) -> bytes:
    """Neighbouring lines of the client's go out in one write, with the first of them."""
    if number and lines[number - 1]["from"] == "client":
        return b""
    frames: list[bytes] = []
    for line in lines[number:]:
        if line["from"] == "server":
            break
        frames.append(frame(words.take(line["message"])))
    return b"".join(frames)


def _is_answer(message: Json) -> bool:
    return "method" not in message


def _text(line: Line) -> str:
    return json.dumps(line, sort_keys=True)
