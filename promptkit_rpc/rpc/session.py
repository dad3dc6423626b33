"""One client's session: its state, and its methods bound to the handlers.

A request of ours is read strictly, served, and its result sent in full; what needs no waiting is
answered at once.
"""

import os
from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptkit_rpc import system
from promptkit_rpc.rpc.ahead import Ahead
from promptkit_rpc.rpc.codec import FAILURES, structuring, unstructure
from promptkit_rpc.rpc.engines import Engines
from promptkit_rpc.rpc.errors import invalid_params
from promptkit_rpc.rpc.handlers import HANDLERS, handler_of, params_of
from promptkit_rpc.rpc.hello import Hello
from promptkit_rpc.rpc.host import Host
from promptkit_rpc.rpc.peer import Call, Handler, Peer, Receiver
from promptkit_rpc.rpc.problems import ProblemLog
from promptkit_rpc.rpc.state import State
from promptkit_rpc.services import ClientCredential, ClientGenerate, Services

if TYPE_CHECKING:
    from promptkit_rpc.rpc.documents import Documents

MakeServices = Callable[[ClientGenerate, ClientCredential], Services]


class Session:
    """Serves one connection.

    Args:
        services: makes what engines are given, from the client as a host.
    """

    def __init__(self, peer: Peer, hello: Hello, services: MakeServices = system.services) -> None:
        host = Host(peer)
        config = hello.config and os.path.relpath(hello.config, hello.root)
        world = services(host.generate, host.credential)
        # A client without documents cannot be shown problems where they are.
        self.problems = None if hello.text_documents else ProblemLog(peer, world)
        told = None if self.problems is None else self.problems.opened
        self.engines = Engines(Path(hello.root), config, world, told)
        self.ahead = Ahead(Path(hello.root), config, world)
        self.state = State(peer, host, self.engines)
        self.methods: Mapping[str, Handler] = _bound_when_asked_for(self.state)
        self.notifications: Mapping[str, Receiver] = host.notifications
        self.documents = _documents(peer, hello, config) if hello.text_documents else None
        if self.documents is not None:
            self.methods = self.documents.methods(self.methods)
            self.notifications = self.documents.notifications(self.notifications)

    async def close(self) -> None:
        """Closes its engines; runs in flight finish."""
        self.ahead.close()
        if self.problems is not None:
            self.problems.close()
        if self.documents is not None:
            await self.documents.close()
        await self.engines.close_all()


def _documents(peer: Peer, hello: Hello, config: str | None) -> "Documents":
    from promptkit_rpc.rpc.documents import Documents  # noqa: PLC0415 - few clients have any

    return Documents(peer, hello, config)


def _bound_when_asked_for(state: State) -> dict[str, Handler]:
    """Every method; its handler is loaded and takes its place with the first request."""
    methods: dict[str, Handler] = {}

    def awaiting(method: str) -> Handler:
        def first(params: dict[str, Any], call: Call) -> Any:
            bound = methods[method] = _bound(handler_of(method), state)
            return bound(params, call)

        return first

    methods.update((method, awaiting(method)) for method in HANDLERS)
    return methods


def _bound(handler: Callable[..., Any], state: State) -> Handler:
    read = _reading(params_of(handler))
    if iscoroutinefunction(handler):

        def later(params: dict[str, Any], call: Call) -> Any:
            return _sent(handler(state, read(params), call))

        return later

    def at_once(params: dict[str, Any], call: Call) -> Any:
        return _plain(handler(state, read(params), call))

    return at_once


async def _sent(result: Any) -> Any:
    return _plain(await result)


def _plain(result: Any) -> Any:
    """A handler's result as JSON; one that is plain already stays as it is."""
    return result if type(result) in _PLAIN else unstructure(result)


_PLAIN = frozenset((dict, type(None)))


def _reading(params_type: Any) -> Callable[[dict[str, Any]], Any]:
    structured = structuring(params_type)

    def read(params: dict[str, Any]) -> Any:
        try:
            return structured(params)
        except FAILURES:
            from promptkit_rpc.rpc.faults import faults  # noqa: PLC0415 - most requests have none

            raise invalid_params(faults(params, params_type, "params")) from None

    return read
