import asyncio
import gc
from typing import Any

import pytest

from promptkit_rpc.errors import Cancelled, PromptKitError
from promptkit_rpc.rpc.daemon import CLOSING, PATIENCE
from promptkit_rpc.rpc.errors import ConnectionLost
from promptkit_rpc.rpc.hello import Hello
from promptkit_rpc.rpc.lifecycle import Lifecycle, Phase
from promptkit_rpc.rpc.peer import Call, Peer
from promptkit_rpc.rpc.started import Options
from tests.support.fake_session import FakeSession
from tests.support.peers import BOUND, Lab, turns

GREETING: dict[str, Any] = {"processId": None, "rootUri": None, "capabilities": {}}


class Server(Lab):
    """A server side with a fake session, and what happened to it."""

    def __init__(self) -> None:
        self.sessions: list[FakeSession] = []
        self.codes: list[int] = []
        self.opened: list[Hello] = []
        self.life = Lifecycle(self.make, self.codes.append, self.opened.append)
        super().__init__(router=self.life)

    def make(self, peer: Peer, hello: Hello) -> FakeSession:
        session = FakeSession(peer, hello)
        self.sessions.append(session)
        return session

    def refused(self, ident: Any, method: str) -> str:
        """The message that a request is refused with at once."""
        self.ask(ident, method, GREETING)
        (answer,) = self.answers(ident)
        return answer["error"]["message"]

    def code(self, ident: Any, method: str, params: Any = None) -> int | None:
        """The error code a request is answered with at once, or None for a result."""
        self.ask(ident, method, params)
        (answer,) = self.answers(ident)
        return answer["error"]["code"] if "error" in answer else None


async def test_before_initialize_requests_are_refused_and_notifications_dropped() -> None:
    """X-08, X-03: -32002."""
    server = Server()
    assert server.code(1, "fake/echo") == -32002
    assert server.code(2, "shutdown") == -32002
    server.tell("initialized", {})
    server.tell("fake/hear", {"a": 1})
    server.tell("$/cancelRequest", {"id": 3})
    assert len(server.sent) == 2
    assert server.code(0, "initialize", GREETING) is None
    assert server.code(4, "fake/echo") is None
    assert server.sessions[0].heard == []


async def test_what_comes_at_the_wrong_time_is_told_why() -> None:
    """X-08."""
    server = Server()
    assert server.refused(1, "fake/echo") == "initialize has to come first"
    server.ask(2, "initialize", GREETING)
    assert server.refused(3, "initialize") == "initialize was answered before"
    server.ask(4, "shutdown")
    assert server.refused(5, "fake/echo") == "no request is served after shutdown"


async def test_the_session_is_told_what_the_client_said() -> None:
    """X-08: before it serves anything, and before anybody else hears of it."""
    server = Server()
    server.ask(1, "initialize", {**GREETING, "rootUri": "file:///a%20b"})
    (hello,) = server.opened
    assert hello.root == "/a b"
    assert server.sessions[0].hello is hello


async def test_a_refused_initialize_leaves_the_server_as_it_was() -> None:
    """X-08: the client may try again."""
    server = Server()
    assert server.code(1, "initialize", {"rootUri": 5}) == -32602
    assert server.code(2, "fake/echo") == -32002
    assert server.life.phase is Phase.NEW
    assert server.code(3, "initialize", GREETING) is None
    assert len(server.opened) == 1


async def test_a_second_initialize_is_refused() -> None:
    """X-08: -32600, and the session goes on."""
    server = Server()
    server.ask(1, "initialize", GREETING)
    assert server.code(2, "initialize", GREETING) == -32600
    assert server.code(3, "fake/echo") is None
    assert len(server.sessions) == 1


async def test_notifications_of_every_editor_are_accepted() -> None:
    """X-03: known ones heard, `$/` and unknown ones ignored."""
    server = Server()
    server.ask(1, "initialize", GREETING)
    for method in ("initialized", "$/setTrace", "$/unknown", "textDocument/didOpen", "x"):
        server.tell(method, {"value": "off"})
    server.tell("fake/hear", {"a": 1})
    assert len(server.sent) == 1
    assert server.sessions[0].heard == [{"a": 1}]


async def test_after_shutdown_every_request_is_refused() -> None:
    """X-08: -32600, initialize and shutdown too; what is unknown too."""
    server = Server()
    server.ask(1, "initialize", GREETING)
    assert server.code(2, "shutdown") is None
    for ident, method in enumerate(("fake/echo", "shutdown", "initialize", "no/such"), 3):
        assert server.code(ident, method) == -32600
    server.tell("fake/hear", {"a": 1})
    assert server.sessions[0].heard == []


