"""A backend that answers from a script, without a network; without a script it echoes.

Deterministic, and as particular as a provider: same errors, same unknowns, same pieces.
"""

import re
from collections.abc import Iterator
from typing import Any

from promptkit_rpc.backends.classify import classify, error_message
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.definitions.settings import BackendSettings, Fault, Match, Reply
from promptkit_rpc.definitions.template import render
from promptkit_rpc.errors import GenerationFailed, Origin, Reason
from promptkit_rpc.generation import Answer, Call, CallFailed, ended
from promptkit_rpc.services import Services
from promptkit_rpc.usage import UNKNOWN, TokenCounts

PIECES = 1_000
"""An answer is streamed word by word, and in no more pieces than this."""

_EDGE = re.compile(r"\s(?=\S)")
_SPACES = bytes(0 if byte in b" \t\n\r\v\f" else 1 for byte in range(256))
_OK = 200
_BROKEN: dict[str | None, tuple[Reason, int | None, str]] = {
    "connectionReset": (Reason.CONNECTION, None, "closed the connection without an answer"),
    "timeout": (Reason.TIMEOUT, None, "gave no answer in time"),
    "malformed": (Reason.MALFORMED_RESPONSE, _OK, "answered 200, but not with an answer"),
    "brokenBody": (Reason.CONNECTION, _OK, "broke off in the middle of its answer"),
}


class ScriptedBackend:
    """Answers with the first reply that matches and has uses left; uses are counted here."""

    def __init__(self, settings: BackendSettings, services: Services) -> None:
        self._name = settings.name
        self._sleep = services.sleep
        self._replies = settings.replies or ()
        self._used = [0] * len(self._replies)

    async def generate(self, call: Call) -> Answer:
        """The scripted answer, or a deterministic echo of the last user message.

        Raises:
            CallFailed: the script says so.
            TemplateFailed: the reply cannot be rendered.
        """
        reply = self._take(call)
        if reply is None:
            text = _last_user(call.history)
            return await _said(call, Answer(content=text, usage=_counted(call, text)), _words(text))
        if reply.delay:
            await self._sleep(reply.delay)
        usage = _reported(reply.usage)
        if reply.fault is not None:
            if reply.fault.kind == "brokenBody":
                await _begun(call)
            raise CallFailed(self._failure(reply.fault), usage)
        content = await _content(reply, call)
        answer = Answer(
            content=content,
            finish_reason=ended(reply.finish_reason, reply.refusal) or reply.finish_reason,
            refusal=reply.refusal,
            usage=usage,
        )
        return await _said(call, answer, iter(reply.chunks or _words(content)))

    async def close(self) -> None:
        """Nothing is kept open."""

    def _take(self, call: Call) -> Reply | None:
        for number, reply in enumerate(self._replies):
            left = reply.times is None or self._used[number] < reply.times
            if left and (reply.match is None or _fits(reply.match, call)):
                self._used[number] += 1
                return reply
        return None

    def _failure(self, fault: Fault) -> GenerationFailed:
        where = f"backend {self._name!r}"
        if fault.status is not None:
            body = None if fault.body is None else fault.body.value()
            words = error_message(body)
            text = f"{where} answered {fault.status}" + (f": {words}" if words else "")
            return classify(fault.status, body, fault.retry_after, text)
        reason, status, words = _BROKEN[fault.kind]
        return GenerationFailed(
            f"{where} {words}", reason=reason, origin=Origin.PROMPTKIT, http_status=status
        )


def _fits(match: Match, call: Call) -> bool:
    text = _last(call.history)
    return (
        (match.prompt_id is None or match.prompt_id == call.prompt_id)
        and (match.contains is None or match.contains in text)
        and (match.regex is None or re.search(match.regex, text) is not None)
    )


async def _content(reply: Reply, call: Call) -> str:
    match reply:
        case Reply(json=json) if json is not None:
            return json.text.decode()
        case Reply(chunks=chunks) if chunks is not None:
            return "".join(chunks)
        case Reply(content=template) if template is not None:
            whole = "messages" in template.source
            return await render(template, _variables(call, whole=whole))
        case _:
            return ""


def _variables(call: Call, *, whole: bool) -> dict[str, Any]:
    """What a template sees; the messages only if it may look at them, for there may be many."""
    variables: dict[str, Any] = {
        "lastUser": _last_user(call.history),
        "promptId": call.prompt_id,
        "model": call.model,
        "turn": 1 + call.history.folded("scripted", _tally, (0, 0))[1],
    }
    if whole:
        variables["messages"] = [
            {"role": one.role.value, "content": one.content} for one in call.history
        ]
    return variables


async def _said(call: Call, answer: Answer, pieces: Iterator[str]) -> Answer:
    if call.deltas is not None:
        for piece in pieces:
            room = call.deltas.room()
            if room is not None:
                await room
            call.deltas.push(piece)
    return answer


async def _begun(call: Call) -> None:
    """Half of what would have been echoed, as if a stream had begun."""
    text = _last_user(call.history)
    half = text[: len(text) // 2]
    await _said(call, Answer(content=half), _words(half))


def _words(text: str) -> Iterator[str]:
    """The text in pieces that end with a word and the space after it."""
    least = len(text) // PIECES
    start = 0
    while start < len(text):
        edge = _EDGE.search(text, start + least)
        end = edge.end() if edge else len(text)
        yield text[start:end]
        start = end


def _reported(usage: TokenCounts | None) -> TokenCounts:
    if usage is None:
        return UNKNOWN
    return TokenCounts.reported(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        cache_creation_tokens=usage.cache_creation_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


def _counted(call: Call, text: str) -> TokenCounts:
    sent, _ = call.history.folded("scripted", _tally, (0, 0))
    return TokenCounts.reported(input_tokens=sent, output_tokens=count_words(text))


def _tally(before: tuple[int, int], messages: tuple[Message, ...]) -> tuple[int, int]:
    """Words, and assistant messages, with those before."""
    words, answers = before
    words += sum(count_words(one.content) for one in messages)
    return words, answers + sum(one.role is Role.ASSISTANT for one in messages)


def count_words(text: str) -> int:
    """Words between ASCII white space, counted about as fast as the text can be copied."""
    marked = text.encode(errors="replace").translate(_SPACES)
    return marked.count(b"\0\1") + marked.startswith(b"\1")


def _last(history: History) -> str:
    return next((one.content for one in _newest_first(history)), "")


def _last_user(history: History) -> str:
    """The last user message, or the last message where there is none."""
    own = (one.content for one in _newest_first(history) if one.role is Role.USER)
    return next(own, _last(history))


def _newest_first(history: History) -> Iterator[Message]:
    segment: History | None = history
    while segment is not None:
        yield from reversed(segment.added)
        segment = segment.parent
