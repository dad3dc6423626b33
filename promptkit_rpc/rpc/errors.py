"""The errors of the wire, and the one place where an exception becomes an answer."""

from promptkit_rpc.errors import Cancelled
from promptkit_rpc.rpc.codes import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    REQUEST_FAILED,
    SERVER_NOT_INITIALIZED,
    RpcError,
)

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "REQUEST_CANCELLED",
    "REQUEST_FAILED",
    "SERVER_NOT_INITIALIZED",
    "ConnectionLost",
    "RpcError",
    "to_error",
]


class ConnectionLost(Exception):  # noqa: N818 - named for what happened, as the core's errors are
    """The other side went away before it answered."""


def to_error(raised: Exception) -> RpcError:
    """The answer for a request that ended with this exception; tells nothing of its inside."""
    match raised:
        case RpcError():
            return raised
        case Cancelled():
            data = {"kind": Cancelled.kind.value, "retryable": False}
            return RpcError(REQUEST_CANCELLED, raised.message, data)
        case ConnectionLost():
            return RpcError(REQUEST_CANCELLED, str(raised))
        case _:
            data = {"kind": "internal", "retryable": False}
            return RpcError(INTERNAL_ERROR, "internal error", data)
