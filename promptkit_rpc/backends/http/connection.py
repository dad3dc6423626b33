"""One HTTP/1.1 connection on asyncio: a wait is one future, an end is at once.

Raises httpx's exceptions. Knows no pool, no provider and no retry.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from typing import Any, cast

import httpx

from promptkit_rpc.backends.http.message import Response

Pace = Callable[[], Awaitable[None] | None]
"""Asked before more is read from the socket: None, or what to await first."""

_SLICE = 128 * 1024
"""Bytes that are handed to the socket at once: small parts are joined, large ones cut, so that no
more than this is copied when the socket is full, and nothing as long as a history ever is."""

_TOGETHER = 32
"""Parts that are joined without a look at each, if they make no slice."""

_UNREAD = 64 * 1024
_DRAIN = 2.0
_DRAINED_AT_MOST = 64 * 1024


class Unanswered(httpx.RemoteProtocolError):
    """The connection ended before a byte of the response had come."""


class BrokenOff(httpx.RemoteProtocolError):
    """The connection ended inside the response."""


class Content(httpx.AsyncByteStream):
    """A request's body in parts that are never joined as a whole; its length is theirs."""

    __slots__ = ("_length", "parts")

    def __init__(self, parts: Sequence[bytes]) -> None:
        self.parts = parts
        self._length = sum(map(len, parts))

    def __len__(self) -> int:
        return self._length

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """The parts, for whoever knows only httpx's streams."""
        for part in self.parts:
            yield part

    def pieces(self, head: bytes) -> Iterator[bytes | memoryview]:
        """What a socket is handed: the head, small parts joined, large ones cut."""
        waiting: list[bytes | memoryview] = [head]
        size = len(head)
        for start in range(0, len(self.parts), _TOGETHER):
            some = self.parts[start : start + _TOGETHER]
            # Most parts are small, and a history has many: then none is looked at by itself.
            small = sum(map(len, some)) < _SLICE
            for group in [some] if small else [[part] for part in some]:
                waiting += group
                size += sum(map(len, group))
                if size >= _SLICE:
                    yield from _cut(waiting)
                    waiting, size = [], 0
        if size:
            yield b"".join(waiting)


