"""A mock provider on raw asyncio: it records raw requests and plays what it is told, byte by byte.

    async with Provider() as provider:
        provider.play(completion("hi"), refusal(429, {"error": {"message": "slow down"}}))
        provider.always(completion("again"))         # when nothing is left to play
        ...  # use provider.url
        assert provider.requests[0].json()["model"] == "m"
        await provider.arrived(2)                    # until two requests have come whole
        await provider.hung_up(1)                    # until one connection was closed by the client

A script is a tuple of steps, played when a request has come whole: bytes are written, an
`asyncio.Event` is waited for, and an `End` ends the connection (NEVER: keeps it and answers no
more). After a script without an end the connection serves the next request. The functions below
make scripts: `respond`, `answered`, `refusal`, `redirect`, `completion`, `message`, `events`,
`chunks`, `streamed_completion`, `streamed_message`. Scripts are tuples, so `script[:-1] + (gate,
End.RESET)` makes a broken one.

Without `play` and `always` a request is answered by 500. `Provider(tls=context)` speaks TLS,
`Provider(greeting=bytes)` talks before it is asked. As a proxy it plays `tunnel()`: it connects to
the port of the CONNECT, on the loopback whatever the host.
"""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum, auto
from types import TracebackType
from typing import Any, Self, TypeAlias

from attrs import frozen

BOUND = 10.0
"""No wait in a test is longer, in seconds."""


class End(Enum):
    """How a script ends a connection."""

    CLOSE = auto()
    RESET = auto()
    HALF_CLOSE = auto()
    NEVER = auto()
    TUNNEL = auto()


Step: TypeAlias = bytes | asyncio.Event | End
Script: TypeAlias = tuple[Step, ...]


@frozen(kw_only=True)
class Recorded:
    """One request as it came. Header names are in lower case; `connection` counts from 0."""

    raw: bytes
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    def json(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body)


class Provider:
    """Listens on a loopback port while it is open: on a free one unless one is given."""

    def __init__(
        self, *, tls: ssl.SSLContext | None = None, greeting: bytes = b"", port: int = 0
    ) -> None:
        self._greeting = greeting
        self.requests: list[Recorded] = []
        self.connections = 0
        self.hangups = 0
        self._scripts: list[Script] = []
        self._rest: Script = refusal(500, {"error": {"message": "nothing is left to play"}})
        self._more: Iterator[Script] = iter(())
        self._tls = tls
        self._changed = asyncio.Event()
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server
        self.port = port

    @property
    def url(self) -> str:
        """The base URL, without a path."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def play(self, *scripts: Script) -> None:
        """Adds scripts, one for each of the next requests."""
        self._scripts += scripts

    def always(self, script: Script) -> None:
        """What is played when no script is left."""
        self._rest = script

    def endless(self, scripts: Iterator[Script]) -> None:
        """Takes one more script for each request when no other is left."""
        self._more = scripts

    async def hang_up(self) -> None:
        """Ends every connection; the next one is served as before."""
        for task in tuple(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def arrived(self, count: int) -> None:
        """Waits until so many requests have come whole."""
        await self._until(lambda: len(self.requests) >= count)

    async def hung_up(self, count: int) -> None:
        """Waits until so many connections were ended by the client."""
        await self._until(lambda: self.hangups >= count)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", self.port, ssl=self._tls, limit=2**26
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._server.close()
        await self.hang_up()
        await self._server.wait_closed()

    async def _until(self, condition: Any) -> None:
        async with asyncio.timeout(BOUND):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        number = self.connections
        self.connections += 1
        try:
            await self._talk(reader, writer, number)
        except (asyncio.IncompleteReadError, OSError):
            self.hangups += 1
            self._changed.set()
        except asyncio.CancelledError:
            # Only leaving the provider cancels, and nobody looks at the task then.
            writer.transport.abort()
        finally:
            self._serving.discard(task)
            writer.close()

    async def _talk(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> None:
        writer.write(self._greeting)
        while True:
            self.requests.append(await _request(reader, number))
            self._changed.set()
            script = self._scripts.pop(0) if self._scripts else next(self._more, self._rest)
            for step in script:
                if isinstance(step, bytes):
                    writer.write(step)
                    await writer.drain()
                elif isinstance(step, asyncio.Event):
                    await _either(step.wait(), reader)
                else:
                    await _end(step, reader, writer, self.requests[-1].target)
                    return


async def _request(reader: asyncio.StreamReader, number: int) -> Recorded:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Recorded(
        raw=head + body,
        method=method,
        target=target,
        headers=headers,
        body=body,
        connection=number,
    )


async def _either(wait: Any, reader: asyncio.StreamReader) -> None:
    """Waits for a gate, or for the client to hang up."""
    gate = asyncio.ensure_future(wait)
    gone = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait((gate, gone), return_when=asyncio.FIRST_COMPLETED)
        if gone.done() and not gate.done():
            gone.result()
            raise ConnectionResetError("the client hung up")
    finally:
        gate.cancel()
        gone.cancel()
        with suppress(asyncio.CancelledError, ConnectionError):
            await gone


async def _end(
    end: End, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: str
) -> None:
    match end:
        case End.TUNNEL:
            await _tunnel(reader, writer, int(target.rpartition(":")[2]))
        case End.CLOSE:
            return
        case End.RESET:
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        case End.HALF_CLOSE:
            writer.write_eof()
            await _hangup(reader)
        case End.NEVER:
            await _hangup(reader)


async def _hangup(reader: asyncio.StreamReader) -> None:
    while await reader.read(2**16):
        pass
    raise ConnectionResetError("the client hung up")


async def _tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    inner, outer = await asyncio.open_connection("127.0.0.1", port)

    async def copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(2**16):
                to.write(data)
        to.close()

    try:
        await asyncio.gather(copy(reader, outer), copy(inner, writer))
    finally:
        outer.transport.abort()


# Scripts.

Headers: TypeAlias = Iterable[tuple[str, str]]
OPENAI_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
ANTHROPIC_USAGE = {"input_tokens": 10, "output_tokens": 5}


def respond(
    status: int = 200,
    body: bytes = b"",
    *,
    kind: str = "application/json",
    headers: Headers = (),
    length: int | None = None,
) -> Script:
    """A response with a `Content-Length`, which may lie."""
    fields = [
        ("Content-Type", kind),
        ("Content-Length", str(len(body) if length is None else length)),
    ]
    return (_head(status, [*fields, *headers]), body)


def answered(value: Any, status: int = 200, headers: Headers = ()) -> Script:
    """A JSON response."""
    return respond(status, json.dumps(value).encode(), headers=headers)


def refusal(status: int, value: Any, *headers: tuple[str, str]) -> Script:
    """A JSON error."""
    return answered(value, status, headers)


def redirect(place: str, status: int = 302) -> Script:
    """A redirect."""
    return respond(status, headers=[("Location", place)])


def tunnel() -> Script:
    """A proxy's consent to a CONNECT."""
    return (b"HTTP/1.1 200 Connected\r\n\r\n", End.TUNNEL)


