"""What is ours inside `initialize`."""

from typing import Annotated

from attrs import frozen

from promptkit_rpc.rpc.protocol.base import Count, Doc, JsonObject, Open


@frozen(kw_only=True)
class InitializeOptions(Open):
    """`initializationOptions.promptkit`."""

    protocol_versions: Annotated[
        tuple[Count, ...] | None, Doc("Versions the client can speak; any if absent.")
    ] = None
    root: Annotated[
        str | None, Doc("The workspace, as a path or file URI; the client's root if absent.")
    ] = None
    config: Annotated[str | None, Doc("The settings file in it; `promptkit.yaml` if absent.")] = (
        None
    )


@frozen(kw_only=True)
class ServerCapabilities:
    """`capabilities.experimental.promptkit`. A capability is an object, absent if unsupported."""

    protocol_version: Annotated[Count, Doc("The version spoken from here on.")]
    schema_hash: Annotated[str, Doc("First 16 hex digits of the schema's SHA-256.")]
    continuation: Annotated[JsonObject | None, Doc("`capture` and `continueFrom`.")] = None
    coordination: Annotated[JsonObject | None, Doc("`promptkit/coordinate`.")] = None
    groups: Annotated[JsonObject | None, Doc("`promptkit/group/*`.")] = None
    prepared: Annotated[JsonObject | None, Doc("`promptkit/prepare`, `promptkit/prepared/*`.")] = (
        None
    )
    engines: Annotated[JsonObject | None, Doc("`promptkit/engine/*`.")] = None
    streaming: Annotated[JsonObject | None, Doc("`partialResultToken`.")] = None
    observations: Annotated[JsonObject | None, Doc("`observe`.")] = None
