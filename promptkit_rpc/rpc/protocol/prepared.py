"""Prepared executions: rendered and resolved, sent at most once."""

from typing import Annotated

from attrs import field, frozen

from promptkit_rpc.rpc.protocol.base import Doc, Open, Token
from promptkit_rpc.rpc.protocol.message import Message, OutputContract, Parameters


@frozen(kw_only=True)
class PreparedParams(Open):
    """Names a prepared execution."""

    prepared_id: Annotated[str, Doc("As `promptkit/prepare` answered.")]


@frozen(kw_only=True)
class ExecuteParams(PreparedParams):
    """Executes it. Tokens given here replace those of the request that was prepared."""

    observe: Annotated[Token | None, Doc("Token under which the run's observations are sent.")] = (
        None
    )
    partial_result_token: Annotated[
        Token | None, Doc("Token under which text is streamed as `$/progress`.")
    ] = None
    work_done_token: Annotated[
        Token | None, Doc("Token under which progress for people is sent as `$/progress`.")
    ] = None


@frozen(kw_only=True)
class PreparedDetails:
    """What will be sent, to the letter; never a credential."""

    prompt_id: Annotated[str, Doc("The prompt.")]
    profile: Annotated[str, Doc("The profile chosen.")]
    backend: Annotated[str, Doc("The backend of the profile.")]
    model: Annotated[str, Doc("The model of the profile.")]
    parameters: Annotated[Parameters, Doc("The profile's, with the request's over them.")]
    session_id: Annotated[str | None, Doc("The session id to send along.")] = None
    output: Annotated[OutputContract, Doc("The contract the answer must meet.")]
    messages: Annotated[
        tuple[Message, ...], Doc("All of them: history, the prompt's, the appended.")
    ] = field(repr=False)
    parent_run_id: Annotated[str | None, Doc("The run whose exchange is continued.")] = None
    capture: Annotated[bool, Doc("Whether executing it makes an exchange.")]
    credential_source: Annotated[
        str | None, Doc("Where the key comes from, such as `env:NAME` or `request`; null: none.")
    ]


@frozen(kw_only=True)
class PrepareResult:
    """A new single-use handle."""

    prepared_id: Annotated[str, Doc("Names the handle until it is executed or discarded.")]
    details: Annotated[PreparedDetails, Doc("What will be sent.")]
