"""From a status and an error body to one reason, whether it may pass, and whether it cost."""

from typing import Any

import pytest

from promptkit_rpc.backends.classify import classify, error_message, named_status
from promptkit_rpc.errors import Reason

R = Reason


def error(**fields: Any) -> dict[str, Any]:
    return {"error": fields}


@pytest.mark.parametrize(
    ("status", "body", "reason", "retryable", "billed"),
    [
        (302, None, R.REDIRECT, False, False),
        (400, None, R.BAD_REQUEST, False, False),
        (401, None, R.AUTHENTICATION, False, False),
        (402, None, R.QUOTA, False, False),
        (403, None, R.AUTHENTICATION, False, False),
        (404, None, R.BAD_REQUEST, False, False),
        (408, None, R.TIMEOUT, True, False),
        (409, None, R.SERVER, True, False),
        (413, None, R.CONTEXT_LENGTH, False, False),
        (422, None, R.BAD_REQUEST, False, False),
        (429, None, R.RATE_LIMITED, True, False),
        (500, None, R.SERVER, True, True),
        (502, "<html>", R.SERVER, True, True),
        (503, None, R.OVERLOADED, True, True),
        (504, None, R.TIMEOUT, True, True),
        (529, None, R.OVERLOADED, True, True),
        (599, [], R.SERVER, True, True),
        (429, error(type="insufficient_quota"), R.QUOTA, False, False),
        (429, error(type="x", code="Insufficient_Quota"), R.QUOTA, False, False),
        (429, error(message="the context length is 5"), R.RATE_LIMITED, True, False),
        (400, error(message="Your credit balance is too low to go on"), R.QUOTA, False, False),
        (400, error(code="context_length_exceeded"), R.CONTEXT_LENGTH, False, False),
        (
            400,
            error(code=400, type="exceed_context_size_error", message="too long"),
            R.CONTEXT_LENGTH,
            False,
            False,
        ),
        (400, error(message="Prompt is too long: 9 > 8"), R.CONTEXT_LENGTH, False, False),
        (400, error(message="maximum context length is 8"), R.CONTEXT_LENGTH, False, False),
        (500, error(code="context_length_exceeded"), R.CONTEXT_LENGTH, False, True),
        (400, error(code="content_filter"), R.CONTENT_FILTER, False, False),
        (400, error(type="overloaded_error"), R.OVERLOADED, True, False),
        (400, error(message=5, code=None, type=[]), R.BAD_REQUEST, False, False),
    ],
)
def test_a_refusal_has_one_meaning(
    status: int, body: Any, reason: Reason, *, retryable: bool, billed: bool
) -> None:
    """RET-1, T-06."""
    failed = classify(status, body, 1.5, "what was said")
    assert (failed.reason, failed.retryable, failed.billed) == (reason, retryable, billed)
    assert (failed.http_status, failed.retry_after) == (status, 1.5)
    assert failed.message == "what was said"


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"type": "error", "error": {"type": "overloaded_error"}}, 529, R.OVERLOADED),
        (error(code=502), 502, R.SERVER),
        (error(code="429"), 429, R.RATE_LIMITED),
        (error(type="rate_limit_error"), 429, R.RATE_LIMITED),
        (error(type="insufficient_quota"), 429, R.QUOTA),
        (error(type="authentication_error"), 401, R.AUTHENTICATION),
        ({"status": 503, "message": "down"}, 503, R.OVERLOADED),
        (error(code=200), 200, R.SERVER),
        (error(code=True), 200, R.SERVER),
        (error(code=10**400), 200, R.SERVER),
        (error(code="١٢٣"), 200, R.SERVER),
        ({"error": "it broke"}, 200, R.SERVER),
        (None, 200, R.SERVER),
    ],
)
def test_an_error_under_a_success_status_has_the_status_it_names(
    body: Any, status: int, reason: Reason
) -> None:
    """T-04. The call went through, so it may have been paid for unless it was turned away."""
    failed = classify(200, body, None, "m")
    assert (failed.http_status, failed.reason) == (status, reason)
    assert failed.billed == (status == 200 or status >= 500)
    assert (named_status(body) or 200) == status


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (error(message="a"), "a"),
        ({"error": "b"}, "b"),
        ({"message": "c"}, "c"),
        ({"detail": "d"}, "d"),
        (error(message=5), None),
        ({"error": None}, None),
        ([], None),
        (None, None),
    ],
)
def test_the_words_for_people_are_found(body: Any, words: str | None) -> None:
    """T-16."""
    assert error_message(body) == words
