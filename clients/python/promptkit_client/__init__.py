"""A typed asyncio client for PromptKit RPC. Standard library only."""

from promptkit_client._host import Credential, Generate
from promptkit_client._watching import Progress, Watched
from promptkit_client.client import Client
from promptkit_client.connect import connect, find_server
from promptkit_client.errors import (
    AdmissionRejected,
    CallbackError,
    CallbackInvalid,
    ConnectionLost,
    CredentialMissing,
    DeadlineExceeded,
    DefinitionInvalid,
    GenerateError,
    GenerationFailed,
    LateResult,
    NotFound,
    PreparedClaimed,
    PromptKitError,
    RequestInvalid,
    late_result,
)
from promptkit_client.handles import Group, Prepared
from promptkit_client.requests import (
    STOP,
    Action,
    Continue,
    Engine,
    Exchange,
    NextAction,
    RunOptions,
    Stop,
    Turn,
    WatchedRunOptions,
)
from promptkit_client.watch import Running, watch

__all__ = [
    "STOP",
    "Action",
    "AdmissionRejected",
    "CallbackError",
    "CallbackInvalid",
    "Client",
    "ConnectionLost",
    "Continue",
    "Credential",
    "CredentialMissing",
    "DeadlineExceeded",
    "DefinitionInvalid",
    "Engine",
    "Exchange",
    "Generate",
    "GenerateError",
    "GenerationFailed",
    "Group",
    "LateResult",
    "NextAction",
    "NotFound",
    "Prepared",
    "PreparedClaimed",
    "Progress",
    "PromptKitError",
    "RequestInvalid",
    "RunOptions",
    "Running",
    "Stop",
    "Turn",
    "Watched",
    "WatchedRunOptions",
    "connect",
    "find_server",
    "late_result",
    "watch",
]
