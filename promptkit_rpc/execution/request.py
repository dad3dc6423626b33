"""What one run is asked for and what it answers, as values."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from attrs import field, frozen

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.conversation.message import Message
from promptkit_rpc.execution.observe import Observer
from promptkit_rpc.generation import Deltas, FinishReason, Parameters
from promptkit_rpc.output.contract import Contract, Validation
from promptkit_rpc.secret import Secret
from promptkit_rpc.usage import Usage

_AS_THE_PROFILE = Parameters()
_NONE: Mapping[str, Any] = MappingProxyType({})


class StreamSink(Deltas, Protocol):
    """Receives a run's streamed pieces; each attempt announces itself first."""

    def begin(self, attempt: int) -> None:
        """A new attempt (from 1) starts; pieces of an earlier one are void."""


@frozen(kw_only=True)
class RunRequest:
    """An ordinary request; with `continue_from` it is a continuation and always captures.

    `variables` are data and are not copied: leave them alone until preparation is done.
    `timeout` bounds the whole run, in seconds.
    """

    prompt_id: str
    variables: Mapping[str, Any] = field(default=_NONE, repr=False)
    profile: str | None = None
    parameters: Parameters = _AS_THE_PROFILE
    output: Contract | None = None
    session_id: str | None = None
    messages: tuple[Message, ...] = field(default=(), repr=False)
    credential: Secret | None = field(default=None, repr=False)
    capture: bool = False
    continue_from: Exchange | None = None
    observers: tuple[Observer, ...] = field(default=(), repr=False)
    stream: StreamSink | None = field(default=None, repr=False)
    timeout: float | None = None


@frozen(kw_only=True)
class RunResult:
    """A completed run. `validation` holds the verdict and the decoded answer."""

    run_id: str
    parent_run_id: str | None
    content: str
    validation: Validation
    finish_reason: FinishReason
    refusal: str | None
    usage: Usage
    attempts: int
    transient_retries: int
    repairs: int
    profile: str
    backend: str
    model: str
    session_id: str | None
    exchange: Exchange | None
