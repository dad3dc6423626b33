"""Messages, generation parameters and output contracts, in both directions."""

from typing import Annotated

from attrs import field, frozen

from promptkit_rpc.conversation.message import Role
from promptkit_rpc.output.contract import Format
from promptkit_rpc.rpc.protocol.base import (
    Count,
    Doc,
    JsonObject,
    JsonSchema,
    Positive,
    Range,
)

Temperature = Annotated[float, Range(minimum=0)]
Share = Annotated[float, Range(minimum=0, maximum=1)]


@frozen(kw_only=True)
class Message:
    """One message of a conversation, exactly as authored or answered."""

    role: Annotated[Role, Doc("Who speaks.")]
    content: Annotated[str, Doc("The text; never rendered, trimmed or moved.")] = field(repr=False)
    cache: Annotated[
        JsonObject | None, Doc("Cache metadata for the provider; kept in history.")
    ] = field(default=None, repr=False)


@frozen(kw_only=True)
class Parameters:
    """Generation parameters, under one name each whatever the backend."""

    temperature: Annotated[Temperature | None, Doc("Sampling temperature.")] = None
    max_tokens: Annotated[Positive | None, Doc("The most tokens to answer with.")] = None
    top_p: Annotated[Share | None, Doc("Nucleus sampling.")] = None
    stop: Annotated[tuple[str, ...] | None, Doc("Texts that end the answer.")] = None
    seed: Annotated[int | None, Doc("Seed, where the provider has one.")] = None
    extra: Annotated[JsonObject | None, Doc("Goes to the provider as it is.")] = field(
        default=None, repr=False
    )


@frozen(kw_only=True)
class OutputContract:
    """What the answer must look like. Given in a request, it replaces the prompt's whole."""

    format: Annotated[Format, Doc("Any text, any JSON value, or JSON that fits `schema`.")]
    schema: Annotated[
        JsonSchema | None, Doc("JSON Schema (2020-12, local references) for `schema`.")
    ] = field(default=None, repr=False)
    repairs: Annotated[
        Count | None,
        Doc("How often to ask again when the answer breaks the contract; 0 if absent."),
    ] = None


@frozen(kw_only=True)
class Location:
    """A place in a file of the workspace."""

    file: Annotated[str, Doc("Path relative to the workspace.")]
    line: Annotated[Positive | None, Doc("Counts from 1.")] = None
    column: Annotated[Positive | None, Doc("Counts from 1.")] = None
