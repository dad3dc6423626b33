"""One attempt at a provider over HTTP: post, read, redact. What is said is a codec's business.

Nothing is awaited after the last byte of an answer. `timeouts.total` is the run's to keep.
"""

import asyncio
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from promptkit_rpc.backends.classify import classify, error_message
from promptkit_rpc.backends.hiding import hide, redacted
from promptkit_rpc.backends.http.retry_after import retry_after
from promptkit_rpc.backends.payload import (
    SENTENCE,
    SNIPPET,
    Refused,
    Unusable,
    error_body,
    normalized,
    short,
)
from promptkit_rpc.definitions.settings import BackendSettings
from promptkit_rpc.errors import GenerationFailed, Origin, Reason
from promptkit_rpc.generation import Answer, Call, CallFailed, Deltas
from promptkit_rpc.secret import Redactor, Secret, shown_url
from promptkit_rpc.services import Services
from promptkit_rpc.usage import UNKNOWN, TokenCounts

if TYPE_CHECKING:
    from promptkit_rpc.backends.http.endpoint import Endpoint, Reply

_FIRST_REDIRECT, _FIRST_ERROR = 300, 400
_NOT_THERE = (404, 405)
_LOOKED_AT = 64 * 1024
_AT_A_TIME = 16
"""Events of a stream that are taken from what has come before other runs get their turn."""


class StreamReader(Protocol):
    """Puts one streamed answer together from the data of its events."""

    done: bool
    """The provider has said that nothing follows."""

    def feed(self, data: str) -> str:
        """Takes an event's data and gives the text that it adds.

        Raises:
            Unusable: it is not what a stream of this kind holds.
            Refused: it is an error.
        """
        ...

    def rest(self) -> str:
        """Text that was held back until the end, asked for once before the answer."""
        ...

    def answer(self) -> Answer | None:
        """The whole answer as if it had not been streamed, None if it is not complete."""
        ...

    @property
    def ended(self) -> bool:
        """The answer is complete, though a count or two may follow."""
        ...

    @property
    def usage(self) -> TokenCounts:
        """What has been reported so far: of a part, until the answer has ended."""
        ...


