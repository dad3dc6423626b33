"""Where a backend's requests go and which headers they carry; what of it is secret.

Knows no transport. Everything a person wrote is checked here, so that no library quotes it back.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NoReturn
from urllib.parse import parse_qsl, urlsplit

from promptkit_rpc.backends.http.login import Login
from promptkit_rpc.definitions.settings import BackendSettings, HeaderValue
from promptkit_rpc.errors import ConfigInvalid
from promptkit_rpc.secret import Secret, shown_url

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TELLING = re.compile("auth|key|token|secret|passw|cookie|credential|sig", re.IGNORECASE)
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "te", "upgrade"})


class Address:
    """A base URL with a path put behind its own; the query stays at the end.

    Raises:
        ConfigInvalid: the URL or a header cannot be used.
    """

    def __init__(self, settings: BackendSettings, base_url: str, path: str) -> None:
        self._settings = settings
        try:
            parts = urlsplit(base_url.strip())
            known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            self._refuse("baseUrl is no URL")
        if not known or not base_url.isprintable():
            self._refuse("baseUrl must be http://host or https://host")
        if not parts.path.endswith(path):
            parts = parts._replace(path=parts.path.rstrip("/") + path)
        login, at, host = parts.netloc.rpartition("@")
        name, _, password = login.partition(":")
        parts = parts._replace(netloc=host, fragment="")
        self.url = parts.geturl()
        self.shown = shown_url(self.url)
        self.where = host
        self.login = Login(name, password) if at else None
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        self._of_query = [Secret(value) for name, value in pairs if _TELLING.search(name)]
        # A word without a value may be a key, though hardly.
        self.ordinary = [
            Secret(value or name) for name, value in pairs if not _TELLING.search(name)
        ]
        self._headers = [self._checked(name, value) for name, value in settings.headers]

    def headers(self, environ: Mapping[str, str]) -> list[tuple[str, Secret | str]]:
        """The configured headers, in lower case; what should not be shown is a secret.

        Raises:
            ConfigInvalid: an environment variable is not set or does not fit.
        """
        return [(name, self._value(name, value, environ)) for name, value in self._headers]

    def secrets(self, headers: list[tuple[str, Secret | str]]) -> Iterator[Secret]:
        """What no text may show: keys in the URL, the login, secret headers."""
        yield from self._of_query
        if self.login is not None:
            yield from self.login.secrets
        for _, value in headers:
            if isinstance(value, Secret):
                yield value

    def _checked(self, name: str, value: HeaderValue) -> tuple[str, HeaderValue | str | Secret]:
        if not _NAME.fullmatch(name):
            self._refuse("a name in headers is no HTTP header's name")
        if name.lower() in _OURS:
            self._refuse(f"the header {name} is set by PromptKit alone")
        if value.env is not None:
            return name.lower(), value
        text = value.text or ""
        if not text.isascii() or not (text.isprintable() or not text):
            self._refuse(f"the value of header {name} is not printable ASCII")
        return name.lower(), Secret(text) if _TELLING.search(name) else text

    def _value(
        self, name: str, value: HeaderValue | str | Secret, environ: Mapping[str, str]
    ) -> Secret | str:
        if not isinstance(value, HeaderValue):
            return value
        variable = value.env or ""
        text = environ.get(variable)
        if text is None:
            self._refuse(f"environment variable {variable}, asked for by header {name}, is not set")
        return Secret.parse(
            text,
            source=f"environment variable {variable}",
            location=self._settings.location,
            capitals=not _TELLING.search(name),
        )

    def _refuse(self, why: str) -> NoReturn:
        raise ConfigInvalid(
            f"backend {self._settings.name!r}: {why}", location=self._settings.location
        )
