"""A request from the wire, as the core takes it."""

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.errors import CredentialMissing, RequestInvalid
from promptkit_rpc.execution.observe import Observer
from promptkit_rpc.execution.request import RunRequest, StreamSink
from promptkit_rpc.rpc.convert.values import contract_from, message_from, parameters_from
from promptkit_rpc.rpc.protocol.run import RunParams
from promptkit_rpc.secret import Secret


def run_request(
    params: RunParams,
    *,
    continue_from: Exchange | None,
    observers: tuple[Observer, ...],
    stream: StreamSink | None,
) -> RunRequest:
    """The core's request; what the wire names by ids is given.

    Raises:
        RequestInvalid: the credential cannot be used.
    """
    messages, output, timeout = params.messages, params.output, params.timeout_ms
    return RunRequest(
        prompt_id=params.prompt_id,
        variables=params.variables or {},
        profile=params.profile,
        parameters=parameters_from(params.parameters),
        output=None if output is None else contract_from(output),
        session_id=params.session_id,
        messages=tuple([message_from(message) for message in messages]) if messages else (),
        credential=None if params.credential is None else _credential(params.credential),
        capture=params.capture is True,
        continue_from=continue_from,
        observers=observers,
        stream=stream,
        timeout=None if timeout is None else timeout / 1000,
    )


def _credential(text: str) -> Secret:
    """An empty key is refused: it is never a reason to use another."""
    try:
        return Secret.parse(text, source="credential", invalid=RequestInvalid)
    except CredentialMissing as missing:
        raise RequestInvalid(missing.message) from None
