"""What a run, a preparation or a group answers, for the wire."""

from msgspec import Raw

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.execution.prepare import Plan
from promptkit_rpc.execution.request import RunResult
from promptkit_rpc.groups import GroupSnapshot
from promptkit_rpc.output.contract import Validation, Violation
from promptkit_rpc.rpc.convert.values import contract_to, message_to, parameters_to, usage_to
from promptkit_rpc.rpc.protocol import group, prepared, run


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


def prepared_details(plan: Plan) -> prepared.PreparedDetails:
    """What a plan will send; of its credential only the source."""
    return prepared.PreparedDetails(
        prompt_id=plan.prompt_id,
        profile=plan.profile,
        backend=plan.backend,
        model=plan.model,
        parameters=parameters_to(plan.parameters),
        session_id=plan.session_id,
        output=contract_to(plan.contract),
        messages=tuple([message_to(message) for message in plan.history]),
        parent_run_id=plan.parent_run_id,
        capture=plan.capture,
        credential_source=plan.credential_source,
    )


def group_snapshot(group_id: str, snapshot: GroupSnapshot) -> group.GroupSnapshot:
    """A group at one moment."""
    return group.GroupSnapshot(
        group_id=group_id,
        runs=tuple(
            [
                group.GroupMember(run_id=run_id, terminal=terminal)
                for run_id, terminal in snapshot.runs
            ]
        ),
        complete=snapshot.complete,
        attempts=snapshot.attempts,
        transient_retries=snapshot.transient_retries,
        repairs=snapshot.repairs,
        usage=usage_to(snapshot.usage),
    )
