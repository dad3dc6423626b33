"""What a run answers, for the wire."""

from msgspec import Raw

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.execution.request import RunResult
from promptkit_rpc.output.contract import Validation, Violation
from promptkit_rpc.rpc.convert.values import usage_to
from promptkit_rpc.rpc.protocol import run


def run_result(result: RunResult) -> run.RunResult:
    """A result; the decoded answer goes on the wire as the text it is."""
    structured, exchange = result.validation.structured, result.exchange
    return run.RunResult(
        run_id=result.run_id,
        parent_run_id=result.parent_run_id,
        content=result.content,
        structured=None if structured is None else Raw(structured.text),
        validation=_validation(result.validation),
        finish_reason=result.finish_reason,
        refusal=result.refusal,
        usage=usage_to(result.usage),
        attempts=result.attempts,
        transient_retries=result.transient_retries,
        repairs=result.repairs,
        profile=result.profile,
        backend=result.backend,
        model=result.model,
        session_id=result.session_id,
        exchange=None if exchange is None else reference(exchange),
    )


def reference(exchange: Exchange) -> run.Ref:
    """An exchange as the wire names it."""
    return run.Ref(run_id=exchange.run_id, parent_run_id=exchange.parent_run_id)


def _validation(validation: Validation) -> run.Validation:
    violations = tuple([_violation(violation) for violation in validation.violations])
    return run.Validation(status=validation.status, violations=violations)


def _violation(violation: Violation) -> run.Violation:
    return run.Violation(
        path=violation.path,
        keyword=violation.keyword,
        message=violation.message,
        schema_path=violation.schema_path,
    )
