"""The same work with nothing around it: `python -m tests.bench.bare echo | provider`.

`echo` answers frames with asyncio and msgspec, a task for each request. `provider` answers HTTP
requests at once; `POST /N` gives an answer of N bytes, or a stream of N chunks if it is asked for.
"""

import asyncio
import itertools
import json
import os
import sys
import time
from functools import lru_cache
from typing import Any

import msgspec

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_HEAD = b"\r\n\r\n"
_SLICE = 1 << 17


class Echo(asyncio.Protocol):
    """Sends params back; `ask` sends what the client answers."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._ids = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        start = 0
        while (head := self._buffer.find(_HEAD, start)) >= 0:
            stop = head + 4 + int(self._buffer[start + 16 : head])
            if len(self._buffer) < stop:
                break
            self._take(msgspec.json.decode(bytes(self._buffer[head + 4 : stop])))
            start = stop
        del self._buffer[:start]

    def _take(self, message: Any) -> None:
        if "method" in message:
            task = asyncio.ensure_future(self._serve(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._asked.pop(message["id"]).set_result(message["result"])

    async def _serve(self, message: Any) -> None:
        result = message["params"]
        if message["method"] == "ask":
            number = next(self._ids)
            answer = self._asked[number] = asyncio.get_running_loop().create_future()
            self._send({"jsonrpc": "2.0", "id": number, "method": "asked", "params": result})
            result = await answer
        self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _send(self, message: Any) -> None:
        body = msgspec.json.encode(message)
        os.write(1, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


class Provider(asyncio.Protocol):
    """One connection of a client that waits for each answer."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._need = 0

    def connection_made(self, transport: Any) -> None:
        self._transport: asyncio.Transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._need:
            end = self._buffer.find(_HEAD)
            if end < 0:
                return
            head = bytes(self._buffer[:end]).lower()
            self._need = end + 4 + int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        if len(self._buffer) >= self._need:
            size = int(self._buffer.split(b" ", 2)[1].split(b"/")[1])
            stream = b'"stream":true' in self._buffer
            self._buffer.clear()
            self._need = 0
            self._transport.write(events(size) if stream else completion(size))


@lru_cache
def completion(size: int) -> bytes:
    """A response whose answer has so many bytes."""
    choice = {"message": {"role": "assistant", "content": "x" * size}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    body = json.dumps({"choices": [choice], "usage": usage}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


@lru_cache
def events(chunks: int) -> bytes:
    """A streamed response of so many chunks."""
    told = [json.dumps({"choices": [{"delta": {"content": f"w{n} "}}]}) for n in range(chunks)]
    told += [json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}), "[DONE]"]
    lines = [f"data: {one}\n\n".encode() for one in told]
    body = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in (*lines, b""))
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    return head + body


class Poster:
    """Posts on connections of its own, on asyncio's streams, and decodes the answers."""

    def __init__(self, port: int, at_once: int = 1) -> None:
        self._loop = asyncio.new_event_loop()
        opening = [asyncio.open_connection("127.0.0.1", port) for _ in range(at_once)]
        self._connections: list[Streams] = self._loop.run_until_complete(_all(opening))

    def cost(self, path: str, parts: list[bytes], each: int) -> float:
        """CPU seconds of so many posts on each connection, after one that does not count."""
        head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        request = [head % (path.encode(), sum(map(len, parts))), *parts]
        for times in (1, each):
            began = time.process_time()
            posting = [_post(one, request, times) for one in self._connections]
            self._loop.run_until_complete(_all(posting))
        return time.process_time() - began


async def _post(streams: Streams, request: list[bytes], times: int) -> None:
    reader, writer = streams
    for _ in range(times):
        whole = memoryview(b"".join(request))
        for start in range(0, len(whole), _SLICE):
            writer.write(whole[start : start + _SLICE])
            await writer.drain()
        head = await reader.readuntil(_HEAD)
        if b"chunked" not in head:
            size = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
            msgspec.json.decode(await reader.readexactly(size))
            continue
        while size := int(await reader.readuntil(b"\r\n"), 16):
            event = await reader.readexactly(size + 2)
            if event.startswith(b"data: {"):
                msgspec.json.decode(event[6:-4])
        await reader.readexactly(2)


async def _all(coroutines: list[Any]) -> list[Any]:
    return await asyncio.gather(*coroutines)


async def _echo() -> None:
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(Echo, os.fdopen(0, "rb", 0))
    await loop.create_future()


async def _provide() -> None:
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - its client waits for it
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_echo() if sys.argv[1] == "echo" else _provide())