def completion(
    content: Any = "hi",
    *,
    finish: str | None = "stop",
    usage: Any = OPENAI_USAGE,
    **fields: Any,
) -> Script:
    """An OpenAI answer; `fields` go into its message."""
    said = {"role": "assistant", "content": content, **fields}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return answered({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})


def message(
    *blocks: str | dict[str, Any], stop: str | None = "end_turn", usage: Any = ANTHROPIC_USAGE
) -> Script:
    """An Anthropic answer; a text stands for its block."""
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks or ("hi",)]
    return answered(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "content": content,
            "stop_reason": stop,
            "usage": usage,
        }
    )


def events(*steps: Step | str, end: bool = True) -> Script:
    """An event stream: a text becomes the data of one event, bytes are written as they are.

    Each step is one chunk on the wire; without `end` the last chunk is missing.
    """
    return chunks(
        *(f"data: {step}\n\n".encode() if isinstance(step, str) else step for step in steps),
        kind="text/event-stream",
        end=end,
    )


def chunks(*steps: Step, kind: str = "application/json", end: bool = True) -> Script:
    """A chunked response; gates and ends may stand between the chunks."""
    head = _head(200, [("Content-Type", kind), ("Transfer-Encoding", "chunked")])
    framed = [b"%x\r\n%b\r\n" % (len(s), s) if isinstance(s, bytes) else s for s in steps]
    return (head, *framed, b"0\r\n\r\n") if end else (head, *framed)


def delta(text: str | None = None, finish: str | None = None, **fields: Any) -> str:
    """The data of one chunk of an OpenAI stream; `fields` go into its delta."""
    piece = fields if text is None else {"content": text, **fields}
    choice = {"index": 0, "delta": piece, "finish_reason": finish}
    return json.dumps({"object": "chat.completion.chunk", "choices": [choice]})


def streamed_completion(*texts: str, usage: Any = OPENAI_USAGE) -> Script:
    """An OpenAI stream with a usage chunk and `[DONE]`."""
    parts = [delta(text) for text in texts]
    last = json.dumps({"choices": [], "usage": usage})
    return events(*parts, delta(finish="stop"), last, "[DONE]")


def streamed_message(*texts: str, usage: Any = None) -> Script:
    """An Anthropic stream; `usage` is that of the `message_delta` at its end."""
    start = {"type": "message_start", "message": {"type": "message", "usage": ANTHROPIC_USAGE}}
    pieces = [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        for text in texts
    ]
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage or {}}
    all_ = [
        start,
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *pieces,
        {"type": "content_block_stop", "index": 0},
        end,
        {"type": "message_stop"},
    ]
    return events(*(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in all_))


def _head(status: int, headers: Headers) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode()
