"""What the handlers of one session share: its handles, its engines, its client."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from promptkit_rpc.execution.observe import Observer
from promptkit_rpc.execution.request import RunRequest, RunResult
from promptkit_rpc.rpc.convert.requests import run_request
from promptkit_rpc.rpc.convert.results import run_result
from promptkit_rpc.rpc.engines import Engines
from promptkit_rpc.rpc.handles import Exchanges, Groups, Names, PreparedRuns
from promptkit_rpc.rpc.host import Host
from promptkit_rpc.rpc.peer import Peer
from promptkit_rpc.rpc.progress import SILENT, Progress
from promptkit_rpc.rpc.protocol import run as wire
from promptkit_rpc.rpc.protocol.base import Token

if TYPE_CHECKING:
    from promptkit_rpc.rpc.streams import TextStream


class State:
    """The mutable state of one session. Engines are made with the host's services."""

    def __init__(self, peer: Peer, host: Host, engines: Engines) -> None:
        self.peer = peer
        self.host = host
        self.engines = engines
        self.exchanges = Exchanges()
        self.groups = Groups()
        self.prepared = PreparedRuns()
        self.active = 0
        self.coordinations = Names("coordination")
        self._loggers = _loggers()

    def request(
        self,
        params: wire.RunParams,
        *,
        observers: tuple[Observer, ...] = (),
        text: Token | None = None,
    ) -> RunRequest:
        """The core's request, its handles looked up; `text` is a token to stream under.

        Raises:
            ExchangeNotFound, GroupNotFound: a handle it names is not held.
            RequestInvalid: its credential cannot be used.
        """
        source = params.continue_from
        return run_request(
            params,
            continue_from=None if source is None else self.exchanges.get(source),
            observers=(*self.groups.chosen(params.groups), *observers, *self._loggers),
            stream=self.stream(text),
        )

    def observing(self, token: Token | None) -> tuple[Observer, ...]:
        """What sends observations under a token, if one is given."""
        if token is None:
            return ()
        from promptkit_rpc.rpc.streams import Observing  # noqa: PLC0415 - for who watches

        return (Observing(self.peer, token),)

    def stream(self, token: Token | None) -> "TextStream | None":
        """What streams text under a token, if one is given."""
        if token is None:
            return None
        from promptkit_rpc.rpc.streams import TextStream  # noqa: PLC0415 - for who watches

        return TextStream(self.peer, token)

    def progress(self, token: Token | None, title: str, *, cancellable: bool = True) -> Progress:
        """What shows progress under a token, if one is given."""
        if token is None:
            return SILENT
        from promptkit_rpc.rpc.streams import ShownProgress  # noqa: PLC0415 - for who watches

        return ShownProgress(self.peer, token, title, cancellable=cancellable)

    @contextmanager
    def running(self) -> Generator[None]:
        """Counts one execution as long as the block lasts."""
        self.active += 1
        try:
            yield
        finally:
            self.active -= 1

    def completed(self, result: RunResult) -> wire.RunResult:
        """The result for the wire; its exchange is held from now on."""
        if result.exchange is not None:
            self.exchanges.hold(result.exchange)
        return run_result(result)


def _loggers() -> tuple[Observer, ...]:
    if not logging.getLogger("promptkit_rpc.rpc").isEnabledFor(logging.INFO):
        return ()
    from promptkit_rpc.rpc.runlog import logged  # noqa: PLC0415 - few ask for it

    return (logged,)
