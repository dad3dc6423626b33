"""Leases and permits: who gets in, in which order, and that nothing leaks."""

import asyncio

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.errors import AdmissionRejected, Cancelled
from promptkit_rpc.execution.admission import Admission, Slots
from tests.support.fakes import BOUND


async def settled() -> None:
    """Lets every step that is due happen."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_waiters_are_served_first_come_first_served() -> None:
    """ADM-4."""
    slots, order = Slots(1), list[int]()
    await slots.acquire(CancelSignal())

    async def wait(number: int) -> None:
        await slots.acquire(CancelSignal())
        order.append(number)

    tasks = [asyncio.create_task(wait(number)) for number in range(5)]
    await settled()
    assert (slots.held, slots.waiting) == (1, 5)
    for served in range(5):
        slots.release()
        await settled()
        assert order == list(range(served + 1))
    await asyncio.gather(*tasks)
    slots.release()
    assert (slots.held, slots.waiting) == (0, 0)


async def test_a_newcomer_does_not_overtake_a_waiter_who_was_just_served() -> None:
    """ADM-4."""
    slots = Slots(1)
    await slots.acquire(CancelSignal())
    first = asyncio.create_task(slots.acquire(CancelSignal()))
    await settled()
    slots.release()
    second = asyncio.create_task(slots.acquire(CancelSignal()))
    await settled()
    assert first.done()
    assert not second.done()
    slots.release()
    await asyncio.wait_for(second, BOUND)


async def test_a_cancelled_wait_leaves_the_queue_and_takes_no_slot() -> None:
    """ADM-4, RET-3."""
    slots, signal = Slots(1), CancelSignal()
    await slots.acquire(CancelSignal())
    waiting = asyncio.create_task(slots.acquire(signal))
    await settled()
    signal.cancel()
    with pytest.raises(Cancelled) as caught:
        await asyncio.wait_for(waiting, BOUND)
    assert caught.value is signal.error
    assert (slots.held, slots.waiting) == (1, 0)
    slots.release()
    assert slots.held == 0


async def test_a_slot_granted_in_the_instant_of_the_cancel_is_given_on() -> None:
    """ADM-4: cancel first, grant second, before the waiter could take a step."""
    slots, signal = Slots(1), CancelSignal()
    await slots.acquire(CancelSignal())
    waiting = asyncio.create_task(slots.acquire(signal))
    await settled()
    signal.cancel()
    slots.release()
    with pytest.raises(Cancelled):
        await asyncio.wait_for(waiting, BOUND)
    assert (slots.held, slots.waiting) == (0, 0)


async def test_a_full_queue_refuses_and_says_how_many_wait() -> None:
    slots = Slots(1, queue=1, name="backend 'main'")
    await slots.acquire(CancelSignal())
    waiting = asyncio.create_task(slots.acquire(CancelSignal()))
    await settled()
    with pytest.raises(AdmissionRejected, match="backend 'main': all 1 in use and 1 waiting"):
        await slots.acquire(CancelSignal())
    slots.release()
    await asyncio.wait_for(waiting, BOUND)


async def test_a_larger_size_lets_waiters_in_and_a_smaller_one_takes_nothing_away() -> None:
    slots = Slots(1)
    await slots.acquire(CancelSignal())
    waiting = asyncio.create_task(slots.acquire(CancelSignal()))
    await settled()
    slots.resize(2)
    await asyncio.wait_for(waiting, BOUND)
    slots.resize(1)
    assert slots.held == 2
    third = asyncio.create_task(slots.acquire(CancelSignal()))
    slots.release()
    await settled()
    assert not third.done()
    slots.release()
    await asyncio.wait_for(third, BOUND)


async def test_changed_limits_apply_to_leases_permits_and_the_queue() -> None:
    """ADM-1, ADM-4."""
    admission = Admission("b", 5, None, None)
    admission.resize(1, None, 0)
    assert (admission.leases.size, admission.permits.size) == (1, 1)
    await admission.leases.acquire(CancelSignal())
    with pytest.raises(AdmissionRejected):
        await admission.leases.acquire(CancelSignal())
    admission.resize(3, 2, None)
    assert (admission.leases.size, admission.permits.size) == (3, 2)


async def test_a_run_that_is_not_admitted_is_told_by_whom_and_what_to_do() -> None:
    """ADM-4."""
    admission = Admission("main", 1, None, 0)
    await admission.leases.acquire(CancelSignal())
    with pytest.raises(AdmissionRejected) as caught:
        await admission.leases.acquire(CancelSignal())
    assert caught.value.message == (
        "backend 'main': all 1 in use and 0 waiting; try again later or raise `queue` or `capacity`"
    )


def test_permits_follow_capacity_unless_given() -> None:
    """ADM-1."""
    assert Admission("b", 3, None, None).permits.size == 3
    assert Admission("b", 3, 2, None).permits.size == 2
    assert Admission("b", None, None, None).permits.size is None


@given(st.lists(st.sampled_from(["acquire", "release", "cancel"]), max_size=60), st.integers(1, 3))
@example(["acquire", "acquire", "cancel", "release"], 1)
@settings(max_examples=60, deadline=None)
def test_whatever_happens_slots_are_never_lost_or_invented(moves: list[str], size: int) -> None:
    """ADM-4: random acquiring, releasing and giving up, against a count of holders."""

    async def scenario() -> None:
        slots = Slots(size)
        holders = 0
        waiting: list[tuple[asyncio.Task[None], CancelSignal]] = []

        async def acquire(signal: CancelSignal) -> None:
            nonlocal holders
            await slots.acquire(signal)
            holders += 1

        for move in moves:
            match move:
                case "acquire":
                    signal = CancelSignal()
                    waiting.append((asyncio.create_task(acquire(signal)), signal))
                case "release" if holders:
                    holders -= 1
                    slots.release()
                case "cancel" if waiting:
                    waiting[-1][1].cancel()
                case _:
                    pass
            await asyncio.sleep(0)
        await settled()
        assert slots.held == holders <= size
        for _, signal in waiting:
            signal.cancel()
        await asyncio.gather(*(task for task, _ in waiting), return_exceptions=True)
        for _ in range(holders):
            slots.release()
        assert (slots.held, slots.waiting) == (0, 0)

    asyncio.run(scenario())
