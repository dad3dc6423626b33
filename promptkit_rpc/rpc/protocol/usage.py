"""Token counts that know what they do not know."""

from typing import Annotated, Any

from attrs import frozen

from promptkit_rpc.rpc.protocol.base import Count, Doc


@frozen
class TokenTotal:
    """One count. Unknown is null, never 0."""

    value: Annotated[Count | None, Doc("The known part; null where nothing is known.")]
    complete: Annotated[bool, Doc("Whether everything that may have been billed is in it.")]


@frozen(kw_only=True)
class Usage:
    """Sums, field by field."""

    input_tokens: Annotated[TokenTotal, Doc("Tokens sent, cached ones included.")]
    output_tokens: Annotated[TokenTotal, Doc("Tokens answered.")]
    total_tokens: Annotated[TokenTotal, Doc("As reported, else input plus output.")]
    cached_input_tokens: Annotated[TokenTotal, Doc("The part of the input read from a cache.")]
    cache_creation_tokens: Annotated[TokenTotal, Doc("The part of the input written to a cache.")]
    reasoning_tokens: Annotated[TokenTotal, Doc("The part of the output that was reasoning.")]


@frozen(kw_only=True)
class ReportedUsage:
    """What a host's model reports; anything but a non-negative integer is unknown."""

    input_tokens: Annotated[Any, Doc("Tokens sent, cached ones included.")] = None
    output_tokens: Annotated[Any, Doc("Tokens answered.")] = None
    total_tokens: Annotated[Any, Doc("Input plus output if absent.")] = None
    cached_input_tokens: Annotated[Any, Doc("The part of the input read from a cache.")] = None
    cache_creation_tokens: Annotated[Any, Doc("The part of the input put into a cache.")] = None
    reasoning_tokens: Annotated[Any, Doc("The part of the output that was reasoning.")] = None
