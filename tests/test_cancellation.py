"""Signals and scopes: what is completed is kept, and the right error comes out."""

import asyncio
import gc
import weakref
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.errors import Cancelled, DeadlineExceeded

BOUND = 10


def error(text: str = "stop it") -> Cancelled:
    return Cancelled(text)


class Waiting:
    """A task that waits for a future inside of a signal's scope."""

    def __init__(self, signal: CancelSignal, *, swallow: bool = False) -> None:
        self.signal = signal
        self.future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.swallow = swallow
        self.task = asyncio.ensure_future(self._wait())

    async def _wait(self) -> str:
        with self.signal.scope():
            try:
                return await self.future
            except asyncio.CancelledError:
                if self.swallow:
                    return "had it anyway"
                raise

    async def begun(self) -> "Waiting":
        await asyncio.sleep(0)
        assert not self.task.done()
        return self

    async def outcome(self) -> Any:
        async with asyncio.timeout(BOUND):
            try:
                return await self.task
            except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - compared
                return raised


def cancels_pending() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


async def forever(signal: CancelSignal) -> None:
    with signal.scope():
        await asyncio.Event().wait()


def test_the_first_error_stays() -> None:
    signal, first = CancelSignal(), error()
    assert not signal.cancelled
    signal.check()
    signal.cancel(first)
    signal.cancel(error("later"))
    assert signal.cancelled
    assert signal.error is first
    with pytest.raises(Cancelled) as caught:
        signal.check()
    assert caught.value is first
    plain = CancelSignal()
    plain.cancel()
    assert isinstance(plain.error, Cancelled)


def test_callbacks_are_called_once_in_order_and_late_ones_at_once() -> None:
    signal, called = CancelSignal(), list[int]()
    for number in range(3):
        signal.on_cancel(lambda number=number: called.append(number))
    signal.cancel()
    signal.cancel()
    assert called == [0, 1, 2]
    signal.on_cancel(lambda: called.append(3))()
    assert called == [0, 1, 2, 3]


def test_a_callback_that_was_taken_off_is_not_called() -> None:
    """Not even when another one takes it off while the signal is being set."""
    signal, called = CancelSignal(), list[str]()
    off: list[Callable[[], object]] = []
    signal.on_cancel(lambda: [take_off() for take_off in off])
    off.append(signal.on_cancel(lambda: called.append("second")))
    signal.on_cancel(lambda: called.append("third"))
    signal.on_cancel(lambda: called.append("fourth"))()
    signal.cancel()
    assert called == ["third"]


