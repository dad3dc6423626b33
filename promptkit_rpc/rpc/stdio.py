"""Frames on a pair of descriptors, driven by the event loop. Knows no message.

Reading is done on the loop, which learns that bytes are there and takes what is there. Writing is
done on the loop where it surely cannot block, and by one thread where it may.
"""

import asyncio
import os
import queue
import select
import socket
import stat
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial

from promptkit_rpc.rpc import descriptors
from promptkit_rpc.rpc.framing import Event, Framer, header

HIGH_WATER = 1024 * 1024
"""Bytes waiting to be written above which streaming producers are asked to wait."""

LOW_WATER = HIGH_WATER // 4
"""Bytes waiting to be written below which they may go on."""

_BURST = 32
"""Header and body of so many messages, halved, are written at once: the client works meanwhile."""

_JOINED = 65536
"""Up to how many bytes are copied together to save a write."""


class Reader:
    """Reads frames until closed; `deliver` gets the events of each read, `on_end` the end."""

    def __init__(
        self,
        source: int,
        framer: Framer,
        deliver: Callable[[list[Event]], None],
        on_end: Callable[[], None],
    ) -> None:
        self._framer = framer
        self._deliver = deliver
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._source = source
        try:
            self._loop.add_reader(source, self._read)
        except PermissionError:  # a file is always readable, which the loop cannot watch
            self._source = _pumped(source)
            self._loop.add_reader(self._source, self._read)

    def close(self) -> None:
        """Reads no more."""
        self._loop.remove_reader(self._source)

    def _read(self) -> None:
        data = descriptors.read(self._source)
        if data:
            self._deliver(self._framer.feed(data))
        elif data is not None:
            self.close()
            self._on_end()


def _pumped(source: int) -> int:
    """A pipe that a thread fills from a descriptor that cannot be watched."""
    outlet, inlet = os.pipe()

    def pump() -> None:
        with suppress(OSError):
            while data := descriptors.read(source):
                descriptors.write(inlet, data)
        os.close(inlet)

    threading.Thread(target=pump, name="promptkit-rpc reader", daemon=True).start()
    return outlet


