"""OpenAI's chat completions, and whatever else speaks them: what is sent and what is understood.

`extra` wins over every field but `model`, `messages` and `stream`, which it may not hold. Cache
metadata is not sent; an assistant message of no text at all is left out, since servers differ on
whether they take one.
"""

from typing import Any, cast

import msgspec

from promptkit_rpc.backends.payload import Refused, Unusable, decoded, members, part_text
from promptkit_rpc.backends.provider import HttpBackend
from promptkit_rpc.backends.request import encoded, listed, spliced
from promptkit_rpc.backends.schemas import openai_format, with_words
from promptkit_rpc.backends.unicode import WellFormed, well_formed
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.definitions.settings import Structured
from promptkit_rpc.generation import Answer, Call, FinishReason, ended
from promptkit_rpc.output.contract import Format
from promptkit_rpc.secret import Secret
from promptkit_rpc.usage import UNKNOWN, TokenCounts

_RESERVED = frozenset({"model", "messages", "stream"})
_JSON_OBJECT = b'{"type":"json_object"}'
_FINISHED = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
}
_TEXTS = ("text", "output_text")
"""The types of a part of content that is text."""

_ERROR = "error"
"""A finish reason of some gateways, where the model's server failed half way; also an object."""


class OpenAIBackend(HttpBackend):
    """A server that speaks chat completions."""

    default_url = "https://api.openai.com/v1"
    path = "/chat/completions"

    def base_url(self) -> str:
        """The configured base URL, its version included."""
        return self.settings.base_url or self.default_url

    def headers(self, credential: Secret | None) -> dict[str, str]:
        """A bearer token, if there is a credential."""
        return {} if credential is None else {"authorization": f"Bearer {credential.reveal()}"}

    def encode(self, call: Call) -> list[bytes]:
        """The request's body, in parts that each segment was encoded to before."""
        contract, history = call.contract, call.history
        form = None
        if contract.format is not Format.TEXT:
            if self.settings.structured is Structured.NATIVE:
                form = _JSON_OBJECT
                if contract.schema is not None and contract.format is Format.SCHEMA:
                    form = openai_format(contract.schema.text)
            if form is None:
                history = with_words(history, contract)
        parameters = call.parameters
        fields: dict[str, Any] = {
            "temperature": parameters.temperature,
            self.settings.max_tokens_field or "max_tokens": parameters.max_tokens,
            "top_p": parameters.top_p,
            "stop": parameters.stop,
            "seed": parameters.seed,
            "response_format": None if form is None else msgspec.Raw(form),
        }
        if call.deltas is not None:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
        head = spliced({"model": well_formed(call.model)}, fields, parameters.extra, _RESERVED)
        return listed([head, b',"messages":['], history.forms("openai", _segment), [b"]}"])

    def decode(self, payload: bytes) -> Answer:
        """The answer of a completion."""
        completion = decoded(payload, _COMPLETIONS)
        completion.check()
        choice = completion.choices[0] if completion.choices else None
        if choice is None or choice.message is None:
            missing = "no choice" if choice is None else "a choice without a message"
            raise Unusable(f"it holds {missing}", _usage(completion.usage))
        choice.check(completion.usage)
        try:
            text, refusal = _said(choice.message)
        except Unusable as bad:
            raise Unusable(bad.why, _usage(completion.usage)) from None
        return _answer(well_formed(text), refusal, choice.finish_reason, completion.usage)

    def reader(self) -> "ChunkReader":
        """What puts the chunks of a stream together."""
        return ChunkReader()


class _Part(msgspec.Struct):
    """A message or a delta; what it holds besides, reasoning for one, is no answer."""

    content: Any = None
    refusal: Any = None


class _Choice(msgspec.Struct):
    index: Any = 0
    message: _Part | None = None
    delta: _Part | None = None
    finish_reason: Any = None
    error: Any = None

    def check(self, usage: object) -> None:
        """Raises Refused if the choice is an error."""
        if self.error or self.finish_reason == _ERROR:
            raise Refused({"error": self.error or {}}, _usage(usage))


