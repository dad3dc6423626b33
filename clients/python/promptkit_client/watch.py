"""A request that goes on while its events and its text are read."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, ParamSpec, TypeVar

from promptkit_client.types import Observation, TextDelta, TextReset

P = ParamSpec("P")
T = TypeVar("T")
Item = Observation | TextDelta | TextReset


class Running(Generic[T]):
    """Iterators over what is told, from the start each; awaited, it gives the result."""

    def __init__(self, call: Callable[..., Coroutine[Any, Any, T]]) -> None:
        self._items: list[Item] = []
        self._news = asyncio.Event()
        self._cancel = asyncio.Event()
        self._task = asyncio.create_task(
            call(on_event=self._put, on_text=self._put, cancel=self._cancel)
        )
        self._task.add_done_callback(lambda _: self._news.set())
        self._awaited = False

    def __await__(self) -> Generator[Any, None, T]:
        self._awaited = True
        return self._task.__await__()

    def __aiter__(self) -> AsyncIterator[Item]:
        return self._from_start()

    @property
    async def events(self) -> AsyncIterator[Observation]:
        """Every observation; ends with the request."""
        async for item in self._from_start():
            if isinstance(item, Observation):
                yield item

    @property
    async def deltas(self) -> AsyncIterator[TextDelta | TextReset]:
        """Every piece of text, and every reset that voids the pieces of an attempt."""
        async for item in self._from_start():
            if not isinstance(item, Observation):
                yield item

    def cancel(self) -> None:
        """Cancels the request at the server; awaited, it gives or raises what that answers.

        A coordination gives its outcome `cancelled` with what was undelivered.
        """
        self._cancel.set()

    def _put(self, item: Item) -> None:
        self._items.append(item)
        self._news.set()

    async def _from_start(self) -> AsyncIterator[Item]:
        index = 0
        while True:
            while index < len(self._items):
                yield self._items[index]
                index += 1
            if self._task.done():
                return
            self._news.clear()
            await self._news.wait()

    async def leave(self) -> None:
        """Stops it if nobody waits for its result; raises its error if nobody has seen it."""
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
        elif not self._awaited:
            await self._task


@asynccontextmanager
async def watch(
    method: Callable[P, Coroutine[Any, Any, T]], *arguments: P.args, **options: P.kwargs
) -> AsyncGenerator[Running[T]]:
    """Starts `client.run`, `.continue_`, `.coordinate` or `prepared.execute`, to be watched.

    `async with watch(client.run, "hello", variables={…}) as running:` then iterate over it, its
    `events` or its `deltas`, and await it for the result. Leaving the block early cancels it.
    """
    if taken := {"on_event", "on_text", "cancel"} & options.keys():
        raise TypeError(f"watch sets {', '.join(sorted(taken))} itself; iterate, or call cancel()")

    def call(**watched: Any) -> Coroutine[Any, Any, T]:
        return method(*arguments, **{**options, **watched})  # type: ignore[arg-type]

    running = Running(call)
    try:
        yield running
    except BaseException:
        with suppress(Exception):
            await running.leave()
        raise
    await running.leave()
