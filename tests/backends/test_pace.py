"""Streams that come faster than the client takes them, or for many runs at once."""

import asyncio

from tests.support.calls import Sink, call, openai, settled
from tests.support.provider import BOUND, Provider, delta, respond


class Narrow(Sink):
    """A sink that is full after every piece until it is emptied."""

    def push(self, text: str) -> None:
        super().push(text)
        self.full = True
        self.space.clear()


def at_once(*texts: str) -> bytes:
    """A whole event stream, so that it comes in one piece."""
    datas = [*(delta(text) for text in texts), delta(finish="stop"), "[DONE]"]
    return "".join(f"data: {data}\n\n" for data in datas).encode()


async def test_a_stream_that_came_at_once_is_passed_on_as_the_client_has_room() -> None:
    """R-20: what the socket gave in one read is not pushed in one go."""
    async with Provider() as provider:
        provider.always(respond(200, at_once(*"abcde"), kind="text/event-stream"))
        backend, sink = openai(provider.url), Narrow()
        answering = asyncio.create_task(backend.generate(call(deltas=sink)))
        async with asyncio.timeout(BOUND):
            for count in range(1, 6):
                await sink.until(count)
                await settled()
                assert sink.text == "abcde"[:count]
                sink.space.set()
            assert (await answering).content == "abcde"
        await backend.close()


async def test_a_long_stream_that_came_at_once_lets_others_have_their_turns() -> None:
    """R-20: whether or not the client has room."""
    async with Provider() as provider:
        provider.always(respond(200, at_once(*"abcd" * 100), kind="text/event-stream"))
        backend, sink = openai(provider.url), Sink()
        seen: list[int] = []

        async def other() -> None:
            while len(sink.pieces) < 400:
                seen.append(len(sink.pieces))
                await asyncio.sleep(0)

        async with asyncio.timeout(BOUND):
            answer, _ = await asyncio.gather(backend.generate(call(deltas=sink)), other())
        assert answer.content == "abcd" * 100
        assert len({count for count in seen if 0 < count < 400}) > 10
        await backend.close()
