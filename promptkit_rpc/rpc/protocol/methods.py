"""The one table of methods: who asks, what is sent, what is answered."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from attrs import frozen

from promptkit_rpc.rpc.protocol import (
    coordination,
    engine,
    exchange,
    group,
    host,
    observation,
    prepared,
    progress,
    resources,
    run,
    status,
)
from promptkit_rpc.rpc.protocol.base import Empty


class Direction(StrEnum):
    """Who sends it."""

    CLIENT = "clientToServer"
    SERVER = "serverToClient"


class MethodKind(StrEnum):
    """Whether it is answered."""

    REQUEST = "request"
    NOTIFICATION = "notification"


@frozen(kw_only=True)
class Method:
    """A method; `result` None is null, and a notification has none."""

    name: str
    direction: Direction
    kind: MethodKind
    params: Any
    result: Any = None
    doc: str


def _asked(name: str, params: Any, result: Any, doc: str) -> Method:
    return Method(
        name=name,
        direction=Direction.CLIENT,
        kind=MethodKind.REQUEST,
        params=params,
        result=result,
        doc=doc,
    )


def _asks(name: str, params: Any, result: Any, doc: str) -> Method:
    return Method(
        name=name,
        direction=Direction.SERVER,
        kind=MethodKind.REQUEST,
        params=params,
        result=result,
        doc=doc,
    )


def _tells(name: str, direction: Direction, params: Any, doc: str) -> Method:
    return Method(
        name=name, direction=direction, kind=MethodKind.NOTIFICATION, params=params, doc=doc
    )


_TABLE = (
    _asked(
        "promptkit/run",
        run.RunParams,
        run.RunResult,
        "Prepares and executes one request; with `continueFrom` it is a continuation.",
    ),
    _asked(
        "promptkit/prepare",
        run.RunParams,
        prepared.PrepareResult,
        "Renders and resolves a request without sending it.",
    ),
    _asked(
        "promptkit/coordinate",
        coordination.CoordinateParams,
        coordination.CoordinateResult,
        "Drives one branch, asking the client for each next action.",
    ),
    _asked(
        "promptkit/prepared/details",
        prepared.PreparedParams,
        prepared.PreparedDetails,
        "Shows what a prepared execution will send.",
    ),
    _asked(
        "promptkit/prepared/execute",
        prepared.ExecuteParams,
        run.RunResult,
        "Sends it, once.",
    ),
    _asked(
        "promptkit/prepared/discard",
        prepared.PreparedParams,
        None,
        "Gives it up unsent.",
    ),
    _asked(
        "promptkit/exchange/details",
        exchange.ExchangeDetailsParams,
        exchange.ExchangeDetails,
        "Reads a held exchange, whole or page by page.",
    ),
    _asked(
        "promptkit/exchange/release",
        exchange.ExchangeParams,
        None,
        "Lets go of a held exchange; others built on it stay.",
    ),
    _asked("promptkit/group/create", Empty, group.GroupCreated, "Makes an empty group."),
    _asked(
        "promptkit/group/snapshot",
        group.GroupParams,
        group.GroupSnapshot,
        "Shows a group's members and sums as they are now.",
    ),
    _asked("promptkit/group/release", group.GroupParams, None, "Lets go of a group."),
    _asked(
        "promptkit/engine/open",
        engine.EngineOpenParams,
        engine.EngineOpened,
        "Opens another configuration; faults in it are listed, not raised.",
    ),
    _asked(
        "promptkit/engine/close",
        engine.EngineParams,
        None,
        "Closes an engine; its runs in flight finish, its exchanges stay.",
    ),
    _asked(
        "promptkit/engine/reload",
        engine.EngineParams,
        engine.EngineReloaded,
        "Reads the definition files again where they changed.",
    ),
    _asked(
        "promptkit/prompt/list", engine.EngineParams, resources.PromptList, "Lists the prompts."
    ),
    _asked(
        "promptkit/prompt/inspect",
        resources.PromptParams,
        resources.PromptInspection,
        "Shows a prompt as authored.",
    ),
    _asked(
        "promptkit/profile/list", engine.EngineParams, resources.ProfileList, "Lists the profiles."
    ),
    _asked(
        "promptkit/profile/inspect",
        resources.ProfileParams,
        resources.ProfileInspection,
        "Shows a profile.",
    ),
    _asked(
        "promptkit/backend/list", engine.EngineParams, resources.BackendList, "Lists the backends."
    ),
    _asked(
        "promptkit/backend/inspect",
        resources.BackendParams,
        resources.BackendInspection,
        "Shows a backend; of a key only where it would come from.",
    ),
    _asked(
        "promptkit/session/status",
        Empty,
        status.SessionStatus,
        "Counts and bytes held, and how busy each backend is.",
    ),
    _tells(
        "$/progress",
        Direction.CLIENT,
        progress.ClientProgress,
        "A piece of text of an open `promptkit/backend/generate`.",
    ),
    _asks(
        "promptkit/coordinator/next",
        coordination.NextParams,
        coordination.NextResult,
        "Asks for the next action of a branch and delivers the result before it.",
    ),
    _asks(
        "promptkit/backend/generate",
        host.GenerateParams,
        host.GenerateResult,
        "Asks the host's own model, for a backend of kind `client`.",
    ),
    _asks(
        "promptkit/credential/get",
        host.CredentialParams,
        host.CredentialResult,
        "Asks for a key that the client keeps.",
    ),
    _tells(
        "promptkit/observation",
        Direction.SERVER,
        observation.Observation,
        "One event of a run that asked with `observe`.",
    ),
    _tells(
        "$/progress",
        Direction.SERVER,
        progress.ServerProgress,
        "Progress for people, or streamed text.",
    ),
)

METHODS: tuple[Method, ...] = _TABLE
"""Every method of ours, in the order of the reference."""

BASE_METHODS: Mapping[str, str] = MappingProxyType(
    {
        "initialize": "Opens the session; ours is in `initializationOptions.promptkit`.",
        "initialized": "The client is ready.",
        "shutdown": "No further request is served.",
        "exit": "Ends the process.",
        "$/cancelRequest": "Cancels a request by id, in either direction.",
        "window/workDoneProgress/cancel": "Cancels a request by its `workDoneToken`.",
        "$/setTrace": "Accepted.",
        "window/logMessage": "A line for the client's log.",
    }
)
"""Methods of LSP 3.17 that are served with the meaning they have there."""
