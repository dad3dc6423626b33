"""What an error answer carries beside its message; loaded with the first one."""

from math import ceil
from typing import Any

from attrs import evolve

from promptkit_rpc.errors import GenerationFailed, Kind, PromptKitError
from promptkit_rpc.rpc.codec import unstructure
from promptkit_rpc.rpc.convert.values import location_to
from promptkit_rpc.rpc.faults import Fault
from promptkit_rpc.rpc.protocol.base import MAX_INTEGER
from promptkit_rpc.rpc.protocol.failure import Cause, ErrorData, InvalidField
from promptkit_rpc.secret import Redactor

_CAUSES = 5


def refused(faults: tuple[Fault, ...]) -> dict[str, Any]:
    """The data of a refusal of params."""
    invalid = tuple([InvalidField(path=fault.path, message=fault.message) for fault in faults])
    return unstructure(ErrorData(kind=Kind.REQUEST_INVALID, retryable=False, invalid=invalid))


def failed(error: PromptKitError, redactor: Redactor) -> dict[str, Any]:
    """The data of any other failure."""
    return unstructure(_data(error, redactor))


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
        retry_after_ms=None if wait is None else ceil(min(wait * 1000, MAX_INTEGER)),
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
