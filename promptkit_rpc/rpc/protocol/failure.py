"""The data of every error the server answers with."""

from typing import Annotated

from attrs import frozen

from promptkit_rpc.errors import Kind, Origin, Reason
from promptkit_rpc.rpc.protocol.base import Count, Doc
from promptkit_rpc.rpc.protocol.message import Location


@frozen(kw_only=True)
class Cause:
    """An error behind the error."""

    kind: Annotated[Kind, Doc("`internal` where it is none of ours.")]
    message: Annotated[str, Doc("The cause in words.")]


@frozen(kw_only=True)
class InvalidField:
    """A field of the params that cannot be used."""

    path: Annotated[str, Doc("Where it stands, such as `params.parameters.topP`.")]
    message: Annotated[str, Doc("What is wrong with it.")]


@frozen(kw_only=True)
class ErrorData:
    """`data` of an error. It never holds a traceback, a credential or a path elsewhere."""

    kind: Annotated[Kind, Doc("What went wrong; stable.")]
    retryable: Annotated[bool, Doc("Whether the same request may succeed later.")]
    run_id: Annotated[str | None, Doc("The run that failed.")] = None
    location: Annotated[Location | None, Doc("The place in a definition file.")] = None
    cause: Annotated[tuple[Cause, ...] | None, Doc("What led to it, nearest first.")] = None
    invalid: Annotated[
        tuple[InvalidField, ...] | None, Doc("For `requestInvalid`: the fields, at most 20.")
    ] = None
    reason: Annotated[Reason | None, Doc("For `generationFailed`: why.")] = None
    origin: Annotated[Origin | None, Doc("For `generationFailed`: who found the fault.")] = None
    http_status: Annotated[Count | None, Doc("For `generationFailed`: the provider's status.")] = (
        None
    )
    retry_after_ms: Annotated[
        Count | None, Doc("For `generationFailed`: the wait that the provider asked for.")
    ] = None
    attempts: Annotated[Count | None, Doc("For `generationFailed`: calls made by the run.")] = None
