"""Token counts that know what they do not know: an unknown count is never a zero."""

from collections.abc import Iterable
from typing import Self

from attrs import evolve, frozen


@frozen(kw_only=True)
class TokenCounts:
    """What one attempt reported; None is unknown.

    `input_tokens` includes cached ones; `cached_input_tokens` and `cache_creation_tokens` are parts
    of it, `reasoning_tokens` a part of `output_tokens`. `cut_off` says that the answer broke off:
    what is counted of its output is the least that it was.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_creation_tokens: int | None = None
    reasoning_tokens: int | None = None
    cut_off: bool = False

    @classmethod
    def reported(
        cls,
        *,
        input_tokens: object = None,
        output_tokens: object = None,
        total_tokens: object = None,
        cached_input_tokens: object = None,
        cache_creation_tokens: object = None,
        reasoning_tokens: object = None,
    ) -> Self:
        """Counts as a provider gave them: no count is unknown, a missing total is summed."""
        known_input, known_output = count(input_tokens), count(output_tokens)
        total = count(total_tokens)
        if total is None and known_input is not None and known_output is not None:
            total = known_input + known_output
        return cls(
            input_tokens=known_input,
            output_tokens=known_output,
            total_tokens=total,
            cached_input_tokens=count(cached_input_tokens),
            cache_creation_tokens=count(cache_creation_tokens),
            reasoning_tokens=count(reasoning_tokens),
        )

    def of_a_part(self) -> "TokenCounts":
        """The same counts, of an answer that broke off."""
        return UNKNOWN if self == UNKNOWN else evolve(self, cut_off=True)


UNKNOWN = TokenCounts()


def count(value: object) -> int | None:
    """A non-negative integer as it is, anything else as unknown."""
    return value if type(value) is int and value >= 0 else None


@frozen
class Total:
    """A sum of known counts; `complete` when nothing that may have been billed is missing."""

    value: int | None = None
    complete: bool = True

    def plus(self, value: int | None, *, complete: bool) -> Self:
        """With one more part; an unknown part makes a subtotal, never a zero."""
        known = self.value
        if value is not None:
            known = value if known is None else known + value
        return type(self)(known, self.complete and complete)


EMPTY = Total()


@frozen(kw_only=True)
class Usage:
    """Sums over the attempts of a run, or over the runs of a group, field by field."""

    input_tokens: Total = EMPTY
    output_tokens: Total = EMPTY
    total_tokens: Total = EMPTY
    cached_input_tokens: Total = EMPTY
    cache_creation_tokens: Total = EMPTY
    reasoning_tokens: Total = EMPTY

    @classmethod
    def of_attempts(cls, attempts: Iterable[TokenCounts]) -> Self:
        """The sum over attempts that may have been billed; leave the others out."""
        usage = cls()
        for attempt in attempts:
            usage = usage.with_attempt(attempt)
        return usage

    def with_attempt(self, counts: TokenCounts) -> Self:
        """With one more attempt that may have been billed."""
        whole = not counts.cut_off
        return type(self)(
            input_tokens=_add(self.input_tokens, counts.input_tokens),
            output_tokens=_add(self.output_tokens, counts.output_tokens, whole=whole),
            total_tokens=_add(self.total_tokens, counts.total_tokens, whole=whole),
            cached_input_tokens=_add(self.cached_input_tokens, counts.cached_input_tokens),
            cache_creation_tokens=_add(self.cache_creation_tokens, counts.cache_creation_tokens),
            reasoning_tokens=_add(self.reasoning_tokens, counts.reasoning_tokens, whole=whole),
        )

    def with_run(self, run: "Usage") -> Self:
        """With the usage of one more run."""
        return type(self)(
            input_tokens=_join(self.input_tokens, run.input_tokens),
            output_tokens=_join(self.output_tokens, run.output_tokens),
            total_tokens=_join(self.total_tokens, run.total_tokens),
            cached_input_tokens=_join(self.cached_input_tokens, run.cached_input_tokens),
            cache_creation_tokens=_join(self.cache_creation_tokens, run.cache_creation_tokens),
            reasoning_tokens=_join(self.reasoning_tokens, run.reasoning_tokens),
        )


def _add(total: Total, value: int | None, *, whole: bool = True) -> Total:
    return total.plus(value, complete=whole and value is not None)


def _join(total: Total, part: Total) -> Total:
    return total.plus(part.value, complete=part.complete)
