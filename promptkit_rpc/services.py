"""What a run needs from the world: clocks, chance, ids, timers, and the connected client."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from attrs import frozen

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.generation import Answer, Call


class Timer(Protocol):
    """A callback that is due later."""

    def cancel(self) -> object:
        """Takes it back; harmless afterwards."""
        ...


ClientGenerate = Callable[[str, Call], Awaitable[Answer]]
"""Asks the connected client to generate: backend name and call; raises CallFailed."""

ClientCredential = Callable[[str, CancelSignal], Awaitable[str]]
"""Asks the connected client for a credential by name."""


@frozen(kw_only=True)
class Services:
    """Passed in, so that nothing in the core reads a clock or rolls dice by itself.

    `time` is in seconds since the epoch, `monotonic` in seconds; `random` gives [0, 1).
    """

    time: Callable[[], float]
    monotonic: Callable[[], float]
    random: Callable[[], float]
    run_id: Callable[[], str]
    sleep: Callable[[float], Awaitable[None]]
    later: Callable[[float, Callable[[], object]], Timer]
    client_generate: ClientGenerate | None = None
    client_credential: ClientCredential | None = None
