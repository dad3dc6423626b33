"""What the coordinator and the application say to each other."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TypeAlias

from attrs import frozen

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.errors import Cancelled, PromptKitError
from promptkit_rpc.execution.request import RunRequest, RunResult


@frozen(kw_only=True)
class Turn:
    """What the callback is given: the newest exchange, and its result unless it is the start.

    `delivery_index` counts callbacks from 0.
    """

    exchange: Exchange
    remaining_turns: int
    delivery_index: int
    result: RunResult | None


@frozen
class Continue:
    """Run this request as a continuation of the newest exchange."""

    request: RunRequest


@frozen
class Stop:
    """The application is done."""


Action: TypeAlias = Continue | Stop
NextAction: TypeAlias = Callable[[Turn, CancelSignal], Awaitable[Action]]


class Outcome(StrEnum):
    """How a coordination ended without an error."""

    STOPPED = "stopped"
    EXHAUSTED = "exhausted"


class CoordinationCancelled(Cancelled):
    """The coordination was cancelled.

    `cancellation` is the signal's own error object; `undelivered` the one completed result that
    the callback was never given.
    """

    def __init__(self, cancellation: PromptKitError, undelivered: RunResult | None) -> None:
        super().__init__(cancellation.message)
        self.cancellation = cancellation
        self.undelivered = undelivered
