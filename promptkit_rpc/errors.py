"""The typed errors of the core, each with a stable kind.

Knows nothing of JSON-RPC codes; `rpc/errors.py` alone writes those.
"""

from enum import StrEnum
from typing import Any, ClassVar

from attrs import frozen


class Kind(StrEnum):
    """Stable names of what went wrong, spelled as on the wire."""

    CONFIG_INVALID = "configInvalid"
    ENGINE_NOT_FOUND = "engineNotFound"
    PROMPT_NOT_FOUND = "promptNotFound"
    PROMPT_INVALID = "promptInvalid"
    PROFILE_NOT_FOUND = "profileNotFound"
    PROFILE_MISSING = "profileMissing"
    BACKEND_NOT_FOUND = "backendNotFound"
    TEMPLATE_FAILED = "templateFailed"
    INPUT_FAILED = "inputFailed"
    CONTRACT_INVALID = "contractInvalid"
    CREDENTIAL_MISSING = "credentialMissing"
    EXCHANGE_NOT_FOUND = "exchangeNotFound"
    GROUP_NOT_FOUND = "groupNotFound"
    PREPARED_NOT_FOUND = "preparedNotFound"
    PREPARED_CLAIMED = "preparedClaimed"
    GENERATION_FAILED = "generationFailed"
    ADMISSION_REJECTED = "admissionRejected"
    DEADLINE_EXCEEDED = "deadlineExceeded"
    CALLBACK_INVALID = "callbackInvalid"
    REQUEST_INVALID = "requestInvalid"
    CANCELLED = "cancelled"
    INTERNAL = "internal"


class Reason(StrEnum):
    """Why a generation failed."""

    RATE_LIMITED = "rateLimited"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    AUTHENTICATION = "authentication"
    QUOTA = "quota"
    BAD_REQUEST = "badRequest"
    CONTEXT_LENGTH = "contextLength"
    CONTENT_FILTER = "contentFilter"
    MALFORMED_RESPONSE = "malformedResponse"
    REDIRECT = "redirect"
    SERVER = "server"


TRANSIENT = frozenset(
    {Reason.RATE_LIMITED, Reason.OVERLOADED, Reason.TIMEOUT, Reason.CONNECTION, Reason.SERVER}
)
"""Reasons that may pass, so that another attempt is worth making."""


class Origin(StrEnum):
    """Who found the fault."""

    PROVIDER = "provider"
    PROMPTKIT = "promptkit"


@frozen
class Location:
    """A place in a file; line and column count from 1, the file is relative to its workspace."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)


class PromptKitError(Exception):
    """Base of every failure the core reports; the message says what, where and what to do."""

    kind: ClassVar[Kind] = Kind.INTERNAL
    retryable: bool = False

    def __init__(
        self, message: str, *, location: Location | None = None, run_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.run_id = run_id

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as it is, whatever its class takes to be made."""
        return _remade, (type(self), self.args), self.__dict__


def _remade(kind: type[PromptKitError], args: tuple[Any, ...]) -> PromptKitError:
    return kind.__new__(kind, *args)


class ConfigInvalid(PromptKitError):  # noqa: N818 - named after its kind, like all below
    """`promptkit.yaml` or a value it names cannot be used."""

    kind = Kind.CONFIG_INVALID


class EngineNotFound(PromptKitError):  # noqa: N818
    """No open engine has this id."""

    kind = Kind.ENGINE_NOT_FOUND


class PromptNotFound(PromptKitError):  # noqa: N818
    """No prompt has this id, or the id leads out of the prompts folder."""

    kind = Kind.PROMPT_NOT_FOUND


class PromptInvalid(PromptKitError):  # noqa: N818
    """The prompt's file has problems; the first is the message."""

    kind = Kind.PROMPT_INVALID


class ProfileNotFound(PromptKitError):  # noqa: N818
    """No profile has this name."""

    kind = Kind.PROFILE_NOT_FOUND


class ProfileMissing(PromptKitError):  # noqa: N818
    """Neither the request nor the prompt names a profile."""

    kind = Kind.PROFILE_MISSING


class BackendNotFound(PromptKitError):  # noqa: N818
    """No backend has this name."""

    kind = Kind.BACKEND_NOT_FOUND


class TemplateFailed(PromptKitError):  # noqa: N818
    """A template could not be rendered."""

    kind = Kind.TEMPLATE_FAILED


class InputFailed(PromptKitError):  # noqa: N818
    """An input file cannot be read or lies outside the workspace."""

    kind = Kind.INPUT_FAILED


class ContractInvalid(PromptKitError):  # noqa: N818
    """An output contract's schema does not compile or refers outside itself."""

    kind = Kind.CONTRACT_INVALID


class CredentialMissing(PromptKitError):  # noqa: N818
    """The place a credential comes from holds none."""

    kind = Kind.CREDENTIAL_MISSING


class ExchangeNotFound(PromptKitError):  # noqa: N818
    """No held exchange came from this run."""

    kind = Kind.EXCHANGE_NOT_FOUND


class GroupNotFound(PromptKitError):  # noqa: N818
    """No group has this id."""

    kind = Kind.GROUP_NOT_FOUND


class PreparedNotFound(PromptKitError):  # noqa: N818
    """No prepared execution has this id."""

    kind = Kind.PREPARED_NOT_FOUND


class PreparedClaimed(PromptKitError):  # noqa: N818
    """The prepared execution was executed or discarded before."""

    kind = Kind.PREPARED_CLAIMED


class AdmissionRejected(PromptKitError):  # noqa: N818
    """The backend's queue is full."""

    kind = Kind.ADMISSION_REJECTED
    retryable = True


class DeadlineExceeded(PromptKitError):  # noqa: N818
    """The run's own time limit passed before it completed."""

    kind = Kind.DEADLINE_EXCEEDED
    retryable = True


class CallbackInvalid(PromptKitError):  # noqa: N818
    """A callback returned no usable action."""

    kind = Kind.CALLBACK_INVALID


class RequestInvalid(PromptKitError):  # noqa: N818
    """A value of the request cannot be used whatever the workspace says."""

    kind = Kind.REQUEST_INVALID


class Cancelled(PromptKitError):  # noqa: N818
    """The caller cancelled before a result was complete."""

    kind = Kind.CANCELLED


class GenerationFailed(PromptKitError):  # noqa: N818
    """A generation call gave no answer.

    `retry_after` is in seconds, as the provider asked; `billed` says whether the call may have
    cost tokens; `attempts` counts the calls of the whole run and is set when the run ends.
    """

    kind = Kind.GENERATION_FAILED

    def __init__(
        self,
        message: str,
        *,
        reason: Reason,
        origin: Origin = Origin.PROVIDER,
        http_status: int | None = None,
        retry_after: float | None = None,
        retryable: bool | None = None,
        billed: bool = True,
        attempts: int | None = None,
        run_id: str | None = None,
        location: Location | None = None,
    ) -> None:
        super().__init__(message, location=location, run_id=run_id)
        self.reason = reason
        self.origin = origin
        self.http_status = http_status
        self.retry_after = retry_after
        self.retryable = reason in TRANSIENT if retryable is None else retryable
        self.billed = billed
        self.attempts = attempts
