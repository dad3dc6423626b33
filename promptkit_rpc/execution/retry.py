"""When another attempt is worth making, and how long to wait for it. Pure."""

from collections.abc import Callable

from promptkit_rpc.definitions.settings import RetryPolicy
from promptkit_rpc.errors import GenerationFailed


def delay(
    policy: RetryPolicy, made: int, failure: GenerationFailed, random: Callable[[], float]
) -> float | None:
    """Seconds until the next attempt after `made` of them failed, or None if there is none.

    Exponential with full jitter, after "Exponential Backoff And Jitter" (AWS Architecture Blog,
    2015); what the provider asked for goes first, unless it is more than the policy would wait.
    """
    if not failure.retryable or made >= policy.attempts:
        return None
    if failure.retry_after is not None and failure.retry_after > 0:
        return None if failure.retry_after > policy.max_delay else failure.retry_after
    exponent = min(made - 1, 60)  # beyond that only the largest delay counts
    return random() * min(policy.max_delay, policy.base_delay * 2.0**exponent)


def explained(policy: RetryPolicy, made: int, failure: GenerationFailed) -> GenerationFailed:
    """The same failure; where it is final because the provider asks for too much, it says so."""
    after = failure.retry_after
    if failure.retryable and made < policy.attempts and after and after > policy.max_delay:
        failure.message += (
            f" (it asks to wait {after:g} s; retry.maxDelay is {policy.max_delay:g} s)"
        )
        failure.args = (failure.message,)
    return failure