def _cut(parts: list[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """Parts that are enough for a slice, the last of which may be long."""
    view = memoryview(parts.pop())
    yield b"".join((*parts, view[:_SLICE]))
    for start in range(_SLICE, len(view), _SLICE):
        yield view[start : start + _SLICE]


class Connection(asyncio.BufferedProtocol):
    """One request at a time; `release` is called when it is free for the next one, or is gone.

    Every method that waits is cancelled safely by `abort`, which its caller must call. `buffer` is
    where bytes arrive; they are taken from there at once, so that connections can share one.
    """

    def __init__(self, release: Callable[["Connection"], None], buffer: memoryview) -> None:
        self._buffer = buffer
        self._loop = asyncio.get_running_loop()
        self._release = release
        self._response: Response | None = None
        self._transport: asyncio.Transport
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._late: type[httpx.TimeoutException] = httpx.ReadTimeout
        self._unread = 0
        self._received = False
        self._write_paused = False
        self._read_paused = False
        self._sent = True
        self._ended = False
        self._lost: Exception | None = None
        self._draining: asyncio.TimerHandle | None = None
        self._drained = 0
        self.idle_since = 0.0

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport; also called by hand when TLS replaces it."""
        self._transport = cast("asyncio.Transport", transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        del sizehint
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Reads bytes and wakes who waits; bytes nobody asked for end the connection."""
        response = self._response
        if response is None:
            self.abort()
            return
        self._received = True
        self._unread += nbytes
        response.feed(self._buffer[:nbytes])
        if self._draining:
            self._drain()
        elif self._waiter is None and self._unread > _UNREAD:
            self._transport.pause_reading()
            self._read_paused = True
        self._wake()

    def eof_received(self) -> bool:
        """The peer sends no more; nothing is left to say to it either."""
        if not self._ended and self._response is not None:
            self._response.end()
        self._end()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self._lost = exc
        self._end()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._release(self)

    def pause_writing(self) -> None:
        """The socket is full."""
        self._write_paused = True

    def resume_writing(self) -> None:
        """The socket takes more."""
        self._write_paused = False
        self._wake()

    def _end(self) -> None:
        self._ended = True
        if self._draining:
            self._drain()
        self._wake()

    # One exchange.

    async def request(
        self, head: bytes, body: Content, timeouts: dict[str, float | None]
    ) -> Response:
        """Sends a request and waits for the head of its response."""
        response = self._response = Response()
        await self._send(head, body, timeouts.get("write"))
        timeout = timeouts.get("read")
        while not response.begun:
            self._check(response)
            await self._more(timeout)
        return response

    async def receive(self, within: float | None, pace: Pace | None) -> bytes | None:
        """The next bytes of the response's body, None after the last; then it is released."""
        response = self._response
        if response is None:
            raise RuntimeError("nothing was asked for")
        while True:
            if data := response.take():
                self._unread = 0
                return data
            if response.complete:
                self._finish(response)
                return None
            self._check(response)
            wait = None if pace is None else pace()
            if wait is None:
                await self._more(within)
            else:
                await wait

    def leave(self) -> None:
        """Everything needed of the response is here: keeps the connection if its end comes soon."""
        self._draining = self._loop.call_later(_DRAIN, self.abort)
        self._drained = 0
        self._resume()
        self._drain()

    def abort(self) -> None:
        """Closes at once; never waits."""
        self._stop_draining()
        self._ended = True
        if self._response is not None:
            self._response.drop()
        self._transport.abort()
        self._wake()

    @property
    def alive(self) -> bool:
        """Whether an idle connection can still be used, as far as is known here."""
        return not self._ended and not self._transport.is_closing()

    async def start_tls(self, context: Any, host: str) -> None:
        """Puts TLS on the connection, inside a tunnel that was just made."""
        self._response = None
        transport = await self._loop.start_tls(self._transport, self, context, server_hostname=host)
        if transport is None:
            raise httpx.ConnectError("the connection ended before TLS was agreed on")
        self.connection_made(transport)

    # Inside.

    async def _send(self, head: bytes, body: Content, within: float | None) -> None:
        transport = self._transport
        self._received = self._sent = False
        for piece in body.pieces(head):
            if not await self._writable(within):
                return
            transport.write(piece)
        self._sent = True

    async def _writable(self, within: float | None) -> bool:
        """Waits until the socket takes more; False when more is of no use."""
        while self._write_paused and not self._received and not self._ended:
            await self._wait(within, httpx.WriteTimeout)
        return not self._received and not self._ended

    def _check(self, response: Response) -> None:
        """Raises if no more of a response will come."""
        if response.broken:
            raise httpx.RemoteProtocolError(response.why)
        if self._ended and self._received:
            raise BrokenOff("the response broke off") from self._lost
        if self._ended:
            raise Unanswered("the connection ended before a response came") from self._lost

    async def _more(self, within: float | None) -> None:
        self._unread = 0
        self._resume()
        await self._wait(within, httpx.ReadTimeout)

    def _resume(self) -> None:
        if self._read_paused:
            self._read_paused = False
            self._transport.resume_reading()

    async def _wait(self, within: float | None, late: type[httpx.TimeoutException]) -> None:
        waiter = self._waiter = self._loop.create_future()
        if within is not None:
            self._late = late
            self._deadline = self._loop.time() + within
            if self._timer is not None and self._timer.when() > self._deadline:
                self._timer.cancel()
                self._timer = None
            if self._timer is None:
                self._timer = self._loop.call_at(self._deadline, self._tick)
        try:
            await waiter
        finally:
            self._waiter = None

    def _tick(self) -> None:
        """One timer serves all waits: when it is due early, it only sets itself again."""
        self._timer = None
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        if self._loop.time() >= self._deadline:
            waiter.set_exception(self._late("nothing came in time"))
        else:
            self._timer = self._loop.call_at(self._deadline, self._tick)

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _drain(self) -> None:
        response = self._response
        if response is None:
            return
        self._drained += len(response.take())
        if response.complete:
            self._stop_draining()
            self._finish(response)
        elif response.broken or self._ended or self._drained > _DRAINED_AT_MOST:
            self.abort()

    def _stop_draining(self) -> None:
        if self._draining is not None:
            self._draining.cancel()
            self._draining = None

    def _finish(self, response: Response) -> None:
        self._response = None
        if response.reusable and self._sent and self.alive:
            self._unread = 0
            # Idle, it has to hear when the peer hangs up.
            self._resume()
            self.idle_since = self._loop.time()
            self._release(self)
        else:
            self.abort()
