"""The requests of one side that the other has not answered yet.

An answer to a request that was given up is dropped quietly; any other stray one is logged.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.rpc import messages
from promptkit_rpc.rpc.errors import ConnectionLost
from promptkit_rpc.rpc.messages import Answer

_log = logging.getLogger(__name__)
_GONE = "the other side of the connection is gone"


class Asked:
    """The table of them; ids are integers from 1, each used once."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._open: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self._lost = False

    async def request(self, method: str, params: Any, signal: CancelSignal | None) -> Any:
        """Asks and waits; what it raises is told at `Peer.request`."""
        if signal is not None:
            signal.check()
        if self._lost:
            raise ConnectionLost(_GONE)
        ident = self._last_id + 1
        body = messages.request(ident, method, params)
        self._last_id = ident
        answer = self._open[ident] = asyncio.get_running_loop().create_future()
        self._send(body)
        remove = signal and signal.on_cancel(lambda: self._give_up(ident, signal.error))
        try:
            return await answer
        except asyncio.CancelledError:
            self._give_up(ident)
            raise
        finally:
            if remove:
                remove()

    def answered(self, answer: Answer) -> None:
        """Settles the request that is answered."""
        ident = answer.id
        waiting = self._open.pop(ident, None) if type(ident) is int else None
        if waiting is None:
            late = type(ident) is int and 0 < ident <= self._last_id
            _log.log(logging.DEBUG if late else logging.WARNING, "dropped an answer to no request")
        elif waiting.done():
            pass
        elif answer.error is None:
            waiting.set_result(answer.result)
        else:
            waiting.set_exception(answer.error)

    def lose(self) -> None:
        """The other side is gone: every request fails, now and later."""
        self._lost = True
        waiting, self._open = self._open, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionLost(_GONE))

    def _give_up(self, ident: int, error: Exception | None = None) -> None:
        answer = self._open.pop(ident, None)
        if answer is None:
            return
        self._send(messages.notification("$/cancelRequest", {"id": ident}))
        if error is not None and not answer.done():
            answer.set_exception(error)
