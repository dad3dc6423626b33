"""Fakes for the core: a clock that moves by hand, and a backend that does as it is told."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.definitions.settings import (
    BackendKind,
    BackendSettings,
    RetryPolicy,
    Timeouts,
)
from promptkit_rpc.errors import GenerationFailed, Location, Reason
from promptkit_rpc.execution.admission import Admission
from promptkit_rpc.execution.observe import Event, Observer
from promptkit_rpc.execution.prepare import Plan
from promptkit_rpc.execution.provider import Provider
from promptkit_rpc.execution.request import StreamSink
from promptkit_rpc.generation import Answer, Call, CallFailed, FinishReason, Parameters
from promptkit_rpc.output.contract import TEXT, Contract
from promptkit_rpc.secret import Secret
from promptkit_rpc.services import Services, Timer
from promptkit_rpc.usage import UNKNOWN, TokenCounts

HERE = Location("promptkit.yaml", 1, 1)
BOUND = 10.0
"""No wait in a test is longer, in seconds."""


class _Due:
    def __init__(self, due: float, callback: Callable[[], object]) -> None:
        self.due = due
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class World:
    """Services with a clock that moves only by `advance`; sleeps end when it has passed them."""

    def __init__(self, *, chance: float = 1.0) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self._timers: list[_Due] = []
        self._ids = itertools.count(1)
        self._changed = asyncio.Event()
        self.services = Services(
            time=lambda: self.now,
            monotonic=lambda: self.now,
            random=lambda: chance,
            run_id=lambda: f"run-{next(self._ids)}",
            sleep=self._sleep,
            later=self._later,
        )

    def _later(self, delay: float, callback: Callable[[], object]) -> Timer:
        timer = _Due(self.now + delay, callback)
        self._timers.append(timer)
        return timer

    async def _sleep(self, delay: float) -> None:
        self.slept.append(delay)
        over = asyncio.get_running_loop().create_future()
        timer = self._later(delay, lambda: over.done() or over.set_result(None))
        self._changed.set()
        try:
            await over
        finally:
            timer.cancel()

    async def until_sleeping(self, times: int = 1) -> None:
        """Waits until so many sleeps have begun."""
        async with asyncio.timeout(BOUND):
            while len(self.slept) < times:
                self._changed.clear()
                await self._changed.wait()

    def advance(self, seconds: float) -> None:
        """Moves the clock and calls what has become due."""
        self.now += seconds
        due = [timer for timer in self._timers if timer.due <= self.now]
        self._timers = [timer for timer in self._timers if timer.due > self.now]
        for timer in due:
            if not timer.cancelled:
                timer.callback()


Step = Answer | CallFailed | Callable[[Call], Awaitable[Answer]]


class FakeBackend:
    """Plays its steps in order, the last one for ever; keeps the calls it got."""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.calls: list[Call] = []
        self.closed = False

    async def generate(self, call: Call) -> Answer:
        self.calls.append(call)
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, CallFailed):
            raise step
        if isinstance(step, Answer):
            return step
        return await step(call)

    async def close(self) -> None:
        self.closed = True


class Gate:
    """A step that waits until it is opened with an answer, and says when it was reached."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    async def __call__(self, _: Call) -> Answer:
        self.reached.set()
        return await self.answer

    def open(self, answer: Answer) -> None:
        self.answer.set_result(answer)


def answer(
    content: str = "fine",
    usage: TokenCounts = UNKNOWN,
    finish_reason: FinishReason = FinishReason.STOP,
    refusal: str | None = None,
) -> Answer:
    return Answer(content=content, usage=usage, finish_reason=finish_reason, refusal=refusal)


def tokens(inputs: int, outputs: int) -> TokenCounts:
    return TokenCounts.reported(input_tokens=inputs, output_tokens=outputs)


def failure(
    reason: Reason = Reason.SERVER,
    *,
    status: int | None = None,
    retry_after: float | None = None,
    billed: bool = True,
    usage: TokenCounts = UNKNOWN,
) -> CallFailed:
    error = GenerationFailed(
        f"it failed: {reason.value}",
        reason=reason,
        http_status=status,
        retry_after=retry_after,
        billed=billed,
    )
    return CallFailed(error, usage)


def provider(
    backend: FakeBackend,
    *,
    capacity: int | None = None,
    permits: int | None = None,
    queue: int | None = None,
    retry: RetryPolicy = RetryPolicy(),  # noqa: B008 - frozen
    timeouts: Timeouts = Timeouts(),  # noqa: B008 - frozen
) -> Provider:
    settings = BackendSettings(
        name="fake",
        kind=BackendKind.SCRIPTED,
        location=HERE,
        capacity=capacity,
        permits=permits,
        queue=queue,
        retry=retry,
        timeouts=timeouts,
    )
    return Provider(settings, backend, Admission("fake", capacity, permits, queue))


def plan(
    used: Provider,
    *,
    text: str = "hello",
    contract: Contract = TEXT,
    capture: bool = False,
    timeout: float | None = None,
    observers: tuple[Observer, ...] = (),
    stream: StreamSink | None = None,
    credential: Secret | None = None,
    history: History | None = None,
    parent: str | None = None,
) -> Plan:
    return Plan(
        prompt_id="ask",
        profile="careful",
        model="m",
        parameters=Parameters(),
        contract=contract,
        history=history or History((Message(Role.USER, text),)),
        session_id=None,
        parent_run_id=parent,
        capture=capture,
        timeout=timeout,
        provider=used,
        credential=credential,
        observers=observers,
        stream=stream,
    )


class Record:
    """An observer that keeps what it sees."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.events]


async def no_credential(*_: object) -> Secret | None:
    return None


def file(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def until(condition: Callable[[], bool]) -> None:
    """Lets the loop go on until the condition holds."""
    async with asyncio.timeout(BOUND):
        while not condition():  # noqa: ASYNC110 - what is waited for announces itself nowhere
            await asyncio.sleep(0)
