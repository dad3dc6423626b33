"""Reads the script of a scripted backend: which reply answers when, and how."""

import re
from enum import StrEnum

from promptkit_rpc.definitions.fields import Fields
from promptkit_rpc.definitions.problem import Problems
from promptkit_rpc.definitions.settings import Fault, Match, Reply
from promptkit_rpc.definitions.template import Sandbox
from promptkit_rpc.definitions.tree import ListNode, Node, kind_of
from promptkit_rpc.generation import FinishReason
from promptkit_rpc.usage import TokenCounts

_ALONE = Sandbox(only="a reply has only lastUser, messages, model, promptId and turn")
"""Replies include no files."""

_KINDS = ("content", "json", "chunks", "fault")


class FaultKind(StrEnum):
    """How a scripted call can break."""

    CONNECTION_RESET = "connectionReset"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    BROKEN_BODY = "brokenBody"


def parse_replies(node: Node, problems: Problems, path: tuple[str, ...] = ()) -> tuple[Reply, ...]:
    """A list of replies, in order; problems say what is wrong with any."""
    if not isinstance(node, ListNode):
        message = f"replies must be a list, not {kind_of(node)}"
        problems.add(node.span, message, code="type", path=path)
        return ()
    found = [_reply(item, problems, (*path, str(number))) for number, item in enumerate(node.items)]
    return tuple(reply for reply in found if reply is not None)


def _reply(node: Node, problems: Problems, path: tuple[str, ...]) -> Reply | None:
    fields = Fields.of(node, problems, path, "a reply")
    if fields is None:
        return None
    given = [key for key in _KINDS if fields.has(key)]
    if len(given) != 1:
        found = f", not {' and '.join(given)}" if given else ""
        message = f"a reply has one of {', '.join(_KINDS)}{found}"
        problems.add(node.span, message, code="value", path=path)
    reply = Reply(
        match=_match(fields),
        content=fields.template("content", _ALONE),
        json=fields.json("json"),
        chunks=fields.texts("chunks"),
        fault=_fault(fields),
        usage=_usage(fields),
        finish_reason=fields.choice("finishReason", FinishReason) or FinishReason.STOP,
        refusal=fields.text("refusal", blank=True),
        delay=fields.number("delay", least=0) or 0.0,
        times=fields.integer("times", least=0),
        location=fields.location,
    )
    if given and given != ["json"]:
        fields.need(given[0])
    fields.finish()
    return reply


def _match(fields: Fields) -> Match | None:
    match = fields.fields("match")
    if match is None:
        return None
    regex = match.text("regex")
    if regex is not None:
        try:
            re.compile(regex)
        except (re.error, RecursionError, OverflowError) as error:
            match.wrong("regex", f"this is no regular expression: {error}")
    found = Match(prompt_id=match.text("promptId"), contains=match.text("contains"), regex=regex)
    match.finish()
    return found


def _fault(fields: Fields) -> Fault | None:
    fault = fields.fields("fault")
    if fault is None:
        return None
    kind = fault.choice("kind", FaultKind)
    found = Fault(
        kind=None if kind is None else kind.value,
        status=fault.integer("status", least=200, most=599),
        retry_after=fault.number("retryAfter", least=0),
        body=fault.json("body"),
    )
    if fault.has("kind") == fault.has("status"):
        message = "a fault has either `status` or `kind`"
        fault.problems.add(fault.node.span, message, code="value", path=fault.path)
    fault.finish()
    return found


def _usage(fields: Fields) -> TokenCounts | None:
    usage = fields.fields("usage")
    if usage is None:
        return None
    counts = TokenCounts(
        input_tokens=usage.integer("inputTokens", least=0),
        output_tokens=usage.integer("outputTokens", least=0),
        total_tokens=usage.integer("totalTokens", least=0),
        cached_input_tokens=usage.integer("cachedInputTokens", least=0),
        cache_creation_tokens=usage.integer("cacheCreationTokens", least=0),
        reasoning_tokens=usage.integer("reasoningTokens", least=0),
    )
    usage.finish()
    return counts
