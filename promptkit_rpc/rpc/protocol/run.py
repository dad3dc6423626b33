"""One run: what is asked and what is answered."""

from typing import Annotated, Any

from attrs import field, frozen

from promptkit_rpc.generation import FinishReason
from promptkit_rpc.output.contract import Status
from promptkit_rpc.rpc.protocol.base import Count, Doc, JsonObject, Open, Positive, Token
from promptkit_rpc.rpc.protocol.message import Message, OutputContract, Parameters
from promptkit_rpc.rpc.protocol.usage import Usage


@frozen(kw_only=True)
class RunParams(Open):
    """A request; with `continueFrom` it is a continuation and always captures."""

    engine_id: Annotated[str | None, Doc("The engine that runs it; `default` if absent.")] = None
    prompt_id: Annotated[str, Doc("Path of the prompt below the prompts folder, no suffix.")]
    variables: Annotated[JsonObject | None, Doc("Data for the templates, by name.")] = field(
        default=None, repr=False
    )
    profile: Annotated[str | None, Doc("Profile to use; the prompt's own if absent.")] = None
    parameters: Annotated[Parameters | None, Doc("Override those of the profile, one by one.")] = (
        None
    )
    output: Annotated[OutputContract | None, Doc("Replaces the prompt's contract whole.")] = None
    session_id: Annotated[str | None, Doc("Instead of the prompt's session template.")] = None
    messages: Annotated[
        tuple[Message, ...] | None, Doc("Appended after the prompt's messages, as they are.")
    ] = field(default=None, repr=False)
    credential: Annotated[
        str | None, Doc("A key for this run alone; it is never kept, shown or fallen back from.")
    ] = field(default=None, repr=False)
    capture: Annotated[bool | None, Doc("Keep the exchange; false if absent.")] = None
    continue_from: Annotated[
        str | None, Doc("Run id of a held exchange whose history comes first.")
    ] = None
    groups: Annotated[tuple[str, ...] | None, Doc("Groups that collect this run.")] = None
    observe: Annotated[Token | None, Doc("Token under which the run's observations are sent.")] = (
        None
    )
    partial_result_token: Annotated[
        Token | None, Doc("Token under which text is streamed as `$/progress`.")
    ] = None
    work_done_token: Annotated[
        Token | None, Doc("Token under which progress for people is sent as `$/progress`.")
    ] = None
    timeout_ms: Annotated[
        Positive | None, Doc("Milliseconds for the whole run: waiting, retries, repairs and all.")
    ] = None


@frozen(kw_only=True)
class Ref:
    """An exchange, named by the run it came from."""

    run_id: Annotated[str, Doc("The run it came from.")]
    parent_run_id: Annotated[str | None, Doc("The run whose exchange that run continued.")] = None


@frozen(kw_only=True)
class Violation:
    """One fault of an answer."""

    path: Annotated[str, Doc("JSON pointer into the answer.")]
    keyword: Annotated[str, Doc("The schema keyword that is broken, or what else is wrong.")]
    message: Annotated[str, Doc("The fault in words.")]
    schema_path: Annotated[str | None, Doc("JSON pointer into the schema.")] = None


@frozen(kw_only=True)
class Validation:
    """The verdict on an answer; an invalid answer is a result, not an error."""

    status: Annotated[Status, Doc("`notRequired` for a text contract.")]
    violations: Annotated[tuple[Violation, ...], Doc("Every fault; empty unless invalid.")]


@frozen(kw_only=True)
class RunResult:
    """A completed run."""

    run_id: Annotated[str, Doc("Names the run, its observations and its exchange.")]
    parent_run_id: Annotated[str | None, Doc("The run whose exchange was continued.")] = None
    content: Annotated[str, Doc("The final answer, byte for byte.")] = field(repr=False)
    structured: Annotated[Any, Doc("The decoded answer of a JSON or schema contract.")] = field(
        default=None, repr=False
    )
    validation: Annotated[Validation, Doc("Whether the answer meets its contract.")]
    finish_reason: Annotated[FinishReason, Doc("Why the answer ended.")]
    refusal: Annotated[str | None, Doc("The provider's words where it refused.")] = field(
        default=None, repr=False
    )
    usage: Annotated[Usage, Doc("Over this run's attempts.")]
    attempts: Annotated[Count, Doc("Generation calls: 1 + transientRetries + repairs.")]
    transient_retries: Annotated[Count, Doc("Calls repeated because transport or provider failed.")]
    repairs: Annotated[Count, Doc("Calls repeated because the answer broke the contract.")]
    profile: Annotated[str, Doc("The profile used.")]
    backend: Annotated[str, Doc("The backend used.")]
    model: Annotated[str, Doc("The model asked for.")]
    session_id: Annotated[str | None, Doc("The session id sent along.")] = None
    exchange: Annotated[Ref | None, Doc("The captured exchange, if one was asked for.")] = None
