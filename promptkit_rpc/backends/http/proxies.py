"""Which proxy a request goes through, as the environment says. Reads names, never guesses.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, the lower-case spelling first, as curl and
Python's own library read them.
"""

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from attrs import field, frozen

from promptkit_rpc.backends.http.login import Login
from promptkit_rpc.errors import ConfigInvalid

_PORTS = {"http": 80, "https": 443}


@frozen(kw_only=True)
class Proxy:
    """An HTTP proxy; `scheme` is how one talks to the proxy itself."""

    scheme: str
    host: str
    port: int
    variable: str
    login: Login | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """Its address and where that is written, without the login."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port} ({self.variable})"


def proxy_for(scheme: str, host: str, port: int, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy for an origin, or None to go there directly.

    Raises:
        ConfigInvalid: a variable that counts here names something that is no HTTP proxy.
    """
    for name in (f"{scheme}_proxy", "all_proxy"):
        variable, value = _read(name, environ)
        if value:
            _, exceptions = _read("no_proxy", environ)
            if _excepted(host, port, exceptions):
                return None
            return _parsed(variable, value)
    return None


def _read(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    for variable in (name, name.upper()):
        if value := environ.get(variable, "").strip():
            return variable, value
    return name, ""


def _parsed(variable: str, value: str) -> Proxy:
    try:
        url = urlsplit(value if "://" in value else f"http://{value}")
        scheme, host, port = url.scheme.lower(), url.hostname, url.port
        host = host and host.encode("idna").decode() if host and ":" not in host else host
    except ValueError:
        scheme, host, port = "", None, None
        url = None
    if url is None or not host or not host.isprintable():
        raise ConfigInvalid(
            f"environment variable {variable} holds no proxy address; write http://host:port,"
            " empty it, or list the provider's host in NO_PROXY"
        )
    if scheme not in _PORTS:
        raise ConfigInvalid(
            f"environment variable {variable} names a {scheme}:// proxy; only http:// and https://"
            " proxies are supported. Change it or list the provider's host in NO_PROXY"
        )
    login = None if url.username is None else Login(url.username, url.password or "")
    return Proxy(
        scheme=scheme,
        host=host,
        port=port or _PORTS[scheme],
        variable=variable,
        login=login,
    )


def _excepted(host: str, port: int, exceptions: str) -> bool:
    return any(_covers(entry.strip(), host.lower(), port) for entry in exceptions.split(","))


def _covers(entry: str, host: str, port: int) -> bool:
    """Whether one entry of NO_PROXY names a host; an entry that means nothing names none."""
    entry = entry.lower().rpartition("://")[2]
    if entry == "*":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host) in ipaddress.ip_network(_bare(entry), strict=False)
    name, colon, number = entry.rpartition(":")
    if colon and number.isdecimal():
        if int(number) != port:
            return False
        entry = name
    entry = _bare(entry).lstrip("*").lstrip(".")
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))


def _bare(entry: str) -> str:
    return entry[1:-1] if entry.startswith("[") and entry.endswith("]") else entry