class Writer:
    """Writes frames in order and never makes the loop wait; `on_lost` tells that nobody reads."""

    def __init__(self, sink: int, on_lost: Callable[[], None]) -> None:
        self._sink = sink
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        mode = os.fstat(sink).st_mode
        self._socket = socket.socket(fileno=os.dup(sink)) if stat.S_ISSOCK(mode) else None
        self._now: Callable[[memoryview], int] | None = None
        if self._socket is not None:
            self._now = partial(_sent, self._socket)
        elif stat.S_ISFIFO(mode):
            self._now = partial(_piped, sink, _output_poll(sink))
        # Both show that nobody reads them even while nothing is written.
        self._watched = self._now is not None
        if self._watched:
            self._loop.add_reader(sink, self._stirred)
        self._suspect = False
        """Nobody reads any more, but the thread is still writing and will see it."""
        self._parts: list[bytes] = []
        self._size = 0
        self._behind = 0
        self._scheduled = False
        self._lost = False
        self._queue: queue.SimpleQueue[tuple[list[bytes], int] | None] | None = None
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def hold(self) -> None:
        """Keeps what is sent until `flush`, which is about to be called."""
        self._scheduled = True

    def send(self, body: bytes, *, last: bool = False) -> None:
        """Takes a body; it is written at the next `flush`, which the loop's next turn does.

        If it is the last for now, that is at once.
        """
        head = header(len(body))
        self._parts += (head, body)
        self._size += len(head) + len(body)
        if last or len(self._parts) >= _BURST:
            self.flush()
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self.flush)

    def room(self) -> Awaitable[None] | None:
        """None below the high-water mark, else what to await before sending more."""
        if self._lost or self._behind + self._size <= HIGH_WATER:
            return None
        self.flush()
        return self._drained(LOW_WATER)

    async def drain(self) -> None:
        """Waits until everything is written, or nobody reads any more."""
        self.flush()
        await self._drained(0)

    def close(self) -> None:
        """Writes no more; the descriptor itself stays open."""
        self._lost = True
        self._unwatch()
        if self._queue is not None:
            self._queue.put(None)
        if self._socket is not None:
            self._socket.close()

    def flush(self) -> None:
        """Writes what was sent, or hands it to the thread."""
        self._scheduled = False
        parts, size = self._parts, self._size
        self._parts, self._size = [], 0
        if not parts or self._lost:
            return
        if self._now is not None and not self._behind and size <= _JOINED:
            try:
                left = _written(b"".join(parts), self._now)
            except OSError:
                self._end()
                return
            if not left:
                return
            parts, size = [left], len(left)
        self._behind += size
        self._thread().put((parts, size))

    def _drained(self, mark: int) -> asyncio.Future[None]:
        drained: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((mark, drained))
        self._advance(0)
        return drained

    def _thread(self) -> queue.SimpleQueue[tuple[list[bytes], int] | None]:
        if self._queue is None:
            self._queue = queue.SimpleQueue()
            threading.Thread(target=self._work, name="promptkit-rpc writer", daemon=True).start()
        return self._queue

    def _work(self) -> None:
        work = self._thread()
        with suppress(RuntimeError):  # the loop is closed, so nobody cares any more
            while (batch := work.get()) is not None:
                parts, size = batch
                try:
                    for piece in _pieces(parts):
                        descriptors.write(self._sink, piece)
                except OSError:
                    self._loop.call_soon_threadsafe(self._end)
                    return
                self._loop.call_soon_threadsafe(self._advance, size)

    def _advance(self, size: int) -> None:
        self._behind -= size
        if self._suspect and not self._behind and not self._lost:
            self._end()  # the thread had written everything just before
            return
        waiting, self._waiting = self._waiting, []
        for mark, drained in waiting:
            if self._behind > mark and not self._lost:
                self._waiting.append((mark, drained))
            elif not drained.done():
                drained.set_result(None)

    def _stirred(self) -> None:
        """Nobody reads any more; or there is something to read, and it is no use to watch."""
        self._unwatch()
        self._suspect = _broken(self._sink)
        if self._suspect and not self._behind:
            self._end()

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._loop.remove_reader(self._sink)

    def _end(self) -> None:
        told, self._lost = self._lost, True
        self._unwatch()
        self._advance(0)
        if not told:
            self._on_lost()


def _pieces(parts: list[bytes]) -> Iterator[bytes]:
    """The same bytes with small parts joined; a large one is not copied."""
    small: list[bytes] = []
    size = 0
    for part in parts:
        if size + len(part) > _JOINED:
            if small:
                yield b"".join(small)
            small, size = [], 0
        if len(part) > _JOINED:
            yield part
        else:
            small.append(part)
            size += len(part)
    if small:
        yield b"".join(small)


def _written(data: bytes, write: Callable[[memoryview], int]) -> bytes:
    """Writes while there is room; returns what is left."""
    left = memoryview(data)
    while count := write(left):
        if count == len(left):
            return b""
        left = left[count:]
    return bytes(left)


def _sent(connection: socket.socket, data: memoryview) -> int:
    """Writes what a socket takes at once."""
    try:
        return connection.send(data, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0


def _output_poll(sink: int) -> "select.poll":
    poll = select.poll()
    poll.register(sink, select.POLLOUT)
    return poll


def _broken(sink: int) -> bool:
    poll = select.poll()
    poll.register(sink, 0)
    return bool(poll.poll(0))


def _piped(sink: int, poll: "select.poll", data: memoryview) -> int:
    """A pipe that is ready takes so many bytes at once, see pipe(7) and poll(2)."""
    return os.write(sink, data[: select.PIPE_BUF]) if poll.poll(0) else 0
