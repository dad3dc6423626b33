"""What the server asks of a client that brings its own model or keeps the keys."""

from typing import Annotated

from attrs import field, frozen

from promptkit_rpc.errors import Reason
from promptkit_rpc.generation import FinishReason
from promptkit_rpc.rpc.protocol.base import Count, Doc, Open, Positive, Token
from promptkit_rpc.rpc.protocol.message import Message, OutputContract, Parameters
from promptkit_rpc.rpc.protocol.usage import ReportedUsage


@frozen(kw_only=True)
class GenerateParams:
    """One generation call for a backend of kind `client`."""

    run_id: Annotated[str, Doc("The run.")]
    attempt: Annotated[Positive, Doc("Counts from 1 within the run.")]
    backend: Annotated[str, Doc("The backend's name.")]
    prompt_id: Annotated[str, Doc("The prompt.")]
    model: Annotated[str, Doc("The profile's model; the host decides what it means.")]
    parameters: Annotated[Parameters, Doc("Generation parameters.")]
    output: Annotated[OutputContract, Doc("The contract; enforce it where the model can.")]
    messages: Annotated[tuple[Message, ...], Doc("Everything to send, in order.")] = field(
        repr=False
    )
    session_id: Annotated[str | None, Doc("The session id to send along.")] = None
    partial_result_token: Annotated[
        Token | None,
        Doc("If present, pieces may be sent as `$/progress` `{token, value: {text}}`."),
    ] = None


@frozen(kw_only=True)
class GenerateResult(Open):
    """A completed answer. To fail, answer with an error whose data may be a GenerateFailure."""

    content: Annotated[str, Doc("The whole answer, streamed or not.")] = field(repr=False)
    finish_reason: Annotated[
        FinishReason | None, Doc("If absent, `refusal` where there is one, else `stop`.")
    ] = None
    refusal: Annotated[str | None, Doc("The model's words where it refused.")] = field(
        default=None, repr=False
    )
    usage: Annotated[ReportedUsage | None, Doc("What is absent is unknown.")] = None


@frozen(kw_only=True)
class GenerateFailure:
    """What is read of `data` when the client answers a generation call with an error."""

    reason: Annotated[Reason | None, Doc("Why; decides whether it is tried again.")] = None
    retryable: Annotated[bool | None, Doc("Decides instead, where given.")] = None
    http_status: Annotated[Count | None, Doc("The status of the host's own call.")] = None
    retry_after_ms: Annotated[Count | None, Doc("Milliseconds to wait before another try.")] = None


@frozen(kw_only=True)
class CredentialParams:
    """Asks for a key that the settings say the client supplies."""

    name: Annotated[str, Doc("As in `credential: {client: name}`.")]


@frozen(kw_only=True)
class CredentialResult(Open):
    """The key; it is used for one run."""

    credential: Annotated[str | None, Doc("The key; absent if there is none.")] = field(
        default=None, repr=False
    )
