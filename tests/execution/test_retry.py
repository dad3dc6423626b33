"""When another attempt is made, and after which wait."""

import pytest

from promptkit_rpc.definitions.settings import RetryPolicy
from promptkit_rpc.errors import GenerationFailed, Reason
from promptkit_rpc.execution.retry import delay, explained
from tests.support.fakes import failure

POLICY = RetryPolicy(attempts=4, base_delay=0.5, max_delay=3.0)


def wait(made: int, failed: GenerationFailed, chance: float = 1.0) -> float | None:
    return delay(POLICY, made, failed, lambda: chance)


def test_the_backoff_doubles_up_to_the_largest_delay() -> None:
    """RET-2."""
    failed = failure(Reason.SERVER).error
    assert [wait(made, failed) for made in (1, 2, 3)] == [0.5, 1.0, 2.0]
    patient = RetryPolicy(attempts=5000, base_delay=0.5, max_delay=3.0)
    assert delay(patient, 4000, failed, lambda: 1.0) == 3.0


def test_the_jitter_is_full() -> None:
    """RET-2: any part of the delay, down to none."""
    failed = failure(Reason.OVERLOADED).error
    assert wait(2, failed, 0.0) == 0.0
    assert wait(2, failed, 0.25) == 0.25


def test_the_last_attempt_is_followed_by_none() -> None:
    """T-19."""
    assert wait(3, failure().error) is not None
    assert wait(4, failure().error) is None


@pytest.mark.parametrize(
    "reason",
    [Reason.RATE_LIMITED, Reason.OVERLOADED, Reason.TIMEOUT, Reason.CONNECTION, Reason.SERVER],
)
def test_what_may_pass_is_retried(reason: Reason) -> None:
    """RET-1."""
    assert wait(1, failure(reason).error) == 0.5


@pytest.mark.parametrize(
    "reason",
    [
        Reason.AUTHENTICATION,
        Reason.QUOTA,
        Reason.BAD_REQUEST,
        Reason.CONTEXT_LENGTH,
        Reason.CONTENT_FILTER,
        Reason.MALFORMED_RESPONSE,
        Reason.REDIRECT,
    ],
)
def test_what_will_not_pass_is_not_retried(reason: Reason) -> None:
    """RET-1, T-06."""
    assert wait(1, failure(reason).error) is None


def test_what_the_provider_asks_for_is_waited_exactly() -> None:
    """RET-2, T-01."""
    assert wait(1, failure(Reason.RATE_LIMITED, retry_after=2.0).error, 0.1) == 2.0
    assert wait(1, failure(Reason.RATE_LIMITED, retry_after=0.9).error, 0.1) == 0.9


@pytest.mark.parametrize("asked", [0.0, -5.0, None])
def test_a_retry_after_that_asks_for_nothing_leaves_the_ordinary_backoff(
    asked: float | None,
) -> None:
    """T-01: never a negative wait."""
    assert wait(1, failure(Reason.RATE_LIMITED, retry_after=asked).error, 0.5) == 0.25


def test_a_retry_after_beyond_the_largest_delay_is_final() -> None:
    """RET-2: failing at once beats waiting longer than the policy allows."""
    assert wait(1, failure(Reason.RATE_LIMITED, retry_after=3.01).error) is None
    assert wait(1, failure(Reason.RATE_LIMITED, retry_after=3.0).error) == 3.0


def test_where_a_wait_is_too_long_the_failure_says_so_and_nowhere_else() -> None:
    """ENG-5, T-01."""

    def words(made: int, reason: Reason, asked: float | None) -> str:
        failed = failure(reason, retry_after=asked).error
        assert explained(POLICY, made, failed) is failed
        assert str(failed) == failed.message
        return failed.message.removeprefix(f"it failed: {reason.value}")

    assert words(1, Reason.RATE_LIMITED, 120.0) == (
        " (it asks to wait 120 s; retry.maxDelay is 3 s)"
    )
    assert words(4, Reason.RATE_LIMITED, 120.0) == ""  # it was the last attempt anyway
    assert words(1, Reason.QUOTA, 120.0) == ""
    assert words(1, Reason.RATE_LIMITED, 3.0) == words(1, Reason.SERVER, None) == ""
