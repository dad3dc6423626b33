"""What a provider's refusal means: from status and error body to one reason. Pure; knows no HTTP.

RFC 9110 for statuses; the names in bodies are those of OpenAI, Anthropic and servers like them.
"""

from http import HTTPStatus
from typing import Any, cast

from promptkit_rpc.errors import GenerationFailed, Reason

SITE_OVERLOADED = 529
"""Not in any standard; several providers answer it when they have too much to do."""

_QUOTA = frozenset(
    {
        "insufficient_quota",
        "insufficient_user_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
    }
)
_CONTENT_FILTER = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation"}
)
_CONTEXT_LENGTH = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "request_too_large"}
)
_CONTEXT_PHRASES = (
    "context length",
    "context size",
    "context window",
    "context limit",
    "prompt is too long",
)
_QUOTA_PHRASES = ("credit balance is too low",)
_STATUS_OF = {
    "invalid_request_error": HTTPStatus.BAD_REQUEST,
    "authentication_error": HTTPStatus.UNAUTHORIZED,
    "invalid_api_key": HTTPStatus.UNAUTHORIZED,
    "billing_error": HTTPStatus.PAYMENT_REQUIRED,
    "permission_error": HTTPStatus.FORBIDDEN,
    "not_found_error": HTTPStatus.NOT_FOUND,
    "request_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "context_length_exceeded": HTTPStatus.BAD_REQUEST,
    "insufficient_quota": HTTPStatus.TOO_MANY_REQUESTS,
    "rate_limit_error": HTTPStatus.TOO_MANY_REQUESTS,
    "rate_limit_exceeded": HTTPStatus.TOO_MANY_REQUESTS,
    "api_error": HTTPStatus.INTERNAL_SERVER_ERROR,
    "server_error": HTTPStatus.INTERNAL_SERVER_ERROR,
    "timeout_error": HTTPStatus.GATEWAY_TIMEOUT,
    "overloaded_error": SITE_OVERLOADED,
}
_REASON_OF: dict[int, Reason] = {
    HTTPStatus.UNAUTHORIZED: Reason.AUTHENTICATION,
    HTTPStatus.PAYMENT_REQUIRED: Reason.QUOTA,
    HTTPStatus.FORBIDDEN: Reason.AUTHENTICATION,
    # A proxy's on the way.
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED: Reason.AUTHENTICATION,
    HTTPStatus.REQUEST_TIMEOUT: Reason.TIMEOUT,
    # Another request is in the way at the provider; that passes like a fault of its own.
    HTTPStatus.CONFLICT: Reason.SERVER,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Reason.CONTEXT_LENGTH,
    HTTPStatus.TOO_MANY_REQUESTS: Reason.RATE_LIMITED,
    HTTPStatus.SERVICE_UNAVAILABLE: Reason.OVERLOADED,
    HTTPStatus.GATEWAY_TIMEOUT: Reason.TIMEOUT,
    SITE_OVERLOADED: Reason.OVERLOADED,
}
_FIRST_ERROR, _FIRST_SERVER_ERROR, _PAST_THE_LAST = 400, 500, 600


def classify(
    status: int, body: Any | None, retry_after: float | None, message: str
) -> GenerationFailed:
    """The error for a refusal; `body` is decoded JSON or None, `retry_after` in seconds.

    With a status below 300 the one that the body names counts instead. `message` is kept as it is.
    """
    counted = status
    if status < HTTPStatus.MULTIPLE_CHOICES:
        counted = named_status(body) or status
    reason = _reason(counted, error_codes(body), (error_message(body) or "").lower())
    return GenerationFailed(
        message,
        reason=reason,
        http_status=counted,
        retry_after=retry_after,
        # Below 300 the call went through, so it may have been paid for.
        billed=counted >= _FIRST_SERVER_ERROR or counted < HTTPStatus.MULTIPLE_CHOICES,
    )


def named_status(body: Any | None) -> int | None:
    """The status that an error body names, by number or by the type of its error; else None."""
    for value in _fields(body, "status", "code", "status_code"):
        number = _number(value)
        if number is not None and _FIRST_ERROR <= number < _PAST_THE_LAST:
            return number
    for code in error_codes(body):
        if code in _STATUS_OF:
            return int(_STATUS_OF[code])
    return None


def error_codes(body: Any | None) -> tuple[str, ...]:
    """The machine-readable names in an error body, in lower case."""
    return tuple(value.lower() for value in _fields(body, "code", "type") if isinstance(value, str))


def error_message(body: Any | None) -> str | None:
    """The words for people in an error body, if it has any."""
    error = _error(body)
    if isinstance(error, str):
        return error
    return next((v for v in _fields(body, "message", "detail") if isinstance(v, str)), None)


def _reason(status: int, codes: tuple[str, ...], words: str) -> Reason:
    by_code = _by_code(codes)
    if by_code is not None:
        return by_code
    refused = _FIRST_ERROR <= status < _FIRST_SERVER_ERROR
    if refused and status != HTTPStatus.TOO_MANY_REQUESTS:
        if any(phrase in words for phrase in _QUOTA_PHRASES):
            return Reason.QUOTA
        if any(phrase in words for phrase in _CONTEXT_PHRASES):
            return Reason.CONTEXT_LENGTH
    return _by_status(status)


def _by_code(codes: tuple[str, ...]) -> Reason | None:
    for code in codes:
        if code in _QUOTA:
            return Reason.QUOTA
        if code in _CONTENT_FILTER:
            return Reason.CONTENT_FILTER
        if code in _CONTEXT_LENGTH:
            return Reason.CONTEXT_LENGTH
        if code == "overloaded_error":
            return Reason.OVERLOADED
    return None


def _by_status(status: int) -> Reason:
    if HTTPStatus.MULTIPLE_CHOICES <= status < _FIRST_ERROR:
        return Reason.REDIRECT
    rest = Reason.BAD_REQUEST if _FIRST_ERROR <= status < _FIRST_SERVER_ERROR else Reason.SERVER
    return _REASON_OF.get(status, rest)


def _error(body: Any | None) -> Any | None:
    if not isinstance(body, dict):
        return None
    members = cast("dict[str, Any]", body)
    return members.get("error", members)


def _fields(body: Any | None, *names: str) -> list[Any]:
    error = _error(body)
    if not isinstance(error, dict):
        return []
    members = cast("dict[str, Any]", error)
    return [members[name] for name in names if members.get(name) is not None]


def _number(value: object) -> int | None:
    if type(value) is int:
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == len("429"):
        return int(value)
    return None
