"""What a backend is to the run: one call that gives one answer. Knows no provider and no HTTP."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from attrs import field, frozen

from promptkit_rpc.conversation.history import History
from promptkit_rpc.errors import GenerationFailed
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import Contract
from promptkit_rpc.secret import Secret
from promptkit_rpc.usage import UNKNOWN, TokenCounts

T = TypeVar("T")


class FinishReason(StrEnum):
    """Why an answer ended."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "contentFilter"
    REFUSAL = "refusal"
    OTHER = "other"


@frozen(kw_only=True)
class Parameters:
    """Generation parameters under one name each; None leaves it to the provider.

    `extra` is a JSON object that goes to the provider as it is.
    """

    temperature: float | int | None = None
    max_tokens: int | None = None
    top_p: float | int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    extra: Json | None = None

    def overridden(self, other: "Parameters") -> "Parameters":
        """With every parameter the other one gives; `extra` is replaced whole."""
        return Parameters(
            temperature=_chosen(other.temperature, self.temperature),
            max_tokens=_chosen(other.max_tokens, self.max_tokens),
            top_p=_chosen(other.top_p, self.top_p),
            stop=_chosen(other.stop, self.stop),
            seed=_chosen(other.seed, self.seed),
            extra=_chosen(other.extra, self.extra),
        )


def _chosen(first: T | None, second: T | None) -> T | None:
    return second if first is None else first


class Deltas(Protocol):
    """Receives the pieces of one attempt's streamed answer, in order."""

    def push(self, text: str) -> None:
        """Takes a piece; never blocks."""
        ...

    def room(self) -> Awaitable[None] | None:
        """None while more may be pushed at once, else what to await first."""
        ...


def _unheard(_: TokenCounts) -> None:
    return


@frozen(kw_only=True)
class Call:
    """One generation call: what is sent, to which model, under which contract.

    `history` holds every message to send, oldest first. `prompt_id` and `attempt` (from 1) are
    known to test backends and hosts; providers never see them. `report` is told what usage had
    come when the call is cancelled.
    """

    run_id: str
    attempt: int
    prompt_id: str
    model: str
    history: History
    parameters: Parameters
    contract: Contract
    session_id: str | None = None
    credential: Secret | None = field(default=None, repr=False)
    deltas: Deltas | None = field(default=None, repr=False)
    report: Callable[[TokenCounts], None] = field(default=_unheard, repr=False)


@frozen(kw_only=True)
class Answer:
    """A completed answer. `refusal` is the provider's words where it refused."""

    content: str
    finish_reason: FinishReason = FinishReason.STOP
    refusal: str | None = None
    usage: TokenCounts = UNKNOWN


def ended(reason: FinishReason | None, refusal: str | None) -> FinishReason | None:
    """Why an answer ended: the words of a refusal make it one, unless it was filtered."""
    return FinishReason.REFUSAL if refusal and reason is not FinishReason.CONTENT_FILTER else reason


class CallFailed(Exception):  # noqa: N818
    """A call without an answer: the error to report and what usage is known of it all the same."""

    def __init__(self, error: GenerationFailed, usage: TokenCounts = UNKNOWN) -> None:
        super().__init__(error.message)
        self.error = error
        self.usage = usage

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as it is."""
        return type(self), (self.error, self.usage)


class Backend(Protocol):
    """Makes generation calls. One object serves concurrent calls."""

    async def generate(self, call: Call) -> Answer:
        """One call, with nothing awaited after the answer is complete.

        Raises:
            CallFailed: there is no answer.
            asyncio.CancelledError: the caller cancelled; whatever the call held is given back.
        """
        ...

    async def close(self) -> None:
        """Closes what is kept open; calls in flight fail."""
        ...


Credential = Callable[[], Awaitable[Secret | None]]
"""Supplies a credential for one run."""