async def test_requests_in_flight_at_shutdown_go_on_and_are_answered() -> None:
    """X-08: shutdown itself is answered at once; cancels and callbacks still work."""
    server = Server()
    server.ask(1, "initialize", GREETING)
    for ident in ("goes on", "cancelled"):
        server.ask(ident, "fake/wait")
    server.ask("asks", "fake/ask")
    await turns()
    assert server.code("down", "shutdown") is None
    server.tell("$/cancelRequest", {"id": "cancelled"})
    assert (await server.answer("cancelled"))["error"]["code"] == -32800
    server.give({"jsonrpc": "2.0", "id": 1, "result": "yes"})
    assert (await server.answer("asks"))["result"] == {"answer": "yes"}
    server.sessions[0].gate.set()
    assert (await server.answer("goes on"))["result"] == {}


@pytest.mark.parametrize(
    ("methods", "code"), [([], 1), (["initialize"], 1), (["initialize", "shutdown"], 0)]
)
async def test_exit_gives_0_after_shutdown_and_1_otherwise(methods: list[str], code: int) -> None:
    """X-08."""
    server = Server()
    for ident, method in enumerate(methods):
        server.ask(ident, method, GREETING)
    server.tell("exit", {})
    assert server.codes == [code]


async def test_the_session_is_closed_with_the_connection() -> None:
    """SEC-4: and a connection without one closes too."""
    server = Server()
    await server.life.close()
    server.ask(1, "initialize", GREETING)
    await server.life.close()
    assert server.sessions[0].closed


def test_the_end_takes_less_than_five_seconds() -> None:
    """R-12: three for what was accepted, one for what is cancelled, the rest for the remains."""
    assert Options().grace == 3.0
    assert Options().grace + PATIENCE + 2 * CLOSING <= 5.0
    assert PATIENCE == 1.0


async def test_what_ends_by_itself_in_the_grace_is_answered_with_its_result() -> None:
    """R-12: accepted requests get their time."""
    gate = asyncio.Event()

    async def wait(_params: dict[str, Any], call: Call) -> str:
        await gate.wait()
        await turns()
        return "cancelled" if call.signal.cancelled else "done"

    lab = Lab({"wait": wait})
    lab.ask(1, "wait")
    await turns()
    lab.peer.closing.on_cancel(lambda: asyncio.get_running_loop().call_soon(gate.set))
    async with asyncio.timeout(BOUND):
        await lab.peer.settle(grace=1000, patience=0)
    assert [answer["result"] for answer in lab.answers(1)] == ["done"]


async def test_what_does_not_end_is_cancelled_and_what_ignores_that_is_answered_all_the_same() -> (
    None
):
    """R-12: every request is answered once, and its task is stopped."""
    errors: list[PromptKitError] = []
    unexpected: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: unexpected.append(what))
    stopped = asyncio.Event()

    async def polite(_params: dict[str, Any], call: Call) -> None:
        try:
            with call.signal.scope():
                await asyncio.Event().wait()
        except Cancelled as error:
            errors.append(error)
            raise

    async def stubborn(_params: dict[str, Any], _call: Call) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.set()  # and gives a result all the same

    lab = Lab({"polite": polite, "stubborn": stubborn})
    lab.ask(1, "polite")
    lab.ask(2, "stubborn")
    await turns()
    async with asyncio.timeout(BOUND):
        await lab.peer.settle(grace=0, patience=0.01)
        await stopped.wait()
    await turns()
    assert [
        (a["error"]["code"], a["error"]["message"]) for n in (1, 2) for a in lab.answers(n)
    ] == [(-32800, "the connection is closing")] * 2
    assert [error.message for error in errors] == ["the connection is closing"]
    assert lab.peer.active == 0
    gc.collect()
    assert unexpected == []


async def test_a_handler_sees_that_the_connection_is_closing() -> None:
    """R-12: so that none starts a new turn; what waits for the client fails at once."""
    seen: list[Any] = []

    async def turn(_params: dict[str, Any], call: Call) -> str:
        try:
            await call.peer.request("client/next", {}, call.signal)
        except ConnectionLost:
            error = call.peer.closing.error
            seen.append(error and error.message)
        return "no new turn"

    lab = Lab({"turn": turn})
    lab.ask(1, "turn")
    await turns()
    assert not lab.peer.closing.cancelled
    async with asyncio.timeout(BOUND):
        await lab.peer.settle(grace=1000, patience=0)
    assert seen == ["the connection is closing"]
    assert (await lab.answer(1))["result"] == "no new turn"


async def test_a_connection_with_nothing_in_flight_ends_at_once() -> None:
    """R-12."""
    lab = Lab()
    async with asyncio.timeout(BOUND):
        await lab.peer.settle(grace=1000, patience=1000)
    assert lab.sent == []
