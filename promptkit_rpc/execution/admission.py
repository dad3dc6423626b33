"""Who may run: leases for whole runs, permits for calls in flight, first come, first served."""

import asyncio

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.errors import AdmissionRejected


class Slots:
    """A number of slots, or any number; waiters are served in order and may give up.

    Args:
        size: how many may be held at once; None is unlimited.
        queue: how many may wait; None is unlimited.
        name: what is waited for, for the refusal's message.
    """

    def __init__(self, size: int | None, queue: int | None = None, name: str = "slot") -> None:
        self._size = size
        self._queue = queue
        self._name = name
        self._waiting: dict[asyncio.Future[None], None] = {}
        self.held = 0

    @property
    def size(self) -> int | None:
        """How many may be held at once; None is unlimited."""
        return self._size

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def resize(self, size: int | None, queue: int | None = None) -> None:
        """Changes the limits; holders keep what they hold, even above a smaller size."""
        self._size = size
        self._queue = queue
        self._grant()

    async def acquire(self, signal: CancelSignal) -> None:
        """Takes a slot, waiting for it if need be.

        Raises:
            AdmissionRejected: the queue is full.
            PromptKitError: the signal's error; no slot is held then.
        """
        signal.check()
        if not self._waiting and self._has_room():
            self.held += 1
            return
        if self._queue is not None and len(self._waiting) >= self._queue:
            raise AdmissionRejected(
                f"{self._name}: all {self._size} in use and {self._queue} waiting; try again later"
                " or raise `queue` or `capacity`"
            )
        await self._wait(signal)

    async def _wait(self, signal: CancelSignal) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting[turn] = None
        try:
            with signal.scope():
                await turn
        except BaseException:
            self._waiting.pop(turn, None)
            if turn.done() and not turn.cancelled():
                self.release()  # granted in the very moment the wait was given up
            raise

    def release(self) -> None:
        """Gives a slot back and serves who has waited longest."""
        self.held -= 1
        self._grant()

    def _has_room(self) -> bool:
        return self._size is None or self.held < self._size

    def _grant(self) -> None:
        while self._waiting and self._has_room():
            turn = next(iter(self._waiting))
            del self._waiting[turn]
            if not turn.done():
                self.held += 1
                turn.set_result(None)


class Admission:
    """One backend's leases and permits."""

    def __init__(
        self, backend: str, capacity: int | None, permits: int | None, queue: int | None
    ) -> None:
        self.leases = Slots(capacity, queue, f"backend {backend!r}")
        self.permits = Slots(permits if permits is not None else capacity)

    def resize(self, capacity: int | None, permits: int | None, queue: int | None) -> None:
        """Takes over changed limits; runs in flight keep what they hold."""
        self.leases.resize(capacity, queue)
        self.permits.resize(permits if permits is not None else capacity)
