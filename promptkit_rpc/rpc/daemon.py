"""One client on this process's standard streams, from the first frame to an orderly end."""

import asyncio
import gc
import os
import resource
from contextlib import suppress
from typing import Any

from promptkit_rpc.rpc import descriptors, log
from promptkit_rpc.rpc.framing import Event, Lost
from promptkit_rpc.rpc.hello import Hello, negotiate
from promptkit_rpc.rpc.lifecycle import Lifecycle, Phase, SessionFactory
from promptkit_rpc.rpc.peer import Peer
from promptkit_rpc.rpc.started import Started
from promptkit_rpc.rpc.stdio import Reader, Writer

PATIENCE = 1.0
"""Seconds that cancelled requests get to end by themselves."""

CLOSING = 0.5
"""Seconds that closing the session, and then writing what is left, may take."""

_FILES = 65_536
"""The most descriptors that are asked for."""

_WATCH = 1.0
_YOUNG = 10_000
"""New objects between two collections: a run leaves no cycles, so there is little to find."""


def run(started: Started, factory: SessionFactory) -> int:
    """Serves until the end, and returns the exit code."""
    log.install(started.options.log_level)
    _allow_files()
    gc.freeze()  # what is loaded stays, so no collection need walk over it
    gc.enable()
    gc.set_threshold(_YOUNG)
    # Not asyncio.run: at its end it waits for threads, which a stuck one would never let it.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(_serve(started, factory))


def _allow_files() -> None:
    """Asks for as many descriptors as there may be: every run over HTTP has a connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


async def _serve(started: Started, factory: SessionFactory) -> int:
    return await Daemon(started, factory).serve()


class Daemon:
    """The parts of one connection, and why it ends."""

    def __init__(self, started: Started, factory: SessionFactory) -> None:
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Future[tuple[int, float]] = self._loop.create_future()
        self._started = started
        self._lifecycle = Lifecycle(factory, self._exit, self._watch, self._greet)
        self._writer = Writer(started.sink, lambda: self._stop(1))
        self._peer = Peer(self._writer, self._lifecycle)

    async def serve(self) -> int:
        """Serves until the end, and returns the exit code."""
        started = self._started
        if started.hello is not None:
            self._lifecycle.open(started.hello, self._peer)
        self._deliver(started.events)
        reader = Reader(started.source, started.framer, self._deliver, self._input_ended)
        code, grace = await self._end
        reader.close()
        await self._peer.settle(grace, PATIENCE)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING):
                await self._lifecycle.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING):
                await self._writer.drain()
        return code

    def _deliver(self, events: list[Event]) -> None:
        self._writer.hold()
        for event in events:
            if self._end.done():
                break
            if isinstance(event, Lost):
                descriptors.say(f"the input is out of step: {event.reason}")
                self._stop(1)
            else:
                self._peer.receive(event)
        self._writer.flush()

    def _greet(self, params: dict[str, Any]) -> Hello:
        return negotiate(params, self._started.options.root, self._started.options.config)

    # Why it ends

    def _stop(self, code: int, grace: float = 0.0) -> None:
        if not self._end.done():
            self._end.set_result((code, grace))

    def _exit(self, code: int) -> None:
        self._stop(code)

    def _input_ended(self) -> None:
        if self._started.framer.inside:
            descriptors.say("the input ended inside a frame")
        self._stop(1, self._started.options.grace)

    def _watch(self, hello: Hello) -> None:
        """Ends with the process that the client named.

        One that cannot be seen lives in another namespace; then the end of the input has to do.
        """
        process_id = hello.process_id
        if process_id is None or process_id <= 0 or not _alive(process_id):
            return
        try:
            watched = os.pidfd_open(process_id)
        except (AttributeError, OSError):
            self._poll(process_id)
        else:
            self._loop.add_reader(watched, self._watched_gone, watched)

    def _watched_gone(self, watched: int) -> None:
        # It stays readable, so that the loop would not come to rest for as long as the end takes.
        self._loop.remove_reader(watched)
        self._parent_gone()

    def _poll(self, process_id: int) -> None:
        if _alive(process_id):
            self._loop.call_later(_WATCH, self._poll, process_id)
        else:
            self._parent_gone()

    def _parent_gone(self) -> None:
        self._stop(int(self._lifecycle.phase is not Phase.SHUT), self._started.options.grace)


def _alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
