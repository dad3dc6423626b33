"""A peer whose output is kept, to show what one side does with each message."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from promptkit_rpc.rpc.errors import RpcError, to_error
from promptkit_rpc.rpc.peer import Call, Handler, Peer, Receiver, Router, Table

BOUND = 10.0
"""Seconds that a wait in a test may take."""


class Kept:
    """An outlet that keeps what is sent."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.news = asyncio.Event()

    def send(self, body: bytes, *, last: bool = False) -> None:
        del last
        self.bodies.append(body)
        self.news.set()

    def room(self) -> Awaitable[None] | None:
        return None


class Lab:
    """A peer, what it sent, and a way to hand it messages."""

    def __init__(
        self,
        methods: Mapping[str, Handler] | None = None,
        notifications: Mapping[str, Receiver] | None = None,
        *,
        router: Router | None = None,
        errors: Callable[[Exception], RpcError] = to_error,
    ) -> None:
        self.kept = Kept()
        table = router or Table(methods or {}, notifications or {})
        self.peer = Peer(self.kept, table, errors)

    @property
    def sent(self) -> list[Any]:
        """Everything sent so far, decoded."""
        return [json.loads(body) for body in self.kept.bodies]

    @property
    def last(self) -> Any:
        """What was sent last."""
        return self.sent[-1]

    def give(self, message: Any) -> None:
        """Hands the peer a message, or bytes as they are."""
        self.peer.receive(message if isinstance(message, bytes) else json.dumps(message).encode())

    def ask(self, ident: Any, method: str, params: Any = None) -> None:
        """Hands the peer a request."""
        self.give({"jsonrpc": "2.0", "id": ident, "method": method, "params": params or {}})

    def tell(self, method: str, params: Any) -> None:
        """Hands the peer a notification."""
        self.give({"jsonrpc": "2.0", "method": method, "params": params})

    def answers(self, ident: Any) -> list[Any]:
        """Every answer sent under an id, type included."""
        return [
            message
            for message in self.sent
            if "method" not in message and repr(message["id"]) == repr(ident)
        ]

    async def answer(self, ident: Any) -> Any:
        """The one answer under an id, waited for."""
        async with asyncio.timeout(BOUND):
            while not self.answers(ident):
                self.kept.news.clear()
                await self.kept.news.wait()
        (answer,) = self.answers(ident)
        return answer


def fixed(value: Any) -> Handler:
    """A handler that gives this value at once."""

    def handler(_params: dict[str, Any], _call: Call) -> Any:
        return value

    return handler


async def turns(count: int = 5) -> None:
    """Lets everything that is due happen."""
    for _ in range(count):
        await asyncio.sleep(0)
