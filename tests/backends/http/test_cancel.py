"""What a cancel does to a call in flight, and what is left of any call."""

import asyncio
import logging

import pytest

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.errors import Cancelled
from tests.support.calls import Sink, call, failure, openai
from tests.support.provider import (
    BOUND,
    End,
    Provider,
    completion,
    delta,
    events,
    streamed_completion,
)


async def test_a_cancelled_call_closes_its_connection_at_once() -> None:
    """RET-3."""
    async with Provider() as provider:
        provider.always((End.NEVER,))
        backend = openai(provider.url)
        running = asyncio.ensure_future(backend.generate(call()))
        await provider.arrived(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await provider.hung_up(1)
        await backend.close()


async def test_a_call_cancelled_inside_the_body_closes_its_connection() -> None:
    """RET-3."""
    async with Provider() as provider:
        gate = asyncio.Event()
        provider.always(events(delta("a"), gate, delta("b")))
        backend, sink = openai(provider.url), Sink()
        running = asyncio.ensure_future(backend.generate(call(deltas=sink)))
        async with asyncio.timeout(BOUND):
            await sink.asked.wait()
        await provider.arrived(1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await provider.hung_up(1)
        await backend.close()


async def test_a_cancel_in_the_step_after_the_last_byte_does_not_lose_the_answer() -> None:
    """COO-12, CAP-7: what has been read to its end is an answer."""
    async with Provider() as provider:
        provider.always(completion("kept"))
        backend, signal = openai(provider.url), CancelSignal()

        async def cancelled_late() -> str:
            with signal.scope():
                answer = await backend.generate(call())
                signal.cancel()
            return answer.content

        assert await cancelled_late() == "kept"
        await backend.close()


@pytest.mark.parametrize("ticks", range(12))
async def test_a_cancel_at_any_moment_gives_the_answer_or_the_error_and_never_hangs(
    ticks: int,
) -> None:
    """RET-3."""
    async with Provider() as provider:
        provider.always(completion("whole"))
        backend, signal = openai(provider.url), CancelSignal()

        async def one() -> str:
            try:
                with signal.scope():
                    return (await backend.generate(call())).content
            except Cancelled:
                return "cancelled"

        running = asyncio.ensure_future(one())
        for _ in range(ticks):
            await asyncio.sleep(0)
        signal.cancel()
        async with asyncio.timeout(BOUND):
            assert await running in ("whole", "cancelled")
            assert (await backend.generate(call())).content == "whole"
        await backend.close()


async def test_nothing_of_a_call_is_left_in_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    """RET-3: no task, no generator and no complaint stays behind, however a stream ends."""
    async with Provider() as provider:
        provider.play(
            streamed_completion("a"),
            events(delta("a"), "{broken"),
            (*events(delta("a"), end=False), End.RESET),
            events(delta("a"), '{"error": {"message": "no"}}', delta("b")),
        )
        backend = openai(provider.url)
        with caplog.at_level(logging.WARNING):
            await backend.generate(call(deltas=Sink()))
            for _ in range(3):
                await failure(backend, call(deltas=Sink()))
            await backend.close()
            await asyncio.sleep(0)
            mine = asyncio.current_task()
            others = [t for t in asyncio.all_tasks() if t is not mine and "_serve" not in repr(t)]
        assert not others
        assert not caplog.records
