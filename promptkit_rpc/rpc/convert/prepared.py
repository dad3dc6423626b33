"""What a preparation answers, for the wire."""

from typing import Any

from msgspec import Raw

from promptkit_rpc.execution.prepare import Plan
from promptkit_rpc.rpc.codec import unstructure
from promptkit_rpc.rpc.convert.values import contract_to, parameters_to
from promptkit_rpc.rpc.protocol import prepared


def prepared_details(plan: Plan, messages: Raw) -> dict[str, Any]:
    """What a plan will send, as `PreparedDetails`; its messages are encoded already.

    Of its credential only the source is told.
    """
    told = prepared.PreparedDetails(
        prompt_id=plan.prompt_id,
        profile=plan.profile,
        backend=plan.backend,
        model=plan.model,
        parameters=parameters_to(plan.parameters),
        session_id=plan.session_id,
        output=contract_to(plan.contract),
        messages=(),
        parent_run_id=plan.parent_run_id,
        capture=plan.capture,
        credential_source=plan.credential_source,
    )
    return unstructure(told) | {"messages": messages}