class HttpBackend(ABC):
    """A provider reached over HTTP. Making one loads and opens nothing."""

    default_url: str
    path: str

    def __init__(self, settings: BackendSettings, root: Path, services: Services) -> None:
        del root  # a provider needs nothing of the workspace
        self.settings = settings
        self._now = services.time
        self._endpoint: Endpoint | None = None

    @abstractmethod
    def base_url(self) -> str:
        """The configured base URL as the path expects it."""

    @abstractmethod
    def headers(self, credential: Secret | None) -> dict[str, str]:
        """The provider's own headers."""

    @abstractmethod
    def encode(self, call: Call) -> list[bytes]:
        """The parts of a request's body; raises CallFailed if the call cannot be said."""

    @abstractmethod
    def decode(self, payload: bytes) -> Answer:
        """The answer in a response's body; raises Unusable or Refused."""

    @abstractmethod
    def reader(self) -> StreamReader:
        """What puts a streamed answer together."""

    async def generate(self, call: Call) -> Answer:
        """One attempt.

        Raises:
            CallFailed: there is no answer.
            ConfigInvalid: the backend's settings or the environment's proxies cannot be used.
        """
        endpoint = self._endpoint or self._opened()
        ours = self.headers(call.credential)
        ours["accept"] = "application/json" if call.deltas is None else "text/event-stream"
        headers, redactor = endpoint.outgoing(call.credential, ours)
        pace = None if call.deltas is None else call.deltas.room
        reader = self.reader()
        try:
            async with endpoint.post(headers, self.encode(call), pace) as reply:
                return await self._answer(reply, reader, call.deltas, redactor)
        except CallFailed as failed:
            if reader.usage is not UNKNOWN:
                failed.usage = reader.usage
            hide(failed, redactor)
            raise
        except asyncio.CancelledError:
            call.report(reader.usage)
            raise

    async def close(self) -> None:
        """Closes every connection; calls in flight fail, and a later call opens anew."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()

    def _opened(self) -> "Endpoint":
        # httpx takes a while to load: not before the first call.
        from promptkit_rpc.backends.http.endpoint import Endpoint  # noqa: PLC0415

        self._endpoint = Endpoint(self.settings, self.base_url(), self.path)
        return self._endpoint

    async def _answer(
        self, reply: "Reply", reader: StreamReader, deltas: Deltas | None, redactor: Redactor
    ) -> Answer:
        try:
            if reply.status >= _FIRST_REDIRECT:
                raise self._refusal(reply, await reply.read(), redactor)
            if reply.is_event_stream:
                return await self._streamed(reply, reader, deltas, redactor)
            payload = await reply.read()
            return self._whole(payload, reply, deltas, redactor)
        except Refused as error:
            refused = error
        # Not inside the handler: what was refused would go along, and may hold the key.
        raise self._refused(refused, reply, redactor)

    def _whole(
        self, payload: bytes, reply: "Reply", deltas: Deltas | None, redactor: Redactor
    ) -> Answer:
        try:
            answer = redacted(self.decode(payload), redactor)
        except Unusable as error:
            bad = error
        else:
            _push(answer.content, deltas)
            return answer
        raise self._unusable(bad, reply, payload, redactor)

    async def _streamed(
        self, reply: "Reply", reader: StreamReader, deltas: Deltas | None, redactor: Redactor
    ) -> Answer:
        pieces = redactor.pieces()
        bad: Refused | Unusable | None = None
        said = ""
        taken = 0
        async for data in reply.events(reader):
            if reader.done or bad is not None:
                continue
            taken += 1
            await _paced(deltas, taken)
            try:
                _push(pieces.feed(reader.feed(data)), deltas)
            except (Refused, Unusable) as error:
                bad, said = error, data
                await reply.close()
            if reader.done:
                reply.leave()
        if isinstance(bad, Unusable):
            raise self._unusable(bad, reply, said.encode("utf-8", "replace"), redactor)
        if bad is not None:
            raise bad
        rest = reader.rest()
        answer = reader.answer()
        if answer is None:
            raise self._broken(reply)
        _push(pieces.feed(rest) + pieces.flush(), deltas)
        return redacted(answer, redactor)

    # Failures.

    def _refusal(self, reply: "Reply", payload: bytes, redactor: Redactor) -> CallFailed:
        body = error_body(payload)
        words = error_message(body)
        kind = short(redactor.text(reply.content_type), SNIPPET) or "no content type"
        if reply.status < _FIRST_ERROR:
            place = shown_url(reply.headers.get("location", ""))
            said = f"a redirect to {place or 'nowhere'}; none is followed: correct baseUrl"
        elif words is None:
            said = f"{_snippet(payload, redactor)!r} ({kind})"
        else:
            said = words
        text = f"{self._where} answered {reply.status}: {short(redactor.text(said), SENTENCE)}"
        if reply.status in _NOT_THERE:
            text += f" (asked for {self.path} below baseUrl)"
        return CallFailed(classify(reply.status, body, self._retry_after(reply), text))

    def _refused(self, refused: Refused, reply: "Reply", redactor: Redactor) -> CallFailed:
        body = normalized(refused.body)
        words = short(redactor.text(error_message(body) or "no reason given"), SENTENCE)
        text = f"{self._where} answered {reply.status} with an error inside: {words}"
        return CallFailed(
            classify(reply.status, body, self._retry_after(reply), text), refused.usage
        )

    def _unusable(
        self, bad: Unusable, reply: "Reply", payload: bytes, redactor: Redactor
    ) -> CallFailed:
        if bad.cut_off and reply.ends_with_connection:
            return self._broken(reply)
        kind = short(redactor.text(reply.content_type), SNIPPET) or "no content type"
        text = f"{self._where} answered {reply.status} ({kind}), but {bad.why}"
        if snippet := _snippet(payload, redactor):
            text += f": {snippet!r}"
        error = GenerationFailed(
            text,
            reason=Reason.MALFORMED_RESPONSE,
            origin=Origin.PROMPTKIT,
            http_status=reply.status,
        )
        return CallFailed(error, bad.usage)

    def _broken(self, reply: "Reply") -> CallFailed:
        error = GenerationFailed(
            f"the answer of {self._where} broke off{reply.progress}",
            reason=Reason.CONNECTION,
            origin=Origin.PROMPTKIT,
            http_status=reply.status,
        )
        return CallFailed(error)

    @property
    def _where(self) -> str:
        return self._endpoint.where if self._endpoint is not None else self.settings.name

    def _retry_after(self, reply: "Reply") -> float | None:
        return retry_after(reply.headers, self._now)


def _snippet(payload: bytes, redactor: Redactor) -> str:
    return short(redactor.text(payload[:_LOOKED_AT].decode("utf-8", "replace")), SNIPPET)


async def _paced(deltas: Deltas | None, taken: int) -> None:
    """Waits until an event may be passed on: much may have come at once, and for many runs."""
    room = None if deltas is None else deltas.room()
    if room is None and taken % _AT_A_TIME == 0:
        await asyncio.sleep(0)
    while room is not None:
        await room
        room = None if deltas is None else deltas.room()


def _push(text: str, deltas: Deltas | None) -> None:
    if text and deltas is not None:
        deltas.push(text)
