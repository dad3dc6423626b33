"""How connections are kept, given back and given up, shown through a backend."""

import asyncio
import gc
import subprocess
import sys

import httpx
import pytest

from promptkit_rpc.backends.http import transport
from promptkit_rpc.backends.http.connection import Connection, Content
from promptkit_rpc.definitions.settings import Timeouts
from promptkit_rpc.errors import Origin, Reason
from promptkit_rpc.generation import CallFailed
from tests.support.calls import Sink, call, error, failure, openai, said, settled
from tests.support.provider import (
    BOUND,
    End,
    Provider,
    completion,
    delta,
    events,
    refusal,
    respond,
    streamed_completion,
)


async def test_calls_one_after_another_share_a_connection() -> None:
    async with Provider() as provider:
        provider.always(completion())
        backend = openai(provider.url)
        for _ in range(5):
            await backend.generate(call())
        assert [request.connection for request in provider.requests] == [0] * 5
        await backend.close()


async def test_calls_at_once_have_a_connection_each_and_keep_them() -> None:
    async with Provider() as provider:
        gate = asyncio.Event()
        provider.play(*[(gate, *completion())] * 4)
        provider.always(completion())
        backend = openai(provider.url)
        calls = [asyncio.ensure_future(backend.generate(call())) for _ in range(4)]
        await provider.arrived(4)
        gate.set()
        await asyncio.gather(*calls)
        for _ in range(8):
            await backend.generate(call())
        assert provider.connections == 4
        await backend.close()


async def test_a_connection_the_server_closed_while_idle_is_not_used_again() -> None:
    async with Provider() as provider:
        provider.play((*completion(), End.CLOSE), completion("second"))
        backend = openai(provider.url)
        await backend.generate(call())
        answer = await backend.generate(call())
        assert answer.content == "second"
        assert provider.connections == 2
        await backend.close()


@pytest.mark.parametrize("end", [End.CLOSE, End.RESET, End.HALF_CLOSE])
async def test_a_used_connection_that_dies_unanswered_is_replaced_once(end: End) -> None:
    """RET-1: nobody could know that it was dead; a new one is the same attempt."""
    async with Provider() as provider:
        provider.play(completion(), (end,), completion("second"))
        backend = openai(provider.url)
        await backend.generate(call())
        answer = await backend.generate(call())
        assert answer.content == "second"
        assert len(provider.requests) == 3
        await backend.close()


async def test_a_used_connection_that_dies_at_work_is_a_failed_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RET-1, USE-2: the call may have been paid for, so it is not made again unseen."""
    monkeypatch.setattr(transport, "NEWS", 0.0)
    async with Provider() as provider:
        provider.play(completion(), (End.CLOSE,))
        backend = openai(provider.url)
        await backend.generate(call())
        failed = await error(backend)
        assert (failed.reason, failed.retryable, failed.billed) == (Reason.CONNECTION, True, True)
        assert len(provider.requests) == 2
        await backend.close()


async def test_a_new_connection_that_dies_unanswered_is_a_failed_attempt() -> None:
    """RET-1, T-19: one request, and the retry is the run's to make."""
    async with Provider() as provider:
        provider.always((End.CLOSE,))
        failed = await error(openai(provider.url))
        assert (failed.reason, failed.retryable, failed.billed) == (Reason.CONNECTION, True, True)
        assert len(provider.requests) == 1


async def test_a_used_connection_is_replaced_only_once() -> None:
    """T-19."""
    async with Provider() as provider:
        provider.play(completion())
        provider.always((End.CLOSE,))
        backend = openai(provider.url)
        await backend.generate(call())
        assert (await error(backend)).reason is Reason.CONNECTION
        assert len(provider.requests) == 3


async def test_a_connection_with_bytes_left_over_is_not_used_again() -> None:
    async with Provider() as provider:
        head, body = completion()
        assert isinstance(body, bytes)
        provider.play((head, body + b"HTTP/1.1 200 OK\r\n\r\n"), completion("second"))
        backend = openai(provider.url)
        await backend.generate(call())
        assert (await backend.generate(call())).content == "second"
        assert provider.connections == 2
        await backend.close()


async def test_an_idle_connection_is_let_go_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Provider() as provider:
        monkeypatch.setattr(transport, "KEEP_ALIVE", 0.01)
        provider.always(completion())
        backend = openai(provider.url)
        await backend.generate(call())
        await provider.hung_up(1)
        await backend.generate(call())
        assert provider.connections == 2
        await backend.close()


