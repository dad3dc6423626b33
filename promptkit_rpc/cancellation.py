"""A cancellation signal that never throws away work that is already done.

`asyncio`'s own task cancel loses a result that arrives in the same instant: it marks the task, and
the next step raises although what it waited for is there. Here a cancel goes through the loop's
queue, so whatever was completed before it is seen first; what comes after it is too late.
"""

import asyncio
from collections.abc import Callable
from typing import Self

from promptkit_rpc.errors import Cancelled, PromptKitError


class CancelSignal:
    """Set once, with the error that tells why; observed by any number of runs.

    Not thread-safe: call it on the event loop's thread.
    """

    __slots__ = ("__weakref__", "_callbacks", "error")

    def __init__(self) -> None:
        self.error: PromptKitError | None = None
        self._callbacks: dict[object, Callable[[], object]] = {}

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self.error is not None

    def cancel(self, error: PromptKitError | None = None) -> None:
        """Sets the signal; the first error stays, later calls do nothing."""
        if self.error is not None:
            return
        self.error = error if error is not None else Cancelled("cancelled by the caller")
        failed: Exception | None = None
        while self._callbacks:
            # One by one: a callback may take off another, and one that raises stops none.
            callback = self._callbacks.pop(next(iter(self._callbacks)))
            try:
                callback()
            except Exception as raised:  # noqa: BLE001 - raised again below
                failed = failed or raised
        if failed is not None:
            raise failed

    def check(self) -> None:
        """Raises the signal's own error object if it is set."""
        if self.error is not None:
            raise _again(self.error) from self.error.__cause__

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Calls back once, at once if already set; returns what takes the callback off again."""
        if self.error is not None:
            callback()
            return _nothing
        key = object()
        self._callbacks[key] = callback
        return lambda: self._callbacks.pop(key, None)

    def child(self) -> "ChildSignal":
        """A signal that is set with this one, and can be set alone. Close it when done."""
        return ChildSignal(self)

    def scope(self) -> "Scope":
        """Stops what is awaited inside `with` when the signal is set, and raises its error.

        What was completed before the cancel is kept: leaving the block ends the cancel's reach.
        """
        return Scope(self)


def _nothing() -> None:
    return


def _again(error: PromptKitError) -> PromptKitError:
    """The same object without the places where it was raised before: many runs may raise it."""
    return error.with_traceback(None)


class Scope:
    """Ties the current task's awaits to a signal, as `asyncio.timeout` ties them to a clock."""

    __slots__ = ("_before", "_fired", "_left", "_remove", "_signal", "_task")

    def __init__(self, signal: CancelSignal) -> None:
        self._signal = signal

    def __enter__(self) -> None:
        self._signal.check()
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a cancellation scope needs a running task")
        self._task = task
        self._before = task.cancelling()
        self._fired = self._left = False
        self._remove = self._signal.on_cancel(self._schedule)

    def _schedule(self) -> None:
        # Through the loop's queue: a step that is already due comes first and keeps its result.
        self._task.get_loop().call_soon(self._cancel)

    def _cancel(self) -> None:
        if not self._left:
            self._fired = True
            self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, _: object
    ) -> None:
        self._left = True
        self._remove()
        if not self._fired:
            return
        outside = self._task.uncancel() > self._before
        if kind is asyncio.CancelledError and not outside and self._signal.error is not None:
            raise _again(self._signal.error) from self._signal.error.__cause__


class ChildSignal(CancelSignal):
    """A signal tied to a parent until closed; a context manager closes it."""

    __slots__ = ("_detach",)

    def __init__(self, parent: CancelSignal) -> None:
        super().__init__()
        self._detach = parent.on_cancel(lambda: self.cancel(parent.error))

    def close(self) -> None:
        """Lets go of the parent."""
        self._detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
