"""The errors of the wire, and the one place where an exception becomes an answer."""

import errno
from typing import TYPE_CHECKING

from promptkit_rpc.errors import Kind, PromptKitError
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
    UnusableAnswer,
)
from promptkit_rpc.secret import known

if TYPE_CHECKING:
    from promptkit_rpc.rpc.faults import Fault

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
    "UnusableAnswer",
    "invalid_params",
    "to_error",
]


class ConnectionLost(Exception):  # noqa: N818 - named for what happened, as the core's errors are
    """The other side went away before it answered."""


def to_error(raised: Exception) -> RpcError:
    """The answer for a request that ended with this exception; tells nothing of its inside."""
    match raised:
        case RpcError():
            return raised
        case ConnectionLost():
            return RpcError(REQUEST_CANCELLED, str(raised))
        case PromptKitError():
            from promptkit_rpc.rpc.convert.failure import failed  # noqa: PLC0415 - few requests do

            redactor = known()
            return RpcError(
                _CODES.get(raised.kind, REQUEST_FAILED),
                redactor.text(raised.message),
                failed(raised, redactor),
            )
        case OSError(errno=errno.EMFILE | errno.ENFILE):
            return RpcError(REQUEST_FAILED, _NO_MORE_FILES, {**_INTERNAL, "retryable": True})
        case _:
            return RpcError(REQUEST_FAILED, "internal error", dict(_INTERNAL))


_CODES = {Kind.REQUEST_INVALID: INVALID_PARAMS, Kind.CANCELLED: REQUEST_CANCELLED}
_NO_MORE_FILES = (
    "the server has as many files and connections open as it may; give backends a `capacity`, or"
    " start it with a higher limit (ulimit -n)"
)
_INTERNAL = {"kind": Kind.INTERNAL.value, "retryable": False}


def invalid_params(faults: "tuple[Fault, ...]") -> RpcError:
    """The refusal of params, with every fault."""
    from promptkit_rpc.rpc.convert.failure import refused  # noqa: PLC0415 - few requests are

    return RpcError(INVALID_PARAMS, "; ".join(map(str, faults)), refused(faults))
