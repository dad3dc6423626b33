"""One initialized connection: values in, values out, and what a request is told meanwhile."""

import asyncio
from typing import Any, TypeVar

from promptkit_client._codec import decode
from promptkit_client._connection import Connection
from promptkit_client._host import Host
from promptkit_client._watching import Watched, Watching
from promptkit_client.errors import LateResult, PromptKitError

T = TypeVar("T")


class Session:
    """Calls methods by name."""

    def __init__(self, connection: Connection, host: Host) -> None:
        self.connection = connection
        self.host = host

    async def call(
        self, kind: type[T], method: str, params: dict[str, Any], watched: Watched | None = None
    ) -> T:
        """A request's result as a value; without None fields, for the wire has none.

        Raises:
            PromptKitError: the server answered with an error, or with something else.
            ConnectionLost: there is no server.
        """
        try:
            return _value(kind, method, await self._watched(method, params, watched or {}))
        except asyncio.CancelledError as cancelled:
            if isinstance(late := cancelled.__cause__, LateResult):
                late.result = _value(kind, method, late.result)
            raise

    async def do(self, method: str, params: dict[str, Any]) -> None:
        """A request that has no result; raises as `call`."""
        await self.connection.request(method, _present(params))

    async def _watched(self, method: str, params: dict[str, Any], watched: Watched) -> Any:
        watching = Watching(watched)
        listeners = self.host.listeners
        listeners.update(watching.listeners)
        try:
            asked = {**_present(params), **watching.tokens}
            result = await self.connection.request(method, asked, watching.cancels)
        except PromptKitError:
            if watching.failure is None:
                raise
        else:
            if watching.failure is None:
                return result
        finally:
            for token in watching.listeners:
                del listeners[token]
        raise watching.failure


def _present(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _value(kind: type[T], method: str, result: Any) -> T:
    try:
        return decode(kind, result)
    except ValueError as fault:
        raise PromptKitError(f"{method} was answered with something else: {fault}") from None
