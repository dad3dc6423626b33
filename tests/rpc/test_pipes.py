"""The reader and the writer on real descriptors, in this process."""

import asyncio
import os
import random
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from promptkit_rpc.rpc import descriptors
from promptkit_rpc.rpc.framing import Event, Framer, header
from promptkit_rpc.rpc.stdio import HIGH_WATER, Reader, Writer
from tests.support.peers import BOUND

Ends = Callable[[], tuple[int, int]]


def pipe() -> tuple[int, int]:
    return os.pipe()


def sockets() -> tuple[int, int]:
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


def nonblocking() -> tuple[int, int]:
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    return source, sink


KINDS = pytest.mark.parametrize("ends", [pipe, sockets, nonblocking])


class Wire:
    """A writer, and a reader at the other end that starts when it is told to."""

    def __init__(self, ends: Ends) -> None:
        self.source, self.sink = ends()
        self.lost = asyncio.Event()
        self.ended = asyncio.Event()
        self.ends = 0
        self.told = 0
        self.writer = Writer(self.sink, self.tell)
        self.got: list[Event] = []
        self.enough = asyncio.Event()
        self.reader: Reader | None = None

    def tell(self) -> None:
        self.told += 1
        self.lost.set()

    def end(self) -> None:
        self.ends += 1
        self.ended.set()

    def read(self) -> None:
        self.reader = Reader(self.source, Framer(), self.got.extend, self.end)

    async def finish(self) -> None:
        async with asyncio.timeout(BOUND):
            if self.reader is None:
                self.read()
            await self.writer.drain()
            self.writer.close()
            os.close(self.sink)
            await self.ended.wait()
            for _ in range(5):
                await asyncio.sleep(0.001)
        assert self.ends == 1
        os.close(self.source)


@KINDS
async def test_everything_sent_comes_in_order_whatever_its_size(ends: Ends) -> None:
    """R-20: written at once, by the thread, or begun by one and ended by the other."""
    rng = random.Random(4)  # noqa: S311 - sizes, not secrets
    wire = Wire(ends)
    bodies = [b"%d" % n * rng.choice([1, 10, 500, 4096, 30_000, 70_000]) for n in range(300)]
    for number, body in enumerate(bodies):
        wire.writer.send(body)
        if number == 150:
            wire.read()
        if number % 7 == 0:
            await asyncio.sleep(0)
    await wire.finish()
    assert wire.got == bodies


@KINDS
async def test_the_last_body_for_now_is_written_at_once_and_what_was_held_with_it(
    ends: Ends,
) -> None:
    """One write instead of three, and no turn of the loop between them."""
    wire = Wire(ends)
    wire.writer.hold()
    wire.writer.send(b"one")
    wire.writer.send(b"two")
    os.set_blocking(wire.source, False)
    with pytest.raises(BlockingIOError):
        os.read(wire.source, 100)
    wire.writer.send(b"three", last=True)
    assert Framer().feed(os.read(wire.source, 1000)) == [b"one", b"two", b"three"]
    await wire.finish()


@KINDS
async def test_a_reader_that_stands_still_holds_up_only_those_who_wait_for_room(ends: Ends) -> None:
    """R-20: `send` never blocks; `room` tells when to wait and when to go on."""
    wire = Wire(ends)
    sent = 0
    while (room := wire.writer.room()) is None:
        wire.writer.send(b"x" * 65536)
        sent += 1
    assert sent * 65536 >= HIGH_WATER
    waiting = asyncio.ensure_future(room)
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    wire.read()
    async with asyncio.timeout(BOUND):
        await waiting
    await wire.finish()
    assert len(wire.got) == sent


@KINDS
@pytest.mark.parametrize("times", [100, 5000])
async def test_no_send_ever_waits_for_the_reader(ends: Ends, times: int) -> None:
    """R-20: small bodies, of which each might just be written, fill what a pipe holds and more."""

    def blocked(*_: object) -> None:
        raise AssertionError("the loop was kept waiting")

    wire = Wire(ends)
    before = signal.signal(signal.SIGALRM, blocked)
    signal.alarm(int(BOUND))
    try:
        for number in range(2000):
            wire.writer.send(b"%d" % number * times)
            wire.writer.flush()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    await wire.finish()
    assert wire.got == [b"%d" % number * times for number in range(2000)]


@KINDS
async def test_when_nobody_reads_any_more_it_is_told_once(ends: Ends) -> None:
    """R-12: whether it shows on the loop or in the thread; what is sent later is dropped."""
    for body in (b"x", b"x" * 1_000_000):
        wire = Wire(ends)
        os.close(wire.source)
        for _ in range(3):
            wire.writer.send(body)
        async with asyncio.timeout(BOUND):
            await wire.lost.wait()
            wire.writer.send(body)
            await wire.writer.drain()
        assert wire.writer.room() is None
        assert wire.told == 1
        wire.writer.close()
        os.close(wire.sink)


