"""A cancel of the task reaches the server, and what was paid for is not lost."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from promptkit_client import (
    Action,
    Client,
    Continue,
    PromptKitError,
    Turn,
    connect,
    late_result,
    watch,
)
from promptkit_client.types import CoordinateResult, GenerateParams

ADA = {"name": "Ada"}


class Model:
    """A host's model: says when it is asked, and answers when it may."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.stopped = asyncio.Event()
        self.after: Callable[[], object] = lambda: None

    async def __call__(self, call: GenerateParams) -> str:
        self.asked.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        asyncio.get_running_loop().call_soon(self.after)
        return f"answer {call.attempt}"


async def ask_host(_: Turn) -> Action:
    return Continue("hello", variables=ADA, profile="host")


async def started(client: Client) -> str:
    return (await client.run("hello", variables=ADA, capture=True)).run_id


async def test_a_cancelled_run_stops_the_host_and_tells_its_end(samples: Path) -> None:
    model = Model()
    kinds: list[str] = []
    async with connect(samples, generate=model) as client, asyncio.timeout(60):
        task = asyncio.create_task(
            client.run(
                "hello",
                variables=ADA,
                profile="host",
                on_event=lambda seen: kinds.append(seen.event.kind),
            )
        )
        await model.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert kinds[-1] == "runFinished"
        await model.stopped.wait()
        assert (await client.status()).runs.active == 0


async def test_a_timeout_is_a_cancel(samples: Path) -> None:
    model = Model()
    async with connect(samples, generate=model) as client, asyncio.timeout(60):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.run("hello", variables=ADA, profile="host")
        assert (await client.status()).runs.active == 0


async def coordinate_and_meet(
    client: Client, model: Model, start: str
) -> asyncio.Task[CoordinateResult]:
    """A coordination whose task is cancelled in the moment the model has answered."""
    task = asyncio.create_task(client.coordinate(start, ask_host, additional_turns=2))
    model.after = task.cancel
    model.may_answer.set()
    return task


async def test_what_was_undelivered_is_in_the_error_of_a_cancelled_task(samples: Path) -> None:
    model = Model()
    async with connect(samples, generate=model) as client, asyncio.timeout(60):
        task = await coordinate_and_meet(client, model, await started(client))
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        late = late_result(raised.value)
        assert isinstance(late, CoordinateResult)
        assert late.outcome == "cancelled"
        assert late.undelivered
        assert late.undelivered.content == "answer 1"
        assert (await client.details(late.undelivered)).content == "answer 1"


async def test_what_the_server_answered_is_in_the_error_of_a_timeout(samples: Path) -> None:
    model = Model()
    async with connect(samples, generate=model) as client, asyncio.timeout(60):
        start = await started(client)
        bound = asyncio.timeout(None)
        model.after = lambda: bound.reschedule(0)
        model.may_answer.set()
        with pytest.raises(TimeoutError) as raised:
            async with bound:
                await client.coordinate(start, ask_host, additional_turns=2)
        # Whether the answer was delivered just before is a race; that it is told is not.
        assert late_result(raised.value).outcome == "cancelled"


async def test_a_cancel_by_event_is_a_result(samples: Path) -> None:
    model = Model()
    cancel = asyncio.Event()
    async with connect(samples, generate=model) as client, asyncio.timeout(60):
        start = await started(client)
        model.after = cancel.set
        model.may_answer.set()
        ended = await client.coordinate(start, ask_host, additional_turns=2, cancel=cancel)
        assert ended.outcome == "cancelled"
        if ended.undelivered:  # whether the answer was delivered just before is a race
            assert ended.undelivered.content == "answer 1"


async def test_a_cancel_of_what_is_watched_is_a_result(samples: Path) -> None:
    model = Model()
    async with connect(samples, generate=model) as client, asyncio.timeout(60):
        start = await started(client)
        model.may_answer.set()
        async with watch(client.coordinate, start, ask_host, additional_turns=2) as running:
            model.after = running.cancel
            ended = await running
        assert ended.outcome == "cancelled"
        async with watch(client.run, "hello", variables=ADA, profile="host") as running:
            model.may_answer.clear()
            model.asked.clear()
            await model.asked.wait()
            running.cancel()
            with pytest.raises(PromptKitError) as raised:
                await running
        assert raised.value.kind == "cancelled"


async def test_a_callback_hears_of_the_cancel_and_is_waited_for(client: Client) -> None:
    start = await started(client)
    called, ended = asyncio.Event(), asyncio.Event()

    async def think(_: Turn) -> Action:
        called.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _step in range(50):  # takes its time to clean up
                await asyncio.sleep(0)
            ended.set()
        raise AssertionError

    async with asyncio.timeout(60):
        task = asyncio.create_task(client.coordinate(start, think, additional_turns=1))
        await called.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
    assert ended.is_set()
    late = late_result(raised.value)
    assert (late.outcome, late.undelivered) == ("cancelled", None)


async def test_leaving_a_watched_run_early_cancels_it(samples: Path) -> None:
    model = Model()
    async with connect(samples, generate=model) as client, asyncio.timeout(60):
        async with watch(client.run, "hello", variables=ADA, profile="host") as running:
            async for seen in running.events:
                if seen.event.kind == "attemptStarted":
                    break
        await model.stopped.wait()
        assert (await client.status()).runs.active == 0


async def test_many_cancels_leave_nothing_behind(client: Client) -> None:
    async with asyncio.timeout(60):
        tasks = [
            asyncio.create_task(client.run("hello", variables={"name": str(number)}))
            for number in range(50)
        ]
        await asyncio.sleep(0)
        for task in tasks[1::2]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        kept = [result for result in results if not isinstance(result, BaseException)]
        assert len(kept) == 25
        assert (await client.status()).runs.active == 0


async def test_a_task_cancelled_before_its_first_step_asks_nothing(client: Client) -> None:
    task = asyncio.create_task(client.run("hello", variables=ADA))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await client.status()).runs.active == 0
