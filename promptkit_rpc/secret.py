"""Secrets: a wrapper that shows nothing, and their removal from text that leaves the process.

Knows neither where a secret comes from nor which text is about to leave.
"""

import base64
import json
import logging
import re
from collections.abc import Iterable
from typing import NoReturn, Self
from urllib.parse import quote, urlsplit
from weakref import WeakSet

from promptkit_rpc.errors import ConfigInvalid, CredentialMissing, Location, PromptKitError

MASK = "***"
"""Stands where a secret stood."""

SHORTEST = 4
"""Fewer characters are no secret that could be told from ordinary text; they stay everywhere."""

SHORTEST_IN_ANSWERS = 8
"""A model's own words are only cut for secrets of this length: "ollama" is a key and a word."""

_LEFT_IN_URLS = ("", "/", "/:@!$&'()*+,;=")
_MINDED_IN_HTML = ("+", "&<>", "&'+<>`", "&'<=>")
"""What JSON encoders of .NET, Go and Gson escape beside what they have to."""
_ENCODED_AT_LEAST = 8
_DOLLAR = re.compile(r"\$\{(\w+)\}|\$([A-Z][A-Z0-9_]*)")
_CAPITALS = re.compile(r"[A-Z]+(?:_[A-Z]+)+(?:_[0-9]{1,3})?")


