"""What is asked for: the options of a run, and the actions of a branch."""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack, cast

from promptkit_client._codec import camel, encode
from promptkit_client._watching import Watched
from promptkit_client.handles import Group
from promptkit_client.types import (
    EngineOpened,
    ExchangeDetails,
    Message,
    NextParams,
    OutputContract,
    Parameters,
    Ref,
    RunResult,
)

Exchange = str | Ref | RunResult | ExchangeDetails
"""A held exchange, named by the run it came from or by what that run gave."""

Engine = str | EngineOpened
Turn = NextParams
"""What a callback gets: the latest exchange, the turns that remain, and the result just made."""


class RunOptions(TypedDict, total=False):
    """How a prompt is run. What is left out is the prompt's or the profile's own."""

    variables: Mapping[str, Any]
    profile: str
    parameters: Parameters | Mapping[str, Any]
    output: OutputContract | Mapping[str, Any]
    session_id: str
    messages: Sequence[Message | Mapping[str, Any]]
    credential: str
    groups: Sequence[Group | str]
    engine: Engine
    timeout: float


class WatchedRunOptions(RunOptions, Watched, total=False):
    """Both."""


class Continue:
    """The action that asks for another turn: a prompt and its options."""

    def __init__(self, prompt: str, **options: Unpack[RunOptions]) -> None:
        self.prompt = prompt
        self.options = options

    def __repr__(self) -> str:
        return f"Continue({self.prompt!r}, {', '.join(self.options)})"


@dataclass(frozen=True)
class Stop:
    """The action that ends a branch."""


STOP = Stop()
Action = Continue | Stop
NextAction = Callable[[Turn], Awaitable[Action]]


def run_params(prompt: str, options: RunOptions) -> dict[str, Any]:
    """The wire's params of a request."""
    if unknown := set(options) - RunOptions.__annotations__.keys():
        raise TypeError(f"a run has no option {', '.join(sorted(unknown))}")
    given: dict[str, Any] = dict(options)
    if "engine" in given:
        given["engine_id"] = engine_id(given.pop("engine"))
    if "groups" in given:
        given["groups"] = group_ids(given["groups"])
    if "timeout" in given:
        given["timeout_ms"] = milliseconds(given.pop("timeout"))
    params = {camel(name): encode(value) for name, value in given.items() if value is not None}
    return {"promptId": prompt, **params}


def split(options: WatchedRunOptions) -> tuple[RunOptions, Watched]:
    """The two kinds of options apart."""
    watched = {name: value for name, value in options.items() if name in Watched.__annotations__}
    asked = {name: value for name, value in options.items() if name not in watched}
    return cast("RunOptions", asked), cast("Watched", watched)


def action_params(action: object) -> dict[str, Any]:
    """The wire's form of an action.

    Raises:
        TypeError: it is none.
    """
    match action:
        case Continue():
            return {"action": "continue", "request": run_params(action.prompt, action.options)}
        case Stop():
            return {"action": "stop"}
        case _:
            raise TypeError(f"a callback gives Continue(…) or STOP, not {action!r}")


def run_id(exchange: Exchange) -> str:
    """The run an exchange came from."""
    return exchange if isinstance(exchange, str) else exchange.run_id


def engine_id(engine: Engine | None) -> str | None:
    """The id of an engine; None is the workspace's own."""
    return engine.engine_id if isinstance(engine, EngineOpened) else engine


def group_ids(groups: Sequence[Group | str]) -> list[str]:
    """The ids of groups."""
    return [group if isinstance(group, str) else group.group_id for group in groups]


def milliseconds(seconds: float) -> int:
    """Whole milliseconds, at least as long."""
    return math.ceil(seconds * 1000)
