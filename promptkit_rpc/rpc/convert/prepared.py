"""What a preparation answers, for the wire."""

from promptkit_rpc.execution.prepare import Plan
from promptkit_rpc.rpc.convert.values import contract_to, message_to, parameters_to
from promptkit_rpc.rpc.protocol import prepared


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