class Secret:
    """Holds a credential. Its repr, str, format, copies and JSON never show the value.

    Two secrets are equal only if they are the same object.
    """

    __slots__ = ("__weakref__", "_forms", "_value")

    def __init__(self, value: str) -> None:
        self._value = value
        self._forms: tuple[str, ...] | None = None
        _living.add(self)

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        source: str,
        invalid: type[PromptKitError] = ConfigInvalid,
        location: Location | None = None,
        capitals: bool = False,
    ) -> Self:
        """The secret in a text, stripped of surrounding white space.

        `source` says where the text stood, for messages: "environment variable API_KEY".
        `capitals` says that SUCH_WORDS may stand there, where a key is not the only thing to.

        Raises:
            CredentialMissing: nothing is left of it.
            PromptKitError: of the class `invalid`: it cannot stand in a header or is a placeholder.
        """
        value = text.strip()
        if not value:
            raise CredentialMissing(
                f"{source} is empty; a credential is expected there", location=location
            )
        if not value.isascii() or not value.isprintable():
            raise invalid(
                f"{source} holds characters that no HTTP header may carry (only printable ASCII"
                " may stand in a credential)",
                location=location,
            )
        name = _placeholder(value)
        if name is not None and not (capitals and name == value):
            raise invalid(
                f"{source} holds the name of the environment variable {name}, not its value;"
                f" names are not expanded: use credential: {{env: {name}}}",
                location=location,
            )
        return cls(value)

    def reveal(self) -> str:
        """The value itself; call it only where it goes on the wire."""
        return self._value

    def forms(self) -> tuple[str, ...]:
        """Every spelling of the value that text may hold, the longest first."""
        if self._forms is None:
            self._forms = tuple(sorted(_spellings(self._value), key=lambda form: -len(form)))
        return self._forms

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __format__(self, _: str) -> str:
        return repr(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __getstate__(self) -> NoReturn:
        raise TypeError("a secret cannot be serialized")

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError("a secret cannot be serialized")


_living: WeakSet[Secret] = WeakSet()


class Redactor:
    """Takes some secrets out of text, however they are spelled there. Redact first, then shorten.

    `text` is for errors and logs, `answer` for what a model said. What is given as `only_in_text`
    is too ordinary to be cut from answers.
    """

    __slots__ = ("_everywhere", "_in_answers")

    def __init__(
        self, secrets: Iterable[Secret | None], only_in_text: Iterable[Secret] = ()
    ) -> None:
        held = [secret for secret in secrets if secret is not None]
        self._everywhere = _forms([*held, *only_in_text], SHORTEST)
        self._in_answers = _forms(held, SHORTEST_IN_ANSWERS)

    def text(self, text: str) -> str:
        """The text without any of the secrets."""
        return _without(text, self._everywhere)

    def answer(self, text: str) -> str:
        """The text without those secrets that are too long to be a word."""
        return _without(text, self._in_answers)

    def pieces(self) -> "Pieces":
        """Does what `answer` does to a text that comes in pieces."""
        return Pieces(self._in_answers)


class Pieces:
    """Redacts a text piece by piece; a secret that two pieces share does not slip through.

    What could be the beginning of a secret is held back until more is known.
    """

    __slots__ = ("_forms", "_held")

    def __init__(self, forms: list[str]) -> None:
        self._forms = forms
        self._held = ""

    def feed(self, piece: str) -> str:
        """What may be shown after one more piece."""
        if not self._forms:
            return piece
        text = _without(self._held + piece, self._forms)
        start = min(_beginning(text, form) for form in self._forms)
        self._held = text[start:]
        return text[:start]

    def flush(self) -> str:
        """The rest; no more pieces follow."""
        held, self._held = self._held, ""
        return held


def known() -> Redactor:
    """A redactor for every secret that is alive in this process."""
    return Redactor(list(_living))


class SecretFilter(logging.Filter):
    """Takes every known secret out of log records, and HTTP libraries' chatter out of the log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Redacts the message with its arguments, the traceback and the stack."""
        if record.name.partition(".")[0] in _HTTP_LOGGERS and record.levelno < logging.WARNING:
            return False
        redactor = known()
        try:
            message = record.getMessage()
        except (TypeError, ValueError, LookupError):
            message = f"{record.msg} (its arguments do not fit)"
        record.msg, record.args = redactor.text(message), None
        if record.exc_info and not record.exc_text:
            record.exc_text = _TRACEBACKS.formatException(record.exc_info)
        record.exc_info = None
        if record.exc_text:
            record.exc_text = redactor.text(record.exc_text)
        if record.stack_info:
            record.stack_info = redactor.text(record.stack_info)
        return True


_HTTP_LOGGERS = frozenset({"httpx", "httpcore", "h11", "httpx_sse"})
_TRACEBACKS = logging.Formatter()


def guard_logging(*handlers: logging.Handler) -> None:
    """Puts the filter on handlers and turns the HTTP libraries down, whatever the root's level."""
    for handler in handlers:
        handler.addFilter(SecretFilter())
    for name in _HTTP_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def shown_url(url: str) -> str:
    """A URL as it may be shown: without password, query values and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")
    except ValueError:
        return MASK
    netloc = f"{MASK}@{host[2]}" if host[1] else host[2]
    pairs = (pair.partition("=") for pair in parts.query.split("&") if pair)
    query = "&".join(f"{name}={MASK}" if equals else MASK for name, equals, _ in pairs)
    return parts._replace(netloc=netloc, query=query, fragment="").geturl()


def _placeholder(value: str) -> str | None:
    dollar = _DOLLAR.fullmatch(value)
    if dollar is not None:
        return dollar[1] or dollar[2]
    return value if _CAPITALS.fullmatch(value) else None


def _forms(secrets: list[Secret], shortest: int) -> list[str]:
    forms = [
        form for secret in secrets if len(secret.reveal()) >= shortest for form in secret.forms()
    ]
    if len(secrets) > 1:
        # One secret may be part of another: the longer one has to go first, or its rest would stay.
        forms.sort(key=len, reverse=True)
    return forms


def _without(text: str, forms: list[str]) -> str:
    for form in forms:
        if form in text:
            text = text.replace(form, MASK)
    return text


def _beginning(text: str, form: str) -> int:
    """Where a tail begins that the form begins with; the text's length if there is none."""
    first = form[0]
    at = text.find(first, max(0, len(text) - len(form) + 1))
    while at != -1:
        if form.startswith(text[at:]):
            return at
        at = text.find(first, at + 1)
    return len(text)


def _spellings(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogatepass")
    quoted = json.dumps(value)[1:-1]
    forms = {value, quoted}
    for letters in _MINDED_IN_HTML:
        for form in ("\\u%04x", "\\u%04X"):
            forms.add("".join(form % ord(c) if c in letters else c for c in quoted))
    forms |= {form.replace("/", "\\/") for form in forms}
    for safe in _LEFT_IN_URLS:
        escaped = quote(data, safe=safe)
        forms |= {escaped, escaped.replace("%20", "+")}
        forms.add(re.sub("%..", lambda match: match[0].lower(), escaped))
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # The first and last characters also hold bits of what stands around the secret.
            whole = encode(bytes(offset) + data).decode()
            form = whole[(0, 2, 3)[offset] : (offset + len(data)) * 8 // 6]
            if len(form) >= _ENCODED_AT_LEAST:
                forms.add(form)
    return forms
