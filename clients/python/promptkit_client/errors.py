"""What can go wrong, as exceptions. `kind` tells the failures of the protocol apart."""

from typing import Any

from promptkit_client._codec import decode
from promptkit_client.types import ErrorData, Reason

INTERNAL_ERROR = -32603
METHOD_NOT_FOUND = -32601
REQUEST_CANCELLED = -32800
REQUEST_FAILED = -32803


class PromptKitError(Exception):
    """An error that the server answered.

    `kind` is the protocol's word, or `protocol` for an error of the connection's own; `data` is
    whatever came along, `details` the same as a value where it is the server's own.
    """

    def __init__(self, message: str, *, code: int = REQUEST_FAILED, data: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.data: Any = data
        self.details = _details(data)

    @property
    def kind(self) -> str:
        """What went wrong; stable."""
        return "protocol" if self.details is None else self.details.kind

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.details is not None and self.details.retryable

    @property
    def run_id(self) -> str | None:
        """The run that failed, if it was one."""
        return None if self.details is None else self.details.run_id


class NotFound(PromptKitError):  # noqa: N818 - what happened, as in the protocol
    """There is no such prompt, profile, backend, exchange, group, prepared execution or engine."""


class RequestInvalid(PromptKitError):  # noqa: N818
    """The request itself cannot be used; `details.invalid` names the fields."""


class DefinitionInvalid(PromptKitError):  # noqa: N818
    """A file of the workspace is at fault; `details.location` says where."""


class CredentialMissing(PromptKitError):  # noqa: N818
    """The place that a key should come from holds none."""


class PreparedClaimed(PromptKitError):  # noqa: N818
    """The prepared execution was executed or discarded before."""


class AdmissionRejected(PromptKitError):  # noqa: N818
    """The backend's queue is full."""


class DeadlineExceeded(PromptKitError):  # noqa: N818
    """The run was not complete within its `timeout`."""


class CallbackInvalid(PromptKitError):  # noqa: N818
    """The callback of a coordination gave no action, or not in time."""


class GenerationFailed(PromptKitError):  # noqa: N818
    """The model gave no answer."""

    @property
    def reason(self) -> Reason | None:
        """Why."""
        return None if self.details is None else self.details.reason

    @property
    def http_status(self) -> int | None:
        """The provider's status, if it answered."""
        return None if self.details is None else self.details.http_status

    @property
    def retry_after(self) -> float | None:
        """Seconds that the provider asked to wait."""
        wait = None if self.details is None else self.details.retry_after_ms
        return None if wait is None else wait / 1000


class CallbackError(PromptKitError):
    """To be raised in a callback: its code, message and data reach whoever started it."""


class GenerateError(PromptKitError):
    """To be raised in a `generate` callback: the model failed.

    `reason` decides whether it is tried again, `retryable` instead of it; `retry_after` is in
    seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: Reason | None = None,
        retryable: bool | None = None,
        http_status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        given = {
            "reason": reason,
            "retryable": retryable,
            "httpStatus": http_status,
            "retryAfterMs": None if retry_after is None else round(retry_after * 1000),
        }
        super().__init__(message, data={k: v for k, v in given.items() if v is not None})


class ConnectionLost(ConnectionError):  # noqa: N818
    """The server has ended, or says what is no protocol; every request fails with it."""


class LateResult(Exception):  # noqa: N818 - what came
    """The cause of a `CancelledError` for whose request the server had a result all the same.

    For a coordination it is the `CoordinateResult` with what was undelivered; for a run the
    `RunResult` that was complete before the cancel arrived.
    """

    def __init__(self, result: Any) -> None:
        super().__init__("the server had a result all the same")
        self.result = result


def late_result(error: BaseException | None) -> Any:
    """What came of a request although its task was cancelled or timed out; None if nothing."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, LateResult):
            return error.result
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


_BY_KIND: dict[str, type[PromptKitError]] = {
    "promptNotFound": NotFound,
    "profileNotFound": NotFound,
    "backendNotFound": NotFound,
    "exchangeNotFound": NotFound,
    "groupNotFound": NotFound,
    "preparedNotFound": NotFound,
    "engineNotFound": NotFound,
    "profileMissing": RequestInvalid,
    "requestInvalid": RequestInvalid,
    "contractInvalid": RequestInvalid,
    "configInvalid": DefinitionInvalid,
    "promptInvalid": DefinitionInvalid,
    "templateFailed": DefinitionInvalid,
    "inputFailed": DefinitionInvalid,
    "credentialMissing": CredentialMissing,
    "preparedClaimed": PreparedClaimed,
    "admissionRejected": AdmissionRejected,
    "deadlineExceeded": DeadlineExceeded,
    "callbackInvalid": CallbackInvalid,
    "generationFailed": GenerationFailed,
}


def from_wire(error: dict[str, Any]) -> PromptKitError:
    """The exception of an answered error."""
    code, message, data = error.get("code"), error.get("message"), error.get("data")
    details = _details(data)
    cls = PromptKitError if details is None else _BY_KIND.get(details.kind, PromptKitError)
    return cls(str(message), code=code if isinstance(code, int) else INTERNAL_ERROR, data=data)


def to_wire(error: BaseException) -> dict[str, Any]:
    """The error that answers the server for what a callback raised."""
    if not isinstance(error, PromptKitError):
        return {"code": REQUEST_FAILED, "message": f"{type(error).__name__}: {error}"}
    wire: dict[str, Any] = {"code": error.code, "message": error.message}
    return wire if error.data is None else {**wire, "data": error.data}


def _details(data: Any) -> ErrorData | None:
    """The data as a value, where it is the server's; a callback's may be anything."""
    try:
        return decode(ErrorData, data)
    except ValueError:
        return None
