"""One provider endpoint: posts a body and gives the reply, bounded and in PromptKit's errors.

Loaded with the first call of a backend, because httpx takes time to load. Knows no provider.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol, cast

import httpx
import httpx_sse

from promptkit_rpc import __version__
from promptkit_rpc.backends.http.address import Address
from promptkit_rpc.backends.http.connection import Content, Pace
from promptkit_rpc.backends.http.failures import TooLong, transport_failure
from promptkit_rpc.backends.http.inflate import Inflater
from promptkit_rpc.backends.http.transport import Body, StackTransport
from promptkit_rpc.definitions.settings import BackendSettings
from promptkit_rpc.generation import CallFailed
from promptkit_rpc.secret import Redactor, Secret

LONGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of a response after decoding; a longer one is refused."""

LONGEST_ERROR = 64 * 1024
"""Bytes that are read of a response that is an error; the rest is not looked at."""


class Endpoint:
    """Where one backend's requests go. `path` is put behind the path of `base_url`.

    Raises:
        ConfigInvalid: the URL, a header or a proxy in the environment cannot be used.
    """

    def __init__(self, settings: BackendSettings, base_url: str, path: str) -> None:
        self._address = Address(settings, base_url, path)
        self._url = httpx.URL(self._address.url)
        self._timeouts = settings.timeouts
        # A peer that takes nothing is as silent as one that sends nothing.
        self._limits = {
            "connect": settings.timeouts.connect,
            "read": settings.timeouts.read,
            "write": settings.timeouts.read,
        }
        self._transport = StackTransport(self._url, os.environ)
        self._base = {
            "host": self._url.netloc,
            "accept-encoding": b"identity",
            "user-agent": f"promptkit-rpc/{__version__}".encode(),
            "content-type": b"application/json",
        }
        self.where = self._address.where

    def outgoing(
        self, credential: Secret | None, headers: dict[str, str]
    ) -> tuple[list[tuple[bytes, bytes]], Redactor]:
        """A request's headers, a configured one in place of ours, and what hides their secrets."""
        configured = self._address.headers(os.environ)
        made: dict[str, bytes] = dict(self._base)
        if self._address.login is not None:
            made["authorization"] = self._address.login.header.reveal().encode()
        for name, value in headers.items():
            made[name] = value.encode()
        for name, value in configured:
            made[name] = (value.reveal() if isinstance(value, Secret) else value).encode()
        proxy = self._transport.proxy
        of_proxy = proxy.login.secrets if proxy is not None and proxy.login is not None else ()
        secrets = [credential, *of_proxy, *self._address.secrets(configured)]
        raw = [(name.encode(), value) for name, value in made.items()]
        return raw, Redactor(secrets, self._address.ordinary)

    def post(
        self, headers: list[tuple[bytes, bytes]], parts: list[bytes], pace: Pace | None
    ) -> "Exchange":
        """Posts a body, given in parts, when entered; nothing is tried twice."""
        content = Content(parts)
        request = httpx.Request(
            "POST",
            self._url,
            headers=[*headers, (b"content-length", b"%d" % len(content))],
            stream=content,
            extensions={"timeout": self._limits, "pace": pace},
        )
        return Exchange(self, request)

    async def open(self, request: httpx.Request) -> httpx.Response:
        """Sends a request; the response's body is still to come."""
        return await self._transport.handle_async_request(request)

    def failed(self, error: httpx.HTTPError, reply: "Reply | None") -> CallFailed:
        """What a broken exchange is for the run."""
        status, progress = (reply.status, reply.progress) if reply is not None else (None, "")
        proxy = self._transport.proxy
        via = "" if proxy is None else f" through the proxy {proxy.shown}"
        return CallFailed(
            transport_failure(
                error, self.where, self._timeouts, via=via, status=status, progress=progress
            )
        )

    async def close(self) -> None:
        """Closes every connection; calls in flight fail."""
        await self._transport.aclose()


class Exchange:
    """A request and its reply; leaving it before the reply's end closes the connection.

    Raises:
        CallFailed: on entering or leaving: no response came, or reading it failed.
    """

    def __init__(self, endpoint: Endpoint, request: httpx.Request) -> None:
        self._endpoint = endpoint
        self._request: httpx.Request | None = request
        self._reply: Reply | None = None

    async def __aenter__(self) -> "Reply":
        # The request holds the body: nobody keeps it once the response has begun.
        request, self._request = self._request, None
        if request is None:
            raise RuntimeError("an exchange happens once")
        try:
            self._reply = Reply(await self._endpoint.open(request))
        except httpx.HTTPError as error:
            raise self._endpoint.failed(error, None) from error.__cause__
        return self._reply

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if self._reply is not None:
            await self._reply.close()
        if isinstance(error, httpx.HTTPError):
            raise self._endpoint.failed(error, self._reply) from error.__cause__


class Ended(Protocol):
    """What knows whether it has a whole answer, though more may come."""

    @property
    def ended(self) -> bool:
        """Whether it has."""
        ...


class Reply(httpx.AsyncByteStream):
    """A response whose body is still to be read, once, as a whole or as events."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self.content_type = response.headers.get("content-type", "").partition(";")[0].strip()
        self._body = cast("Body", response.stream)
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        self._coding = "" if coding == "identity" else coding
        self._length = response.headers.get("content-length")
        self._received = 0
        self._decoded = 0

    @property
    def is_event_stream(self) -> bool:
        """Whether the body says that it is a stream of events."""
        return self.content_type.lower() == "text/event-stream"

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing but the end of the connection tells that the body is complete."""
        return self._length is None and "transfer-encoding" not in self.headers

    @property
    def progress(self) -> str:
        """How much has come, for messages."""
        of = f" of {self._length}" if self._length and self._length.isdigit() else ""
        return f" after {self._received}{of} bytes of the body (HTTP {self.status})"

    async def read(self) -> bytes:
        """The whole decoded body; of an error only its beginning."""
        whole = httpx.codes.is_success(self.status)
        parts: list[bytes] = []
        async with aclosing(self.__aiter__()) as pieces:
            async for piece in pieces:
                parts.append(piece)
                if not whole and self._decoded >= LONGEST_ERROR:
                    break
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def events(self, reader: "Ended") -> AsyncGenerator[str]:
        """The data of each event that has any; lines end as the standard for event streams says.

        Read it to its end: after `leave` or `close` that is at once, and nothing is left open. How
        the stream itself ends does not matter once `reader` has its answer.
        """
        # The standard skips a byte-order mark at the beginning, as this codec does.
        kind = "text/event-stream; charset=utf-8-sig"
        plain = httpx.Response(self.status, headers={"content-type": kind}, stream=self)
        try:
            async for event in httpx_sse.EventSource(plain).aiter_sse():
                if event.data:
                    yield event.data
        except httpx.TransportError:
            if not reader.ended:
                raise

    def leave(self) -> None:
        """Everything needed has come: what is left of the body is not waited for."""
        self._body.leave()

    async def close(self) -> None:
        """Gives the connection back, or closes it when the body was not read to its end."""
        await self._body.aclose()

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """The decoded body, piece by piece."""
        inflater = Inflater(self._coding) if self._coding else None
        async for data in self._body:
            self._received += len(data)
            for piece in (data,) if inflater is None else inflater.feed(data):
                self._decoded += len(piece)
                if self._decoded > LONGEST_ANSWER:
                    raise TooLong(f"it is longer than {LONGEST_ANSWER} bytes")
                yield piece
        if inflater is not None and self._body.complete:
            inflater.end()
