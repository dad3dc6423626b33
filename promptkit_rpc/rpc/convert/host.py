"""A generation call as a host's model is asked, and what the host answered."""

from typing import Any, cast

from promptkit_rpc.errors import GenerationFailed, Origin, Reason
from promptkit_rpc.generation import Answer, Call, FinishReason, ended
from promptkit_rpc.rpc.codec import unstructure
from promptkit_rpc.rpc.convert.values import array, contract_to, encoded, parameters_to
from promptkit_rpc.rpc.errors import METHOD_NOT_FOUND, RpcError
from promptkit_rpc.rpc.protocol.base import MAX_INTEGER
from promptkit_rpc.rpc.protocol.host import GenerateParams, GenerateResult
from promptkit_rpc.usage import UNKNOWN, TokenCounts


def generate_params(backend: str, call: Call, token: str | None) -> dict[str, Any]:
    """The params as plain data; a message is encoded once, however often it is sent."""
    params = GenerateParams(
        run_id=call.run_id,
        attempt=call.attempt,
        backend=backend,
        prompt_id=call.prompt_id,
        model=call.model,
        parameters=parameters_to(call.parameters),
        output=contract_to(call.contract),
        messages=(),
        session_id=call.session_id,
        partial_result_token=token,
    )
    return unstructure(params) | {"messages": array(call.history.forms("rpc", encoded))}


def answer(result: GenerateResult) -> Answer:
    """What the host's model answered."""
    usage = result.usage
    counts = UNKNOWN
    if usage is not None:
        counts = TokenCounts.reported(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.total_tokens,
            cached_input_tokens=usage.cached_input_tokens,
            cache_creation_tokens=usage.cache_creation_tokens,
            reasoning_tokens=usage.reasoning_tokens,
        )
    return Answer(
        content=result.content,
        finish_reason=ended(result.finish_reason, result.refusal) or FinishReason.STOP,
        refusal=result.refusal,
        usage=counts,
    )


def generation_failed(backend: str, error: RpcError) -> GenerationFailed:
    """A host's error; its data is read as `protocol.host.GenerateFailure`, the rest ignored.

    Without a reason it is not tried again.
    """
    if error.code == METHOD_NOT_FOUND:
        return GenerationFailed(
            f"the client does not serve promptkit/backend/generate; backend {backend!r} needs it",
            reason=Reason.BAD_REQUEST,
            origin=Origin.PROMPTKIT,
            billed=False,
        )
    given = error.data
    data = cast("dict[str, Any]", given) if type(given) is dict else {}
    reason = _reason(data.get("reason"))
    retryable = data.get("retryable")
    wait = _whole(data.get("retryAfterMs"))
    return GenerationFailed(
        f"backend {backend!r}: {error.message}",
        reason=reason or Reason.SERVER,
        http_status=_whole(data.get("httpStatus")),
        retry_after=None if wait is None else wait / 1000,
        retryable=retryable if isinstance(retryable, bool) else (None if reason else False),
    )


def _reason(value: Any) -> Reason | None:
    try:
        return Reason(value)
    except ValueError:
        return None


def _whole(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= MAX_INTEGER else None
