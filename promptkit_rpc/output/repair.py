"""How a model is asked again after an answer that breaks its contract. Pure; counts no repairs.

What is sent is the original request, one candidate and one instruction, so that a request does not
grow from one repair to the next. All texts are joined, never formatted: braces in them are data.
"""

from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.output.contract import Contract, Format, Status, Validation, Violation
from promptkit_rpc.output.listing import short

MAX_CANDIDATE = 32 << 10
"""How much of the candidate is sent back, in characters; the middle of a longer one is left out."""

MAX_CUT_OFF = 2_000
"""Likewise of an answer that the token limit cut off: all of it would be cut off once more."""

MAX_NAMED = 20
"""How many violations the instruction names."""

_MAX_PLACE = 200


def may_repair(validation: Validation, finish_reason: str, refusal: str | None) -> bool:
    """Whether asking again makes sense: refused and filtered answers are left as they are."""
    stopped = bool(refusal) or finish_reason in {"refusal", "contentFilter"}
    return validation.status is Status.INVALID and not stopped


def repair_messages(
    contract: Contract, content: str, validation: Validation
) -> tuple[Message, ...]:
    """What follows the original messages: the candidate, unless it is blank, and an instruction."""
    cut_off = any(one.keyword == "length" for one in validation.violations)
    instruction = Message(Role.USER, _instruction(contract, validation, cut_off=cut_off))
    if not content.strip():
        return (instruction,)
    candidate = short(content, MAX_CUT_OFF if cut_off else MAX_CANDIDATE)
    return Message(Role.ASSISTANT, candidate), instruction


def _instruction(contract: Contract, validation: Validation, *, cut_off: bool) -> str:
    schema = contract.format is Format.SCHEMA
    wanted = "one JSON value that meets the schema" if schema else "one JSON value"
    named = validation.violations[:MAX_NAMED]
    left = len(validation.violations) - len(named)
    lines = [
        "Your last answer cannot be used:",
        *map(_line, named),
        *([f"- and {left} more"] if left else []),
        f"Answer the request again with {wanted} and nothing else: no code fence, no explanation.",
        *(["Keep it short enough to be complete."] if cut_off else []),
    ]
    return "\n".join(lines)


def _line(violation: Violation) -> str:
    place = short(violation.path, _MAX_PLACE)
    return f"- at {place}: {violation.message}" if place else f"- {violation.message}"
