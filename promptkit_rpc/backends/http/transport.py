"""An httpx transport for one origin: a stack of idle connections instead of a pool that is scanned.

Never follows a redirect, never asks twice but for a connection that had died idle. Knows no
provider.
"""

import asyncio
import ipaddress
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import cast

import httpx

from promptkit_rpc.backends.http.connection import BrokenOff, Connection, Content, Pace, Unanswered
from promptkit_rpc.backends.http.login import Login
from promptkit_rpc.backends.http.message import head_of
from promptkit_rpc.backends.http.proxies import Proxy, proxy_for
from promptkit_rpc.errors import ConfigInvalid

KEEP_ALIVE = 30.0
"""Seconds an idle connection is kept: short of what networks forget without saying so."""

NEWS = 1.0
"""Seconds within which a connection that had died idle says so: one that ends later was at work."""

_OK, _REDIRECTS = 200, 300
_EYEBALLS = 0.25
_READ_SIZE = 256 * 1024
"""Bytes that are read from a socket at once."""


class ProxyRefused(httpx.ProxyError):
    """The proxy did not open a tunnel; `status` is what it answered."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the proxy answered {status}")
        self.status = status


class StackTransport(httpx.AsyncBaseTransport):
    """Serves requests to the origin of `url`, on as many connections as are needed at once.

    `environ` is where proxies and certificate files are named.
    """

    def __init__(self, url: httpx.URL, environ: Mapping[str, str]) -> None:
        port = url.port or {"http": 80, "https": 443}[url.scheme]
        self._scheme, self._host, self._port = url.scheme, url.raw_host.decode("ascii"), port
        self._origin = (url.scheme, url.host, url.port)
        self.proxy: Proxy | None = proxy_for(self._scheme, self._host, port, environ)
        self._environ = environ
        self._context: ssl.SSLContext | None = None
        self._buffer = memoryview(bytearray(_READ_SIZE))
        self._idle: list[Connection] = []
        self._busy: set[Connection] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self.closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request; the response's body is read from the connection as it is iterated.

        The extension `timeout` has `connect`, `read` and `write` in seconds; `pace` is asked
        before more of the body is read.
        """
        if (request.url.scheme, request.url.host, request.url.port) != self._origin:
            raise httpx.UnsupportedProtocol("this transport serves one origin")
        stream = cast("httpx.AsyncByteStream", request.stream)
        body = stream if isinstance(stream, Content) else Content([p async for p in stream])
        timeouts = cast("dict[str, float | None]", request.extensions.get("timeout", {}))
        head = self._head(request)
        connection = self._pop()
        if connection is not None:
            now = asyncio.get_running_loop().time
            late = now() + NEWS
            try:
                return await self._exchange(connection, head, body, timeouts, request)
            except Unanswered:
                # The peer had closed it, and nobody could know: this request is its first news.
                if self.closed or now() >= late:
                    raise
        connection = await self._connect(timeouts)
        return await self._exchange(connection, head, body, timeouts, request)

    async def aclose(self) -> None:
        """Closes every connection; requests in flight fail."""
        self.closed = True
        for connection in (*self._idle, *self._busy):
            connection.abort()
        self._idle.clear()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    async def _exchange(
        self,
        connection: Connection,
        head: bytes,
        body: Content,
        timeouts: dict[str, float | None],
        request: httpx.Request,
    ) -> httpx.Response:
        self._busy.add(connection)
        try:
            response = await connection.request(head, body, timeouts)
        except BaseException:
            self._drop(connection)
            raise
        pace = cast("Pace | None", request.extensions.get("pace"))
        stream = Body(connection, timeouts.get("read"), pace, self._drop)
        return httpx.Response(response.status, headers=response.headers, stream=stream)

    def _head(self, request: httpx.Request) -> bytes:
        target = request.url.raw_path
        headers = request.headers.raw
        if self.proxy is not None and self._scheme == "http":
            target = b"http://" + request.url.netloc + target
            if self.proxy.login is not None:
                headers = [*headers, _authorization(self.proxy.login)]
        return head_of(request.method.encode(), target, headers)

    # Connections.

    def _pop(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - KEEP_ALIVE
        while self._idle:
            connection = self._idle.pop()
            if connection.alive and connection.idle_since > oldest:
                return connection
            connection.abort()
        return None

    def _push(self, connection: Connection) -> None:
        self._busy.discard(connection)
        if self.closed or not connection.alive:
            connection.abort()
            return
        self._idle.append(connection)
        if self._sweep is None:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(KEEP_ALIVE, self._sweep_idle)

    def _drop(self, connection: Connection) -> None:
        self._busy.discard(connection)
        connection.abort()

    def _sweep_idle(self) -> None:
        """Closes what was idle too long; the stack's bottom is the oldest."""
        loop = asyncio.get_running_loop()
        oldest = loop.time() - KEEP_ALIVE
        keep: list[Connection] = []
        for connection in self._idle:
            if connection.alive and connection.idle_since > oldest:
                keep.append(connection)
            else:
                connection.abort()
        self._idle = keep
        self._sweep = loop.call_later(KEEP_ALIVE, self._sweep_idle) if keep else None

    async def _connect(self, timeouts: dict[str, float | None]) -> Connection:
        if self.closed:
            raise httpx.ConnectError("the backend is closed")
        tls = self._scheme == "https" or (self.proxy is not None and self.proxy.scheme == "https")
        context = await self._tls() if tls else None
        try:
            async with asyncio.timeout(timeouts.get("connect")):
                connection = await self._opened(context)
        except TimeoutError:
            raise httpx.ConnectTimeout("no connection in time") from None
        except OSError as error:
            # Also what ssl raises: told apart by the cause where it matters.
            raise httpx.ConnectError("no connection") from error
        if self.closed:
            connection.abort()
            raise httpx.ConnectError("the backend is closed")
        return connection

    async def _opened(self, context: ssl.SSLContext | None) -> Connection:
        proxy = self.proxy
        if proxy is None:
            return await self._dial(self._host, self._port, context)
        outer = context if proxy.scheme == "https" else None
        connection = await self._dial(proxy.host, proxy.port, outer)
        if self._scheme == "http":
            return connection
        try:
            await self._tunnel(connection, proxy)
            await connection.start_tls(context, self._host)
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _dial(self, host: str, port: int, context: ssl.SSLContext | None) -> Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: Connection(self._push, self._buffer),
            host,
            port,
            ssl=context,
            # Racing addresses takes tasks, and needs a name that may have several.
            happy_eyeballs_delay=None if _is_address(host) else _EYEBALLS,
        )
        return connection

    async def _tunnel(self, connection: Connection, proxy: Proxy) -> None:
        host = f"[{self._host}]" if ":" in self._host else self._host
        target = f"{host}:{self._port}".encode()
        headers = [(b"Host", target)]
        if proxy.login is not None:
            headers.append(_authorization(proxy.login))
        head = head_of(b"CONNECT", target, headers)
        try:
            # All of this is bounded by the time that a connection may take.
            response = await connection.request(head, Content([]), {})
        except httpx.RemoteProtocolError as error:
            # Of the request itself nothing has been sent yet.
            ended = isinstance(error, Unanswered | BrokenOff)
            why = "closed the connection" if ended else f"cannot be understood: {error}"
            raise httpx.ConnectError(f"the proxy {why}") from None
        if not _OK <= response.status < _REDIRECTS:
            raise ProxyRefused(response.status)

    async def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            try:
                # Reading every certificate takes long enough to keep others waiting.
                context = await asyncio.to_thread(httpx.create_ssl_context)
            except OSError:
                names = [n for n in ("SSL_CERT_FILE", "SSL_CERT_DIR") if self._environ.get(n)]
                raise ConfigInvalid(
                    f"the certificates named by {' or '.join(names) or 'the system'} cannot be read"
                ) from None
            context.set_alpn_protocols(["http/1.1"])
            self._context = context
        return self._context


class Body(httpx.AsyncByteStream):
    """A response's body; reading its end gives the connection back without waiting."""

    def __init__(
        self,
        connection: Connection,
        within: float | None,
        pace: Pace | None,
        drop: Callable[[Connection], None],
    ) -> None:
        self._connection: Connection | None = connection
        self._within = within
        self._pace = pace
        self._drop = drop
        self.complete = False

    def __aiter__(self) -> "Body":
        return self

    async def __anext__(self) -> bytes:
        """The next bytes as they come."""
        connection = self._connection
        if connection is None:
            raise StopAsyncIteration
        try:
            data = await connection.receive(self._within, self._pace)
        except BaseException:
            self._connection = None
            self._drop(connection)
            raise
        if data is None:
            self.complete, self._connection = True, None
            raise StopAsyncIteration
        return data

    def leave(self) -> None:
        """The rest does not matter: keeps the connection if the end comes soon."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.leave()

    async def aclose(self) -> None:
        """Gives up what was not read."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._drop(connection)


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return False


def _authorization(login: Login) -> tuple[bytes, bytes]:
    return (b"Proxy-Authorization", login.header.reveal().encode())
