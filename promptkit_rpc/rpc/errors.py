"""The errors of the wire, and the one place where an exception becomes an answer."""

from math import ceil

from attrs import evolve

from promptkit_rpc.errors import GenerationFailed, Kind, PromptKitError
from promptkit_rpc.rpc.codec import unstructure
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
from promptkit_rpc.rpc.convert.values import location_to
from promptkit_rpc.rpc.faults import Fault
from promptkit_rpc.rpc.protocol.failure import Cause, ErrorData, InvalidField
from promptkit_rpc.secret import Redactor, known

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
            redactor = known()
            return RpcError(
                _CODES.get(raised.kind, REQUEST_FAILED),
                redactor.text(raised.message),
                unstructure(_data(raised, redactor)),
            )
        case _:
            return RpcError(REQUEST_FAILED, "internal error", unstructure(_INTERNAL))


_CODES = {Kind.REQUEST_INVALID: INVALID_PARAMS, Kind.CANCELLED: REQUEST_CANCELLED}
_INTERNAL = ErrorData(kind=Kind.INTERNAL, retryable=False)
_CAUSES = 5


def invalid_params(faults: tuple[Fault, ...]) -> RpcError:
    """The refusal of params, with every fault."""
    invalid = tuple([InvalidField(path=fault.path, message=fault.message) for fault in faults])
    data = ErrorData(kind=Kind.REQUEST_INVALID, retryable=False, invalid=invalid)
    return RpcError(INVALID_PARAMS, "; ".join(map(str, faults)), unstructure(data))


def _data(error: PromptKitError, redactor: Redactor) -> ErrorData:
    data = ErrorData(
        kind=error.kind,
        retryable=error.retryable,
        run_id=error.run_id,
        location=None if error.location is None else location_to(error.location),
        cause=_causes(error, redactor) or None,
    )
    if not isinstance(error, GenerationFailed):
        return data
    wait = error.retry_after
    return evolve(
        data,
        reason=error.reason,
        origin=error.origin,
        http_status=error.http_status,
        retry_after_ms=None if wait is None else ceil(wait * 1000),
        attempts=error.attempts,
    )


def _causes(error: BaseException, redactor: Redactor) -> tuple[Cause, ...]:
    """The chain of causes; of a foreign one only its type is told, its words may hold anything."""
    causes: list[Cause] = []
    while error.__cause__ is not None and len(causes) < _CAUSES:
        error = error.__cause__
        if isinstance(error, PromptKitError):
            causes.append(Cause(kind=error.kind, message=redactor.text(error.message)))
        else:
            causes.append(Cause(kind=Kind.INTERNAL, message=type(error).__name__))
    return tuple(causes)
