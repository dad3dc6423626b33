"""Coordination: one branch, driven by what the client answers."""

from enum import StrEnum
from typing import Annotated, Literal

from attrs import frozen

from promptkit_rpc.rpc.protocol.base import Count, Doc, Open, Positive, Tag, Token
from promptkit_rpc.rpc.protocol.run import Ref, RunParams, RunResult


@frozen(kw_only=True)
class CoordinateParams(Open):
    """Drives a branch; groups and tokens apply to each continuation, beside its request's own."""

    exchange: Annotated[str, Doc("The `runId` string of a held exchange to start from.")]
    additional_turns: Annotated[Count, Doc("How many continuations may start.")]
    coordination_id: Annotated[
        str | None, Doc("The client's name for it, told in each callback; made up if absent.")
    ] = None
    engine_id: Annotated[
        str | None, Doc("The engine of requests that name none; `default` if absent.")
    ] = None
    groups: Annotated[tuple[str, ...] | None, Doc("Groups that collect the continuations.")] = None
    observe: Annotated[Token | None, Doc("Token under which observations are sent.")] = None
    callback_timeout_ms: Annotated[
        Positive | None, Doc("Milliseconds for each callback; no limit if absent.")
    ] = None
    partial_result_token: Annotated[
        Token | None, Doc("Token under which text is streamed as `$/progress`.")
    ] = None
    work_done_token: Annotated[
        Token | None, Doc("Token under which progress for people is sent as `$/progress`.")
    ] = None


class CoordinationOutcome(StrEnum):
    """How a coordination ended."""

    STOPPED = "stopped"
    EXHAUSTED = "exhausted"
    CANCELLED = "cancelled"


@frozen(kw_only=True)
class CoordinateResult:
    """How it ended: stopped by the client, more was asked than the budget, or cancelled."""

    outcome: Annotated[CoordinationOutcome, Doc("No claim about any answer.")]
    undelivered: Annotated[
        RunResult | None, Doc("The one completed result whose callback was skipped by a cancel.")
    ] = None


@frozen(kw_only=True)
class NextParams:
    """Asks for the next action, and delivers the result of the turn before."""

    coordination_id: Annotated[str, Doc("Which coordination asks.")]
    exchange: Annotated[Ref, Doc("The latest exchange of the branch.")]
    remaining_turns: Annotated[Count, Doc("How many continuations may still start.")]
    delivery_index: Annotated[Count, Doc("Counts the callbacks from 0.")]
    result: Annotated[RunResult | None, Doc("The turn just completed; absent the first time.")] = (
        None
    )


@frozen(kw_only=True)
class ContinueAction(Open):
    """Run this request as a continuation of the latest exchange."""

    action: Annotated[Literal["continue"], Doc("The choice.")] = "continue"
    request: Annotated[RunParams, Doc("An ordinary request, without `continueFrom`.")]


@frozen(kw_only=True)
class StopAction(Open):
    """End the coordination."""

    action: Annotated[Literal["stop"], Doc("The choice.")] = "stop"


NextResult = Annotated[ContinueAction | StopAction, Tag("action", "NextResult")]