async def test_closing_fails_what_is_in_flight_and_a_later_call_opens_anew() -> None:
    async with Provider() as provider:
        provider.play(completion(), (End.NEVER,), completion("late"))
        backend = openai(provider.url)
        await backend.generate(call())
        running = asyncio.ensure_future(failure(backend))
        await provider.arrived(2)
        await backend.close()
        async with asyncio.timeout(BOUND):
            assert (await running).error.reason is Reason.CONNECTION
        assert (await backend.generate(call())).content == "late"
        assert [request.connection for request in provider.requests] == [0, 0, 1]
        await backend.close()


async def test_a_server_that_sends_nothing_is_a_timeout_that_names_the_setting() -> None:
    """RET-1, T-19."""
    async with Provider() as provider:
        provider.always((End.NEVER,))
        failed = await error(openai(provider.url, timeouts=Timeouts(read=0.02)))
        assert (failed.reason, failed.retryable, failed.billed) == (Reason.TIMEOUT, True, True)
        assert failed.origin is Origin.PROMPTKIT
        assert "timeouts.read" in failed.message
        await provider.hung_up(1)


async def test_the_read_timeout_counts_from_the_last_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RET-1."""
    loop, ahead = asyncio.get_running_loop(), 0.0
    true_time = loop.time
    monkeypatch.setattr(loop, "time", lambda: true_time() + ahead)
    async with Provider() as provider:
        gates = [asyncio.Event() for _ in range(3)]
        script = events(*(step for gate in gates for step in (delta("a"), gate)), "[DONE]")
        provider.play(script, (End.NEVER,))
        backend, sink = openai(provider.url, timeouts=Timeouts(read=60)), Sink()
        running = asyncio.ensure_future(backend.generate(call(deltas=sink)))
        for count, gate in enumerate(gates, start=1):
            await sink.until(count)
            # Together far longer than the limit.
            ahead += 40
            gate.set()
        assert (await running).content == "aaa"
        waiting = asyncio.ensure_future(backend.generate(call()))
        await provider.arrived(2)
        ahead += 61
        with pytest.raises(CallFailed) as caught:
            await waiting
        assert caught.value.error.reason is Reason.TIMEOUT
        await backend.close()


async def test_a_body_that_stops_is_a_timeout_with_what_had_come() -> None:
    """T-08."""
    async with Provider() as provider:
        provider.always((*respond(200, b'{"cho', length=500), End.NEVER))
        failed = await error(openai(provider.url, timeouts=Timeouts(read=0.02)))
        assert failed.reason is Reason.TIMEOUT
        assert "after 5 of 500 bytes" in failed.message
        assert failed.http_status == 200


async def test_a_port_where_nobody_listens_costs_nothing() -> None:
    """RET-1."""
    async with Provider() as provider:
        url = provider.url
    failed = await error(openai(url))
    assert (failed.reason, failed.retryable, failed.billed) == (Reason.CONNECTION, True, False)
    assert "Connection refused" in failed.message


async def test_a_name_that_does_not_exist_is_told_as_such() -> None:
    """RET-1."""
    failed = await error(openai("http://nobody.invalid"))
    assert (failed.reason, failed.billed) == (Reason.CONNECTION, False)
    assert "cannot be resolved" in failed.message


async def test_a_connection_that_is_not_made_in_time_is_a_timeout() -> None:
    """RET-1."""
    async with Provider() as provider:
        backend = openai(provider.url.replace("http", "https"), timeouts=Timeouts(connect=0.02))
        # The other side never answers TLS's hello.
        provider.always((End.NEVER,))
        failed = await error(backend)
        assert (failed.reason, failed.billed) == (Reason.TIMEOUT, False)
        assert "timeouts.connect" in failed.message


async def test_a_body_of_many_megabytes_arrives_as_it_is() -> None:
    """OWN-7."""
    async with Provider() as provider:
        provider.always(completion())
        backend = openai(provider.url)
        texts = ["x" * 3_000_000, "é" * 700_000, "short", "y" * 200_000]
        await backend.generate(call(said(*texts)))
        sent = [message["content"] for message in provider.requests[0].json()["messages"]]
        assert sent == texts
        await backend.close()


async def test_an_answer_to_a_body_that_was_not_taken_whole_is_heard() -> None:
    """RET-1: a provider may refuse a long request before it has read it."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        await done.wait()
        writer.close()

    done = asyncio.Event()
    async with await asyncio.start_server(refuse, "127.0.0.1", 0, limit=2**16) as server:
        backend = openai(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        failed = await error(backend, call("x" * 40_000_000))
        assert failed.http_status == 413
        done.set()
        await backend.close()


async def test_a_peer_that_takes_nothing_is_a_timeout() -> None:
    """RET-1."""

    async def deaf(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined] # a socket's transport has it
        await done.wait()
        writer.close()

    done = asyncio.Event()
    async with await asyncio.start_server(deaf, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        backend = openai(url, timeouts=Timeouts(read=0.05))
        failed = await error(backend, call("x" * 40_000_000))
        assert (failed.reason, failed.billed) == (Reason.TIMEOUT, False)
        done.set()


async def test_a_stream_is_not_read_faster_than_it_is_taken() -> None:
    """The sink has no room: the socket fills up and the provider has to wait."""
    async with Provider() as provider:
        after = asyncio.Event()
        piece = "z" * 60_000
        provider.always((*events(*[delta(piece)] * 400, "[DONE]"), after))
        backend, sink = openai(provider.url), Sink()
        sink.full = True
        running = asyncio.ensure_future(backend.generate(call(deltas=sink)))
        async with asyncio.timeout(BOUND):
            await sink.asked.wait()
        await settled()
        assert len(sink.text) < 2_000_000
        sink.space.set()
        async with asyncio.timeout(BOUND):
            answer = await running
        assert answer.content == piece * 400 == sink.text
        after.set()
        await backend.close()


async def test_a_connection_that_was_held_back_is_heard_again_when_it_is_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("promptkit_rpc.backends.http.connection._UNREAD", 0)
    before = {id(one) for one in gc.get_objects() if isinstance(one, Connection)}
    async with Provider() as provider:
        rest = asyncio.Event()
        provider.play((*events(delta("a"), rest, delta("b", "stop")), End.CLOSE))
        backend, sink = openai(provider.url), Sink()
        sink.full = True
        running = asyncio.ensure_future(backend.generate(call(deltas=sink)))
        async with asyncio.timeout(BOUND):
            await sink.asked.wait()
        rest.set()
        await settled()
        sink.space.set()
        async with asyncio.timeout(BOUND):
            assert (await running).content == "ab"
        await settled()
        connections = [one for one in gc.get_objects() if isinstance(one, Connection)]
        assert [one.alive for one in connections if id(one) not in before] == [False]
        await backend.close()


async def test_after_the_last_event_nothing_is_waited_for() -> None:
    """COO-12: the answer is complete although the response's own end has not come."""
    async with Provider() as provider:
        gate = asyncio.Event()
        *begun, last = streamed_completion("a", "b")
        provider.always((*begun, gate, last))
        backend, sink = openai(provider.url), Sink()
        for _ in range(2):
            async with asyncio.timeout(BOUND):
                answer = await backend.generate(call(deltas=sink))
            assert answer.content == "ab"
            gate.set()
            await settled()
        assert provider.connections == 1
        await backend.close()


async def test_a_response_that_never_ends_after_its_last_event_costs_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with Provider() as provider:
        monkeypatch.setattr("promptkit_rpc.backends.http.connection._DRAIN", 0.01)
        provider.always((*streamed_completion("a")[:-1], End.NEVER))
        backend = openai(provider.url)
        await backend.generate(call(deltas=Sink()))
        await provider.hung_up(1)
        await backend.close()


async def test_a_body_is_let_go_as_soon_as_it_was_answered() -> None:
    """OWN-7: no history waits for the collector, whether the call went well or not."""
    async with Provider() as provider:
        provider.play(completion(), refusal(400, {}), streamed_completion("a"))
        backend = openai(provider.url)
        gc.collect()
        gc.disable()
        try:
            await backend.generate(call("x" * 1_000_000))
            await failure(backend, call("x" * 1_000_000))
            await backend.generate(call("x" * 1_000_000, deltas=Sink()))
            held = [one for one in gc.get_objects() if isinstance(one, Content | httpx.Request)]
        finally:
            gc.enable()
        assert not held
        await backend.close()


def test_nothing_of_http_is_loaded_before_the_first_call() -> None:
    made = "import promptkit_rpc.backends.openai, promptkit_rpc.backends.anthropic, sys"
    check = f"{made}; print(*[m for m in ('httpx', 'httptools', 'ssl') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() in ("", "ssl")


async def test_the_transport_serves_any_httpx_client() -> None:
    async with Provider() as provider:
        provider.always(completion("through httpx"))
        made = transport.StackTransport(httpx.URL(provider.url), {})
        async with httpx.AsyncClient(transport=made) as client:
            for _ in range(2):
                answer = await client.post(f"{provider.url}/x", json={"a": 1})
                assert answer.json()["choices"][0]["message"]["content"] == "through httpx"
            with pytest.raises(httpx.UnsupportedProtocol):
                await client.get("http://127.0.0.1:1/elsewhere")
        assert provider.connections == 1
        assert provider.requests[0].json() == {"a": 1}
