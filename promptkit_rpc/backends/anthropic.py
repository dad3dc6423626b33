"""Anthropic's Messages, and whatever else speaks them: what is sent and what is understood.

Leading system and developer messages are the system prompt, block by block; a later one is a
user-role block in its place. Neighbours of one role share a message as separate blocks, blank text
is left out, and the newest four cache marks are sent. A last message of the assistant goes without
the white space at its end, which the provider refuses. `maxTokens` is 4096 where nobody sets it,
and `seed` is not sent. `extra` wins over every field but those it may not hold.
"""

from typing import Any, cast

import msgspec

from promptkit_rpc.backends.anthropic_wire import Body, segment
from promptkit_rpc.backends.payload import Refused, Unusable, decoded, members, part_text, worded
from promptkit_rpc.backends.provider import HttpBackend
from promptkit_rpc.backends.request import spliced
from promptkit_rpc.backends.schemas import anthropic_format, with_words
from promptkit_rpc.backends.unicode import WellFormed, well_formed
from promptkit_rpc.definitions.settings import Structured
from promptkit_rpc.generation import Answer, Call, FinishReason
from promptkit_rpc.output.contract import Format
from promptkit_rpc.secret import Secret
from promptkit_rpc.usage import UNKNOWN, TokenCounts, count

DEFAULT_MAX_TOKENS = 4096
"""The provider demands a limit; every one of its models takes this one."""

_VERSION = "2023-06-01"
_RESERVED = frozenset({"model", "messages", "system", "stream"})
_FINISHED = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.REFUSAL,
}


class AnthropicBackend(HttpBackend):
    """A server that speaks Messages."""

    default_url = "https://api.anthropic.com"
    path = "/v1/messages"

    def base_url(self) -> str:
        """The configured base URL, with or without the version at its end."""
        url = self.settings.base_url or self.default_url
        base, mark, query = url.partition("?")
        return base.rstrip("/").removesuffix("/v1") + mark + query

    def headers(self, credential: Secret | None) -> dict[str, str]:
        """The protocol's version, and the key if there is one."""
        headers = {"anthropic-version": _VERSION}
        if credential is not None:
            headers["x-api-key"] = credential.reveal()
        return headers

    def encode(self, call: Call) -> list[bytes]:
        """The request's body, in parts that each message was encoded to before."""
        contract, history = call.contract, call.history
        form = None
        if contract.format is not Format.TEXT:
            native = self.settings.structured is Structured.NATIVE
            if native and contract.schema is not None and contract.format is Format.SCHEMA:
                form = anthropic_format(contract.schema.text)
            if form is None:
                history = with_words(history, contract)
        parameters = call.parameters
        fields: dict[str, Any] = {
            "max_tokens": parameters.max_tokens or DEFAULT_MAX_TOKENS,
            "temperature": parameters.temperature,
            "top_p": parameters.top_p,
            "stop_sequences": parameters.stop,
            "output_config": None if form is None else {"format": msgspec.Raw(form)},
            "stream": True if call.deltas is not None else None,
        }
        head = spliced({"model": well_formed(call.model)}, fields, parameters.extra, _RESERVED)
        return Body(head, history.forms("anthropic", segment)).parts()

    def decode(self, payload: bytes) -> Answer:
        """The answer of a message."""
        message = decoded(payload, _MESSAGES)
        if message.type == "error" or message.error:
            named = {"status": message.status, "code": message.code}
            raise Refused({**named, "error": message.error or {}}, _usage(message.usage))
        content = message.content
        if not isinstance(content, list):
            raise Unusable("it holds no list of content blocks", _usage(message.usage))
        try:
            text = well_formed("".join(map(part_text, cast("list[Any]", content))))
        except Unusable as bad:
            raise Unusable(bad.why, _usage(message.usage)) from None
        return _answer(text, message.stop_reason, message.stop_details, message.usage)

    def reader(self) -> "EventReader":
        """What puts the events of a stream together."""
        return EventReader()


class _Message(msgspec.Struct):
    type: Any = None
    content: Any = None
    stop_reason: Any = None
    stop_details: Any = None
    usage: Any = None
    error: Any = None
    status: Any = None
    code: Any = None


class _Block(msgspec.Struct):
    """The start of a block, or what is added to one, or what is added to the message."""

    type: Any = None
    text: Any = None
    stop_reason: Any = None
    stop_details: Any = None


