"""The daemon's process as a client sees it: raw bytes in, raw bytes out, and its end."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_session import COMMAND
from tests.support.frames import frame
from tests.support.wire import GREETING, PROJECT, fake, request


async def test_nothing_is_written_before_the_first_answer() -> None:
    """R-03: no banner, and exactly one frame for one request."""
    async with fake() as daemon:
        await daemon.greet()
        daemon.close_stdin()
        assert await daemon.read_rest() == b""
        assert daemon.received.startswith(b"Content-Length: ")
        assert await daemon.wait() == 1
        assert daemon.stderr == ""


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C"},
    ],
)
async def test_frames_are_the_same_whatever_the_locale(env: dict[str, str]) -> None:
    """R-18: 0D 0A 0D 0A and UTF-8."""
    text = "é☃𝄞\r\n\u2028"
    async with fake(env=env) as daemon:
        await daemon.greet()
        answer = await daemon.call("ü", "fake/echo", {"text": text})
        assert answer["result"] == {"text": text}
        body = b'{"jsonrpc":"2.0","id":"%b","result":{"text":"%b"}}' % (
            "ü".encode(),
            json.dumps(text, ensure_ascii=False)[1:-1].encode(),
        )
        assert daemon.received.endswith(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: %d\r\n\r\n",
        b"content-length: %d\r\n\r\n",
        b"Content-Length:%d\r\nX-Foo: 1\r\n\r\n",
        b"Content-Length: %d\n\n",
    ],
)
async def test_headers_of_every_kind_start_the_daemon_and_drive_it(head: bytes) -> None:
    """R-16, X-04: the first frame too, split and together with the next."""
    first = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}).encode()
    second = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "fake/echo"}).encode()
    stream = head % len(first) + first + head % len(second) + second
    async with fake() as daemon:
        await daemon.write(stream[:-5])
        assert (await daemon.next())["id"] == 0
        for at in range(len(stream) - 5, len(stream)):
            await daemon.write(stream[at : at + 1])
        assert (await daemon.next())["id"] == 1


@pytest.mark.parametrize("greeted", [False, True])
@pytest.mark.parametrize(
    "head",
    [b"Content-Length: abc\r\n\r\n", b"X: 1\r\n\r\n", b"Content-Length: 1\nContent-Length: 2\n\n"],
)
async def test_an_unreadable_length_ends_the_process_with_a_line(
    head: bytes, *, greeted: bool
) -> None:
    """X-04, R-16: what came before is answered."""
    async with fake() as daemon:
        if greeted:
            await daemon.greet()
            await daemon.write(request(1, "fake/echo") + head + request(2, "fake/echo"))
            assert (await daemon.next())["id"] == 1
        else:
            await daemon.write(head + request(2, "fake/echo"))
        assert await daemon.read_rest() == b""
        assert await daemon.wait() == 1
        assert daemon.stderr.startswith("promptkit-rpc: the input is out of step: ")
        assert daemon.stderr.count("\n") == 1


async def test_everything_malformed_is_answered_and_the_next_request_too() -> None:
    """X-03, R-19, R-07: by the daemon that has answered nothing yet, and later."""
    huge = b"1" * 5000
    deep = b"[" * 20_000 + b"]" * 20_000
    cases: list[tuple[bytes, Any, int]] = [
        (b"{", None, -32700),
        (b'{"x":"\xff"}', None, -32700),
        (b"[]", None, -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]', None, -32600),
        (b'{"id":3,"method":"x"}', 3, -32600),
        (b'{"jsonrpc":"1.0","id":4,"method":"x"}', 4, -32600),
        (b'{"jsonrpc":"2.0","id":5,"method":"x","params":{"a":%b}}' % huge, 5, -32600),
        (b'{"jsonrpc":"2.0","id":6,"method":"x","params":{"a":%b}}' % deep, 6, -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":[1]}', 7, -32602),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":8,"method":"initialize","params":{"rootUri":1}}', 8, -32602),
        (b'{"jsonrpc":"2.0","id":9,"method":"fake/echo"}', 9, -32002),
    ]
    async with fake() as daemon:
        for body, ident, code in cases:
            await daemon.write(frame(body))
            answer = await daemon.next()
            assert (answer["id"], answer["error"]["code"]) == (ident, code), body[:80]
        await daemon.greet()
        for body, ident, code in cases[:-2]:
            await daemon.write(frame(body))
            answer = await daemon.next()
            assert (answer["id"], answer["error"]["code"]) == (ident, code), body[:80]
        await daemon.write(frame({"jsonrpc": "2.0", "id": 999, "result": 1}))
        assert (await daemon.call(10, "fake/echo", {"a": 1}))["result"] == {"a": 1}


@pytest.mark.parametrize("size", [70_000, 5_000_000, 60_000_000])
async def test_large_bodies_go_in_and_out(size: int) -> None:
    """R-14: 70 KB, 5 MB, 60 MB."""
    async with fake() as daemon:
        await daemon.greet()
        heard = await daemon.call(1, "fake/length", {"text": "x" * size})
        assert heard["result"] == size
        if size < 10_000_000:
            assert len((await daemon.call(2, "fake/big", {"size": size}))["result"]) == size
        assert (await daemon.call(3, "fake/echo", {"a": 1}))["result"] == {"a": 1}


async def test_a_body_over_the_limit_is_answered_under_its_id_and_the_next_one_served() -> None:
    """R-14: the limit is 64 MiB unless configured; the first frame too."""
    async with fake(max_body=1000) as daemon:
        answer = await daemon.call(0, "initialize", GREETING | {"x": "x" * 2000})
        assert (answer["error"]["code"], answer["id"]) == (-32600, 0)
        assert "the limit is 1000" in answer["error"]["message"]
        await daemon.greet()
        answer = await daemon.call("big", "fake/echo", {"text": "x" * 100_000})
        assert answer["error"]["code"] == -32600
        assert (await daemon.call(2, "fake/echo", {"a": 1}))["result"] == {"a": 1}


async def test_an_absurd_length_is_answered_at_once() -> None:
    """R-14: 10^18 announced bytes are never waited for, nor made room for."""
    async with fake() as daemon:
        await daemon.greet()
        body = b'{"jsonrpc":"2.0","id":"x","method":"fake/echo","params":{"a":"' + b"a" * 5000
        await daemon.write(b"Content-Length: 1000000000000000000\r\n\r\n" + body)
        assert (await daemon.next())["id"] == "x"


async def test_a_stray_print_and_a_child_process_do_not_reach_the_frames() -> None:
    """R-03: fd 1 is stderr for them, and fd 0 is empty."""
    async with fake({"PYTHONUNBUFFERED": None}) as daemon:
        await daemon.greet()
        assert (await daemon.call(1, "fake/print"))["result"] is None
        assert (await daemon.call(2, "fake/echo"))["result"] == {}
        daemon.close_stdin()
        await daemon.wait()
        for line in ("a stray print", "a stray write", "a child ''"):
            assert line in daemon.stderr


async def test_a_client_that_stops_reading_stops_nothing_else() -> None:
    """R-20: 40 MB of answers wait, a streaming producer pauses, and requests are still served."""
    async with fake() as daemon:
        await daemon.greet()
        for ident in range(8):
            await daemon.ask(ident, "fake/big", {"size": 5_000_000})
        await daemon.ask("stream", "fake/stream", {"pieces": 100, "size": 100})
        await daemon.tell("fake/hear", {"a": 1})
        for ident in range(8):
            assert (await daemon.next())["id"] == ident
        pieces = 0
        while "id" not in (message := await daemon.next()):
            pieces += 1
        assert (pieces, message["id"]) == (100, "stream")
        assert message["result"] >= 1
        assert (await daemon.call(9, "fake/status"))["result"]["heard"] == [{"a": 1}]


async def test_small_answers_need_no_thread() -> None:
    """R-20: a thread is only there once the client is slow to read."""
    async with fake() as daemon:
        await daemon.greet()
        assert (await daemon.call(1, "fake/threads"))["result"] == 1
        await daemon.call(2, "fake/big", {"size": 1_000_000})
        assert (await daemon.call(3, "fake/threads"))["result"] == 2


async def test_many_requests_in_one_write_are_all_answered_in_order() -> None:
    """R-16."""
    async with fake() as daemon:
        await daemon.greet()
        daemon.put(b"".join(request(n, "fake/echo", {"n": n}) for n in range(5000)))
        for number in range(5000):
            assert (await daemon.next()) == {
                "jsonrpc": "2.0",
                "id": number,
                "result": {"n": number},
            }


@pytest.mark.parametrize("ident", [0, 1, "1", "", "a/b", 2147483648, -7])
async def test_ids_are_echoed(ident: Any) -> None:
    """R-04, R-05: id 0 for initialize, for a request and for its cancel."""
    async with fake() as daemon:
        assert (await daemon.call(ident, "initialize", GREETING))["id"] == ident
        await daemon.ask(ident, "fake/wait", {"announce": True})
        assert (await daemon.next())["params"] == {"id": ident}
        await daemon.tell("$/cancelRequest", {"id": ident})
        answer = await daemon.next()
        assert (answer["id"], answer["error"]["code"]) == (ident, -32800)


def test_a_client_that_does_not_read_stderr_stops_nothing() -> None:
    """R-20: what does not fit is dropped, for a log is not worth a run."""
    crashes = b"".join(request(number, "fake/crash") for number in range(1000))
    with subprocess.Popen(
        COMMAND, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as daemon:
        assert daemon.stdin
        assert daemon.stdout
        assert daemon.stderr
        daemon.stdin.write(request("hello", "initialize") + crashes)
        daemon.stdin.close()
        answers = daemon.stdout.read()
        assert answers.count(b'"error"') == 1000
        assert daemon.wait(60) == 1
        logged = daemon.stderr.read()
        assert logged.startswith(b"ERROR promptkit_rpc.rpc.peer: fake/crash raised KeyError\n")
        assert logged.count(b"KeyError") < 1000


def test_files_serve_as_well_as_pipes(tmp_path: Path) -> None:
    """R-16: a shell may give them."""
    source, sink = tmp_path / "in", tmp_path / "out"
    source.write_bytes(request(0, "initialize") + request(1, "fake/big", {"size": 500_000}))
    with source.open("rb") as given, sink.open("wb") as taken:
        done = subprocess.run(
            COMMAND, stdin=given, stdout=taken, cwd=PROJECT, check=False, timeout=60
        )
    assert done.returncode == 1  # the client never said `exit`
    assert len(sink.read_bytes()) > 500_000
    assert sink.read_bytes().startswith(b"Content-Length: ")


def test_an_absent_stdout_is_told() -> None:
    """R-12: there is nobody to serve."""
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *COMMAND],
        input=b"", cwd=PROJECT, stderr=subprocess.PIPE, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert (
        done.stderr == b"promptkit-rpc: standard output is closed, so nothing could be answered\n"
    )


def test_the_null_device_as_input_ends_the_daemon_at_once() -> None:
    """R-12: exit 1, no loop, no word."""
    for redirected in ("</dev/null", "<&-"):
        done = subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" {redirected}', "sh", *COMMAND],
            cwd=PROJECT, capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (1, b"", b""), redirected