def test_a_callback_that_raises_stops_no_other() -> None:
    signal, called = CancelSignal(), list[int]()
    signal.on_cancel(lambda: 1 // 0)
    signal.on_cancel(lambda: called.append(1))
    with pytest.raises(ZeroDivisionError):
        signal.cancel()
    assert called == [1]
    assert signal.cancelled


async def test_what_is_awaited_in_a_scope_ends_with_the_signals_own_error() -> None:
    """RET-3, COO-11."""
    signal, own = CancelSignal(), error()
    waiting = await Waiting(signal).begun()
    signal.cancel(own)
    assert await waiting.outcome() is own
    assert waiting.future.cancelled()
    assert waiting.task.cancelling() == 0


async def test_a_result_that_came_just_before_the_cancel_is_kept() -> None:
    """COO-12."""
    signal = CancelSignal()
    waiting = await Waiting(signal).begun()
    waiting.future.set_result("answer")
    signal.cancel()
    assert await waiting.outcome() == "answer"
    assert waiting.task.cancelling() == 0


async def test_a_result_that_came_just_after_the_cancel_is_too_late() -> None:
    """RET-3. In one turn of the loop the order decides."""
    signal, own = CancelSignal(), error()
    waiting = await Waiting(signal).begun()
    signal.cancel(own)
    waiting.future.set_result("answer")
    assert await waiting.outcome() is own
    assert waiting.task.cancelling() == 0


async def test_a_failure_just_before_the_cancel_is_seen() -> None:
    """RET-3. And just after it, it is not."""
    for first in (True, False):
        signal = CancelSignal()
        waiting = await Waiting(signal).begun()
        if not first:
            signal.cancel()
        waiting.future.set_exception(OSError("broken"))
        signal.cancel()
        assert isinstance(await waiting.outcome(), OSError if first else Cancelled)


async def test_a_result_that_was_had_in_spite_of_the_cancel_is_kept() -> None:
    signal = CancelSignal()
    waiting = await Waiting(signal, swallow=True).begun()
    signal.cancel()
    assert await waiting.outcome() == "had it anyway"
    assert waiting.task.cancelling() == 0


async def test_a_cancel_does_not_reach_past_the_scope() -> None:
    """COO-12."""
    signal = CancelSignal()
    with signal.scope():
        await asyncio.sleep(0)
        signal.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not cancels_pending()


async def test_a_scope_is_not_entered_once_the_signal_is_set() -> None:
    """COO-10."""
    signal, own = CancelSignal(), error()
    signal.cancel(own)
    entered = False
    with pytest.raises(Cancelled) as caught, signal.scope():
        entered = True
    assert caught.value is own
    assert not entered


async def test_a_scope_needs_a_task() -> None:
    tried: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def outside() -> None:
        with pytest.raises(RuntimeError, match="needs a running task"), CancelSignal().scope():
            pass
        tried.set_result(None)

    asyncio.get_running_loop().call_soon(outside)
    async with asyncio.timeout(BOUND):
        await tried


def test_a_signal_can_be_set_while_its_loop_does_not_run() -> None:
    loop = asyncio.new_event_loop()
    try:
        signal, own = CancelSignal(), error()
        task = loop.create_task(forever(signal))
        loop.run_until_complete(asyncio.sleep(0))
        signal.cancel(own)
        with pytest.raises(Cancelled) as caught:
            loop.run_until_complete(asyncio.wait_for(task, BOUND))
        assert caught.value is own
    finally:
        loop.close()


async def test_the_tasks_own_cancel_stays_a_cancel() -> None:
    signal = CancelSignal()
    waiting = await Waiting(signal).begun()
    waiting.task.cancel()
    assert isinstance(await waiting.outcome(), asyncio.CancelledError)
    assert not signal.cancelled


@pytest.mark.parametrize("order", list(permutations(["signal", "task"])))
async def test_the_tasks_own_cancel_wins_over_the_signal(order: tuple[str, ...]) -> None:
    """A task that was told to end must not go on because a run was cancelled too."""
    signal = CancelSignal()
    waiting = await Waiting(signal).begun()
    acts: dict[str, Callable[[], object]] = {"signal": signal.cancel, "task": waiting.task.cancel}
    for name in order:
        acts[name]()
    assert isinstance(await waiting.outcome(), asyncio.CancelledError)
    assert waiting.task.cancelled()


@pytest.mark.parametrize("order", ["limit, signal", "signal, limit"])
async def test_a_time_limit_inside_that_passes_in_the_same_turn_gives_way(order: str) -> None:
    signal, own = CancelSignal(), error()
    limits: list[asyncio.Timeout] = []

    async def run() -> None:
        with signal.scope():
            async with asyncio.timeout(None) as limit:
                limits.append(limit)
                await asyncio.Event().wait()

    task = asyncio.ensure_future(run())
    await asyncio.sleep(0)
    for act in order.split(", "):
        if act == "signal":
            signal.cancel(own)
        else:
            limits[0].reschedule(0)
    async with asyncio.timeout(BOUND):
        with pytest.raises(Cancelled) as caught:
            await task
    assert caught.value is own
    assert task.cancelling() == 0


async def test_a_time_limit_inside_works_without_the_signal() -> None:
    with pytest.raises(TimeoutError), CancelSignal().scope():
        async with asyncio.timeout(0):
            await asyncio.Event().wait()


async def test_a_time_limit_outside_works_with_and_without_the_signal() -> None:
    for cancel in (False, True):
        signal = CancelSignal()
        if cancel:
            asyncio.get_running_loop().call_later(0, signal.cancel)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await forever(signal)
    assert not cancels_pending()


async def test_a_time_limit_outside_does_not_take_the_signals_error() -> None:
    signal, own = CancelSignal(), error()
    asyncio.get_running_loop().call_soon(signal.cancel, own)
    with pytest.raises(Cancelled) as caught:
        async with asyncio.timeout(BOUND):
            await forever(signal)
    assert caught.value is own


@pytest.mark.parametrize("cancelled", ["outer", "inner", "outer, inner", "inner, outer"])
async def test_scopes_in_each_other_answer_to_their_own_signals(cancelled: str) -> None:
    outer, inner = CancelSignal(), CancelSignal()
    seen: list[str] = []

    async def run() -> None:
        try:
            with outer.scope():
                try:
                    with inner.scope():
                        await asyncio.Event().wait()
                except Cancelled as raised:
                    seen.append(f"inner {raised}")
        except Cancelled as raised:
            seen.append(f"outer {raised}")

    task = asyncio.ensure_future(run())
    await asyncio.sleep(0)
    for name in cancelled.split(", "):
        {"outer": outer, "inner": inner}[name].cancel(error(name))
    async with asyncio.timeout(BOUND):
        await task
    assert seen == ["inner inner" if cancelled == "inner" else "outer outer"]
    assert task.cancelling() == 0


async def test_a_child_is_set_with_its_parent_and_alone() -> None:
    parent, own = CancelSignal(), error()
    with parent.child() as one, parent.child() as other:
        one.cancel(DeadlineExceeded("late"))
        assert not parent.cancelled
        parent.cancel(own)
        assert isinstance(one.error, DeadlineExceeded)
        assert other.error is own
    assert parent.child().error is own


async def test_a_closed_child_is_let_go() -> None:
    """OWN-4."""
    parent = CancelSignal()
    with parent.child() as child:
        gone = weakref.ref(child)
    parent.cancel()
    assert child.error is None
    del child
    gc.collect()
    assert gone() is None


async def test_scopes_of_parent_and_child_around_one_another() -> None:
    """The error of the signal that was set comes out, wherever its scope stands."""
    parent, own = CancelSignal(), error()

    async def run() -> None:
        with parent.child() as child, parent.scope(), child.scope():
            await asyncio.Event().wait()

    task = asyncio.ensure_future(run())
    await asyncio.sleep(0)
    parent.cancel(own)
    async with asyncio.timeout(BOUND):
        with pytest.raises(Cancelled) as caught:
            await task
    assert caught.value is own
    assert task.cancelling() == 0


async def test_one_error_comes_out_of_many_runs_and_does_not_grow() -> None:
    """COO-7, COO-11, ENG-5. Its cause stays too."""
    signal, own = CancelSignal(), error()
    own.__cause__ = cause = OSError("why")
    waiting = [await Waiting(signal).begun() for _ in range(50)]
    signal.cancel(own)
    for one in waiting:
        assert await one.outcome() is own
    with pytest.raises(Cancelled):
        signal.check()
    assert own.__cause__ is cause
    depth, step = 0, own.__traceback__
    while step is not None:
        depth, step = depth + 1, step.tb_next
    assert depth < 10


async def test_tasks_started_inside_are_ended_too() -> None:
    """RET-3."""
    signal, own = CancelSignal(), error()
    inner: list[asyncio.Task[bool]] = []

    async def run() -> None:
        with signal.scope():
            async with asyncio.TaskGroup() as group:
                inner.append(group.create_task(asyncio.Event().wait()))

    asyncio.get_running_loop().call_soon(signal.cancel, own)
    with pytest.raises(Cancelled) as caught:
        await run()
    assert caught.value is own
    assert inner[0].cancelled()


async def test_cleaning_up_after_a_cancel_may_await() -> None:
    """RET-3."""
    signal, cleaned = CancelSignal(), list[int]()

    async def run() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for step in range(10):
                await asyncio.sleep(0)
                cleaned.append(step)

    asyncio.get_running_loop().call_soon(signal.cancel)
    with pytest.raises(Cancelled), signal.scope():
        await run()
    assert cleaned == list(range(10))