@KINDS
async def test_that_nobody_reads_shows_before_anything_is_written(ends: Ends) -> None:
    """R-12: once, and not while somebody does."""
    wire = Wire(ends)
    wire.writer.send(b"x", last=True)
    for _ in range(5):
        await asyncio.sleep(0)
    assert wire.told == 0
    os.close(wire.source)
    async with asyncio.timeout(BOUND):
        await wire.lost.wait()
    wire.writer.send(b"x", last=True)
    assert wire.told == 1
    wire.writer.close()
    os.close(wire.sink)


@pytest.mark.parametrize("written", [False, True])
async def test_it_is_told_once_the_thread_writes_no_more(
    monkeypatch: pytest.MonkeyPatch, *, written: bool
) -> None:
    """R-12: whether it fails at last or had written everything just before."""
    wire = Wire(pipe)
    held, write = threading.Event(), descriptors.write

    def slow(sink: int, data: bytes) -> None:
        held.wait(BOUND)
        if not written:
            write(sink, data)

    monkeypatch.setattr(descriptors, "write", slow)
    wire.writer.send(b"x" * 1_000_000, last=True)
    os.close(wire.source)
    for _ in range(5):
        await asyncio.sleep(0)
    assert wire.told == 0
    held.set()
    async with asyncio.timeout(BOUND):
        await wire.lost.wait()
    assert wire.told == 1
    wire.writer.close()
    os.close(wire.sink)


async def test_a_connection_on_which_something_comes_is_not_lost() -> None:
    """R-12: one socket for both directions, of which the other side has ended its own."""
    ours, theirs = socket.socketpair()
    told: list[str] = []
    writer = Writer(ours.fileno(), lambda: told.append("lost"))
    theirs.send(b"x")
    theirs.shutdown(socket.SHUT_WR)
    for _ in range(5):
        await asyncio.sleep(0)
    writer.send(b"x", last=True)
    assert (told, theirs.recv(100)) == ([], header(1) + b"x")
    writer.close()
    ours.close()
    theirs.close()


async def test_a_pipe_that_is_open_both_ways_is_not_lost() -> None:
    """R-12: what is written can be read from the same descriptor."""
    source, sink = os.pipe()
    both = os.open(f"/proc/self/fd/{sink}", os.O_RDWR)
    told: list[str] = []
    writer = Writer(both, lambda: told.append("lost"))
    for _ in range(3):
        writer.send(b"x", last=True)
        for _ in range(5):
            await asyncio.sleep(0)
    assert told == []
    assert os.read(source, 100) == 3 * (header(1) + b"x")
    writer.close()
    for descriptor in (source, sink, both):
        os.close(descriptor)


async def test_those_who_wait_for_room_go_on_when_nobody_reads_any_more() -> None:
    """R-12."""
    wire = Wire(pipe)
    for _ in range(40):
        wire.writer.send(b"x" * 65536)
    await asyncio.sleep(0)
    room = wire.writer.room()
    assert room is not None
    waiting = asyncio.ensure_future(room)
    await asyncio.sleep(0)
    os.close(wire.source)
    async with asyncio.timeout(BOUND):
        await waiting
        await wire.lost.wait()
    wire.writer.close()
    os.close(wire.sink)


async def test_what_is_sent_in_one_turn_is_written_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R-20: a burst of small answers is a few writes, and none waits for a next turn."""
    wire = Wire(pipe)
    sizes: list[int] = []
    write = os.write

    def counted(descriptor: int, data: Any) -> int:
        if descriptor == wire.sink:
            sizes.append(len(data))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", counted)
    for _ in range(40):
        wire.writer.send(b"{}")
    wire.writer.flush()
    one = len(header(2)) + 2
    assert sizes == [16 * one, 16 * one, 8 * one]
    monkeypatch.undo()
    await wire.finish()
    assert wire.got == [b"{}"] * 40


async def test_a_terminal_is_written_by_the_thread_alone() -> None:
    """R-20: it cannot be asked whether it has room."""
    controller, terminal = os.openpty()
    writer = Writer(terminal, lambda: None)
    writer.send(b"{}")
    async with asyncio.timeout(BOUND):
        await writer.drain()
    writer.close()
    assert os.read(controller, 100).replace(b"\r\r\n", b"\r\n").endswith(b"{}")
    os.close(controller)
    os.close(terminal)