class _Completion(msgspec.Struct):
    """A completion or a chunk of one; what could be anything is checked where it is used."""

    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None
    object: Any = None
    message: Any = None
    status: Any = None
    code: Any = None
    type: Any = None

    def check(self) -> None:
        """Raises Refused if it is an error after all."""
        named = {"status": self.status, "code": self.code, "type": self.type}
        if self.error:
            raise Refused({**named, "error": self.error}, _usage(self.usage))
        if self.object == _ERROR:
            raise Refused({**named, "message": self.message}, _usage(self.usage))


_COMPLETIONS = msgspec.json.Decoder(_Completion)


class ChunkReader:
    """Puts one streamed completion together: complete with `[DONE]` or with a finish reason."""

    def __init__(self) -> None:
        self.done = False
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._finish: object = None
        self._usage: object = None
        self._clean = WellFormed()

    def feed(self, data: str) -> str:
        """Takes a chunk; a keepalive that a proxy sends as data is skipped."""
        if data.startswith("[DONE]"):
            self.done = True
            return ""
        if data.startswith(":"):
            return ""
        chunk = decoded(data, _COMPLETIONS)
        if chunk.usage is not None:
            self._usage = chunk.usage
        chunk.check()
        for choice in chunk.choices or ():
            if choice.index in (0, None):
                return self._chosen(choice)
        return ""

    def rest(self) -> str:
        """Half a character that nothing completed."""
        return self._add(self._clean.flush())

    def answer(self) -> Answer | None:
        """The whole completion."""
        if not self.ended:
            return None
        refusal = "".join(self._refusal) or None
        return _answer("".join(self._text), refusal, self._finish, self._usage)

    @property
    def ended(self) -> bool:
        """Whether the completion is whole."""
        return self.done or self._finish is not None

    @property
    def usage(self) -> TokenCounts:
        """What the latest chunk with a usage said."""
        counts = _usage(self._usage)
        return counts if self.ended else counts.of_a_part()

    def _chosen(self, choice: _Choice) -> str:
        choice.check(self._usage)
        if choice.finish_reason:  # an empty one, which some gateways send all along, ends nothing
            self._finish = choice.finish_reason
        if choice.delta is None:
            return ""
        text, refusal = _said(choice.delta)
        if refusal is not None:
            self._refusal.append(refusal)
        return self._add(self._clean.feed(text)) if text else ""

    def _add(self, text: str) -> str:
        if text:
            self._text.append(text)
        return text


def _segment(messages: tuple[Message, ...]) -> bytes:
    """Messages as elements of a JSON array, without its brackets."""
    parts = [
        encoded({"role": message.role.value, "content": message.content})
        for message in messages
        if message.content or message.role is not Role.ASSISTANT
    ]
    return b",".join(parts)


def _said(part: _Part) -> tuple[str, str | None]:
    """Text and refusal of a message, whose content may be a text or a list of parts."""
    content, refusal = part.content, part.refusal
    refusal = refusal if isinstance(refusal, str) and refusal else None
    if isinstance(content, str):
        return content, refusal
    if content is None:
        return "", refusal
    if not isinstance(content, list):
        raise Unusable("its content is neither text nor a list of parts")
    texts: list[str] = []
    for item in cast("list[Any]", content):
        match item:
            case str(words):
                texts.append(words)
            case {"type": "refusal", "refusal": str(words)} if words:
                refusal = refusal or words
            case _:
                texts.append(part_text(item, _TEXTS))
    return "".join(texts), refusal


def _answer(text: str, refusal: str | None, finish: object, usage: object) -> Answer:
    reason = _FINISHED.get(finish) if isinstance(finish, str) else None
    return Answer(
        content=text,
        finish_reason=ended(reason, refusal) or FinishReason.OTHER,
        refusal=None if refusal is None else well_formed(refusal),
        usage=_usage(usage),
    )


def _usage(usage: object) -> TokenCounts:
    counts = members(usage)
    if not counts:
        return UNKNOWN
    return TokenCounts.reported(
        input_tokens=counts.get("prompt_tokens"),
        output_tokens=counts.get("completion_tokens"),
        total_tokens=counts.get("total_tokens"),
        cached_input_tokens=members(counts.get("prompt_tokens_details")).get("cached_tokens"),
        reasoning_tokens=members(counts.get("completion_tokens_details")).get("reasoning_tokens"),
    )
