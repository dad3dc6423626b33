"""Messages, parameters, contracts, usage and places, in both directions."""

from typing import Any

from msgspec import Raw
from msgspec.json import encode

from promptkit_rpc.conversation.message import Message
from promptkit_rpc.errors import Location, RequestInvalid
from promptkit_rpc.generation import Parameters
from promptkit_rpc.jsontext import Json, JsonError
from promptkit_rpc.output.contract import Contract
from promptkit_rpc.rpc.codec import unstructure
from promptkit_rpc.rpc.protocol import message as wire
from promptkit_rpc.rpc.protocol.base import MAX_INTEGER
from promptkit_rpc.rpc.protocol.usage import TokenTotal
from promptkit_rpc.rpc.protocol.usage import Usage as WireUsage
from promptkit_rpc.usage import TokenCounts, Total, Usage


def message_from(message: wire.Message) -> Message:
    """A message as the core holds it."""
    return Message(message.role, message.content, json_from(message.cache, "messages[].cache"))


def message_to(message: Message) -> wire.Message:
    """A message for the wire."""
    return wire.Message(role=message.role, content=message.content, cache=json_to(message.cache))


def encoded(messages: tuple[Message, ...]) -> bytes:
    """Messages as JSON objects with commas between them."""
    return b",".join([encode(unstructure(message_to(message))) for message in messages])


def array(parts: list[bytes]) -> Raw:
    """A JSON array of encoded items, or runs of items, joined in one pass."""
    pieces = [b"["]
    for part in parts:
        if part:
            pieces += (part, b",")
    pieces[-1 if len(pieces) > 1 else 1 :] = [b"]"]
    return Raw(b"".join(pieces))


def parameters_from(parameters: wire.Parameters | None) -> Parameters:
    """Parameters of a request; absent ones override nothing."""
    if parameters is None:
        return _NO_PARAMETERS
    return Parameters(
        temperature=parameters.temperature,
        max_tokens=parameters.max_tokens,
        top_p=parameters.top_p,
        stop=parameters.stop,
        seed=parameters.seed,
        extra=json_from(parameters.extra, "parameters.extra"),
    )


_NO_PARAMETERS = Parameters()


def parameters_to(parameters: Parameters) -> wire.Parameters:
    """Parameters for the wire."""
    return wire.Parameters(
        temperature=parameters.temperature,
        max_tokens=parameters.max_tokens,
        top_p=parameters.top_p,
        stop=parameters.stop,
        seed=parameters.seed,
        extra=json_to(parameters.extra),
    )


def contract_from(contract: wire.OutputContract) -> Contract:
    """A contract of a request."""
    return Contract(
        format=contract.format,
        schema=json_from(contract.schema, "output.schema"),
        repairs=contract.repairs or 0,
    )


def contract_to(contract: Contract) -> wire.OutputContract:
    """A contract for the wire."""
    return wire.OutputContract(
        format=contract.format, schema=json_to(contract.schema), repairs=contract.repairs
    )


def usage_to(usage: Usage) -> WireUsage:
    """Sums for the wire."""
    return WireUsage(
        input_tokens=_total(usage.input_tokens),
        output_tokens=_total(usage.output_tokens),
        total_tokens=_total(usage.total_tokens),
        cached_input_tokens=_total(usage.cached_input_tokens),
        cache_creation_tokens=_total(usage.cache_creation_tokens),
        reasoning_tokens=_total(usage.reasoning_tokens),
    )


def counts_to(counts: TokenCounts) -> WireUsage:
    """One attempt's counts for the wire: what is known is complete, unless the answer broke off."""
    return usage_to(Usage().with_attempt(counts))


def _total(total: Total) -> TokenTotal:
    if total.value is not None and total.value > MAX_INTEGER:
        return TokenTotal(None, complete=False)  # no reader could be sure to keep it
    return TokenTotal(total.value, total.complete)


def location_to(location: Location) -> wire.Location:
    """A place for the wire."""
    return wire.Location(file=location.file, line=location.line, column=location.column)


def json_from(value: Any, name: str) -> Json | None:
    """A JSON value of the user's, kept as text; None stays None.

    Raises:
        RequestInvalid: it is nested too deep; `name` says where it stood.
    """
    try:
        return None if value is None else Json.of(value)
    except JsonError as error:
        raise RequestInvalid(f"{name}: {error.reason}") from None


def json_to(value: Json | None) -> Any:
    """A JSON value of the user's, fresh; None stays None."""
    return None if value is None else value.value()


def milliseconds(seconds: float) -> int:
    """Whole milliseconds, as many as the wire can say."""
    return round(min(seconds * 1000, MAX_INTEGER))
