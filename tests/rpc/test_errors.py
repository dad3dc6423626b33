"""Core kinds become codes in one place, and nothing private is told."""

import pytest

from promptkit_rpc import errors as core
from promptkit_rpc.errors import (
    Cancelled,
    GenerationFailed,
    Kind,
    Location,
    Origin,
    PromptKitError,
    PromptNotFound,
    Reason,
    RequestInvalid,
)
from promptkit_rpc.rpc.errors import ConnectionLost, RpcError, invalid_params, to_error
from promptkit_rpc.rpc.faults import Fault
from promptkit_rpc.secret import Secret

KINDS = [
    error
    for error in vars(core).values()
    if isinstance(error, type) and issubclass(error, PromptKitError)
]


@pytest.mark.parametrize("error", KINDS, ids=lambda error: error.__name__)
def test_every_kind_has_a_code_and_is_told(error: type[PromptKitError]) -> None:
    """ENG-5."""
    made = (
        GenerationFailed("gone", reason=Reason.SERVER)
        if error is GenerationFailed
        else error("gone")
    )
    answer = to_error(made)
    codes = {Kind.REQUEST_INVALID: -32602, Kind.CANCELLED: -32800}
    assert answer.code == codes.get(error.kind, -32803)
    assert answer.data["kind"] == error.kind.value
    assert answer.data["retryable"] is made.retryable


def test_a_place_and_a_run_are_told_where_there_is_one() -> None:
    error = PromptNotFound("gone", location=Location("promptkit.yaml", 3, 7), run_id="run-1")
    assert to_error(error).data == {
        "kind": "promptNotFound",
        "retryable": False,
        "runId": "run-1",
        "location": {"file": "promptkit.yaml", "line": 3, "column": 7},
    }


def test_a_failed_generation_tells_why_in_fields() -> None:
    """ENG-5."""
    error = GenerationFailed(
        "slow down",
        reason=Reason.RATE_LIMITED,
        origin=Origin.PROVIDER,
        http_status=429,
        retry_after=0.0501,
        attempts=3,
        run_id="run-1",
    )
    assert to_error(error).data == {
        "kind": "generationFailed",
        "retryable": True,
        "runId": "run-1",
        "reason": "rateLimited",
        "origin": "provider",
        "httpStatus": 429,
        "retryAfterMs": 51,
        "attempts": 3,
    }


def test_causes_are_told_nearest_first_and_foreign_ones_by_type_only() -> None:
    """SEC-4, ENG-5."""
    error, inner = PromptNotFound("outer"), RequestInvalid("inner")
    error.__cause__, inner.__cause__ = inner, OSError("/home/somebody/secret: no such file")
    answer = to_error(error)
    assert answer.data["cause"] == [
        {"kind": "requestInvalid", "message": "inner"},
        {"kind": "internal", "message": "OSError"},
    ]


def test_an_unexpected_exception_is_internal_and_tells_nothing() -> None:
    """SEC-1, SEC-4."""
    answer = to_error(ValueError("sk-canary in /home/somebody"))
    assert (answer.code, answer.message) == (-32803, "internal error")
    assert answer.data == {"kind": "internal", "retryable": False}


def test_a_known_secret_is_taken_out_of_every_text() -> None:
    """SEC-1."""
    secret = Secret("sk-canary-1234567890")
    error = PromptNotFound(f"it said {secret.reveal()}")
    error.__cause__ = PromptNotFound(f"and {secret.reveal()}")
    answer = to_error(error)
    assert "canary" not in f"{answer.message}{answer.data}"


def test_an_error_of_the_client_passes_as_the_object_it_is() -> None:
    """COO-7."""
    error = RpcError(7, "mine", {"any": [1]})
    assert to_error(error) is error


def test_a_cancel_and_a_lost_client_have_the_code_of_a_cancelled_request() -> None:
    assert to_error(Cancelled("stop")).code == -32800
    assert to_error(ConnectionLost("gone")).code == -32800


def test_refused_params_list_their_fields() -> None:
    answer = invalid_params((Fault("params.a", "is required"), Fault("params.b", "unknown field")))
    assert answer.code == -32602
    assert answer.message == "params.a: is required; params.b: unknown field"
    assert answer.data == {
        "kind": "requestInvalid",
        "retryable": False,
        "invalid": [
            {"path": "params.a", "message": "is required"},
            {"path": "params.b", "message": "unknown field"},
        ],
    }


def test_every_kind_of_the_wire_is_one_of_the_core() -> None:
    assert {error.kind for error in KINDS} == set(Kind)