class _Event(msgspec.Struct):
    type: str = ""
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Block | None = None
    usage: Any = None
    error: Any = None


class _Kind(msgspec.Struct):
    """What an event says of itself, if it is of a kind that is not known."""

    type: Any = None
    error: Any = None
    message: Any = None


_READ = frozenset({"content_block_delta", "content_block_start", "message_start", "message_delta"})
_MESSAGES = msgspec.json.Decoder(_Message)
_EVENTS = msgspec.json.Decoder(_Event)
_KINDS = msgspec.json.Decoder(_Kind)


class EventReader:
    """Puts one streamed message together: complete with a stop reason or `message_stop`."""

    def __init__(self) -> None:
        self.done = False
        self._text: list[str] = []
        self._stop: object = None
        self._details: object = None
        self._counts: dict[str, Any] = {}
        self._clean = WellFormed()

    def feed(self, data: str) -> str:
        """Takes an event; its own `type` counts, and unknown ones are skipped."""
        if data.startswith(":"):
            return ""
        event = _event(data)
        match event.type:
            case "content_block_delta" if event.delta and event.delta.type == "text_delta":
                return self._add(event.delta.text)
            case "content_block_start" if event.content_block:
                block = event.content_block
                return self._add(block.text if block.type == "text" else None)
            case "message_start" if event.message:
                self._report(event.message.usage)
            case "message_delta":
                self._report(event.usage)
                if event.delta is not None:
                    self._stop = event.delta.stop_reason or self._stop
                    self._details = event.delta.stop_details or self._details
            case "message_stop":
                self.done = True
            case "error":
                raise Refused({"error": event.error or {}}, self.usage)
            case _ if event.error:
                raise Refused({"error": event.error}, self.usage)
            case _:
                pass
        return ""

    def rest(self) -> str:
        """Half a character that nothing completed."""
        return self._kept(self._clean.flush())

    def answer(self) -> Answer | None:
        """The whole message."""
        if not self.ended:
            return None
        return _answer("".join(self._text), self._stop, self._details, self._counts)

    @property
    def ended(self) -> bool:
        """Whether the message is whole."""
        return self.done or self._stop is not None

    @property
    def usage(self) -> TokenCounts:
        """Counts are cumulative: a later one stands for an earlier one and is not added."""
        counts = _usage(self._counts)
        return counts if self.ended else counts.of_a_part()

    def _report(self, usage: object) -> None:
        self._counts |= {name: value for name, value in members(usage).items() if value is not None}

    def _add(self, text: object) -> str:
        words = worded(text)
        return self._kept(self._clean.feed(words)) if words else ""

    def _kept(self, text: str) -> str:
        if text:
            self._text.append(text)
        return text


def _event(data: str) -> _Event:
    """An event; what is not read of it may have any shape."""
    try:
        return decoded(data, _EVENTS)
    except Unusable as error:
        bad = error
    kind = decoded(data, _KINDS)
    if not isinstance(kind.type, str):
        return _Event(error=kind.error)
    if kind.type in _READ:
        raise bad
    said = kind.message if kind.type == "error" else None
    return _Event(type=kind.type, error=kind.error or said)


def _answer(text: str, stop: object, details: object, usage: object) -> Answer:
    reason = _FINISHED.get(stop) if isinstance(stop, str) else None
    words = members(details).get("explanation")
    return Answer(
        content=text,
        finish_reason=reason or FinishReason.OTHER,
        refusal=well_formed(words)
        if reason is FinishReason.REFUSAL and isinstance(words, str) and words
        else None,
        usage=_usage(usage),
    )


def _usage(usage: object) -> TokenCounts:
    counts = members(usage)
    if not counts:
        return UNKNOWN
    uncached = count(counts.get("input_tokens"))
    cached = count(counts.get("cache_read_input_tokens"))
    created = count(counts.get("cache_creation_input_tokens"))
    # This provider counts what it read from and wrote to its cache beside the input.
    whole = None if uncached is None else uncached + (cached or 0) + (created or 0)
    return TokenCounts.reported(
        input_tokens=whole,
        output_tokens=counts.get("output_tokens"),
        cached_input_tokens=cached,
        cache_creation_tokens=created,
    )
