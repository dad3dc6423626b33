"""Reads backends: where a provider is, what it is sent, and where its key comes from.

A key never stands in a file, so no message here repeats a value that may be one.
"""

import posixpath
import re
from urllib.parse import urlsplit

from promptkit_rpc.definitions.beside import Beside
from promptkit_rpc.definitions.fields import Fields
from promptkit_rpc.definitions.files import FileRefused
from promptkit_rpc.definitions.problem import Problems
from promptkit_rpc.definitions.replies import parse_replies
from promptkit_rpc.definitions.settings import (
    BackendKind,
    BackendSettings,
    CredentialKind,
    CredentialSource,
    HeaderValue,
    Reply,
    RetryPolicy,
    Structured,
    Timeouts,
)
from promptkit_rpc.definitions.tree import Entry, MapNode, Node, ScalarNode, kind_of
from promptkit_rpc.errors import Location

NETWORKED = frozenset((BackendKind.OPENAI, BackendKind.ANTHROPIC))

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_EXPANSION = re.compile(r"\$\{\s*([A-Za-z_][A-Za-z0-9_]*)")
_LOOKS_LIKE_A_VARIABLE = re.compile(r"[A-Z]+(_[A-Z]+)+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_TEXT = re.compile(r"[ -~\t]*")
_KEYS = ("apikey", "key", "token", "secret", "password")
_INSTEAD: dict[str, str] = dict.fromkeys(_KEYS, "use `credential: {env: NAME}`")
_OURS = frozenset(("content-length", "transfer-encoding", "connection"))


def parse_backend(
    entry: Entry, problems: Problems, path: tuple[str, ...], beside: Beside
) -> BackendSettings | None:
    """One backend, or None where it cannot be made out; its problems are reported."""
    fields = Fields.of(entry.value, problems, path, f"the backend {entry.key!r}")
    if fields is None:
        return None
    fields.need("kind")
    kind = fields.choice("kind", BackendKind)
    settings = BackendSettings(
        name=entry.key,
        kind=kind or BackendKind.SCRIPTED,
        location=Location(problems.file, entry.key_span.line, entry.key_span.column),
        description=fields.text("description", blank=True),
        base_url=_base_url(fields),
        credential=_credential(fields),
        capacity=fields.integer("capacity", least=1),
        permits=fields.integer("permits", least=1),
        queue=fields.integer("queue", least=0),
        timeouts=_timeouts(fields),
        retry=_retry(fields),
        headers=_headers(fields),
        structured=fields.choice("structured", Structured) or Structured.NATIVE,
        max_tokens_field=fields.text("maxTokensField"),
        replies=_replies(fields, beside),
    )
    if kind in NETWORKED:
        fields.need("baseUrl")
    fields.finish(_INSTEAD)
    return settings


def _base_url(fields: Fields) -> str | None:
    url = fields.text("baseUrl")
    if url is None:
        return None
    fault = _expansion_fault(url) or _url_fault(url)
    if fault is not None:
        fields.wrong("baseUrl", f"'baseUrl' {fault}", code="url")
        return None
    return url


def _expansion_fault(text: str) -> str | None:
    found = _EXPANSION.search(text)
    if found is None:
        return None
    return (
        f"is not expanded: ${{{found[1]}}} stands for nothing here; where a value may come from"
        f" the environment it is written {{env: {found[1]}}}"
    )


def _url_fault(url: str) -> str | None:
    if not url.isascii() or not url.isprintable() or " " in url:
        return "holds characters that a URL cannot hold"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is no URL"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "must be an http:// or https:// URL"
    if parts.username is not None or parts.password is not None:
        return "holds a login; give the key as `credential`"
    if parts.fragment:
        return "holds a fragment (#...), which is never sent"
    return "has port 0" if port == 0 else None


def _credential(fields: Fields) -> CredentialSource | None:
    node = fields.take("credential")
    if node is None:
        return None
    if not isinstance(node, MapNode):
        fields.wrong("credential", _no_place(node), code="credential")
        return None
    place = Fields(node, fields.problems, (*fields.path, "credential"))
    given = [kind for kind in CredentialKind if place.take(kind.value) is not None]
    if len(given) != 1:
        message = "'credential' needs exactly one of env, file, command and client"
        fields.wrong("credential", message, code="credential")
    place.finish()
    value = _credential_value(place, given[0]) if len(given) == 1 else None
    if value is None:
        return None
    location = Location(fields.problems.file, node.span.line, node.span.column)
    return CredentialSource(given[0], value, location)


def _no_place(node: Node) -> str:
    """What to write in place of a key, naming a variable only where it surely is one."""
    text = node.text if isinstance(node, ScalarNode) else ""
    variable = _VARIABLE.fullmatch(text.strip())
    if variable is not None:
        name = variable[1]
        return f"${{{name}}} is not expanded; write `credential: {{env: {name}}}`"
    if _LOOKS_LIKE_A_VARIABLE.fullmatch(text):
        return f"the environment variable {text} is asked for by `credential: {{env: {text}}}`"
    return (
        f"'credential' says where the key is found, as {{env: NAME}}, {{file: path}},"
        f" {{command: [...]}} or {{client: name}}; this is {kind_of(node)}"
    )


def _credential_value(place: Fields, kind: CredentialKind) -> tuple[str, ...] | None:
    if kind is CredentialKind.COMMAND:
        words = place.texts("command")
        if words == ():
            place.wrong("command", "'command' names no program")
        return words or None
    text = place.text(kind.value)
    if text is None:
        return None
    if kind is CredentialKind.ENV:
        return _variable(place, "env", text)
    found = _EXPANSION.search(text)
    if found is not None:
        message = f"'{kind.value}' {_expansion_fault(text)}"
        place.wrong(kind.value, message, code="credential")
        return None
    return (text,)


def _variable(fields: Fields, key: str, text: str) -> tuple[str] | None:
    if _NAME.fullmatch(text):
        return (text,)
    found = _VARIABLE.fullmatch(text.strip())
    message = "'env' must be the name of an environment variable"
    if found is not None:
        message = f"write the variable's bare name: {{env: {found[1]}}}"
    fields.wrong(key, message, code="credential")
    return None


def _timeouts(fields: Fields) -> Timeouts:
    timeouts = fields.fields("timeouts")
    if timeouts is None:
        return Timeouts()
    default = Timeouts()
    found = Timeouts(
        connect=_limit(timeouts, "connect", default.connect),
        read=_limit(timeouts, "read", default.read),
        total=_limit(timeouts, "total", default.total),
    )
    timeouts.finish()
    return found


def _limit(fields: Fields, key: str, default: float | None) -> float | None:
    """A time limit; written as null it is none."""
    found = fields.number(key, positive=True)
    return found if fields.has(key) else default


def _retry(fields: Fields) -> RetryPolicy:
    retry = fields.fields("retry")
    default = RetryPolicy()
    if retry is None:
        return default
    attempts = retry.integer("attempts", least=1)
    base_delay = retry.number("baseDelay", least=0)
    max_delay = retry.number("maxDelay", least=0)
    retry.finish()
    return RetryPolicy(
        attempts=default.attempts if attempts is None else attempts,
        base_delay=default.base_delay if base_delay is None else base_delay,
        max_delay=default.max_delay if max_delay is None else max_delay,
    )


def _headers(fields: Fields) -> tuple[tuple[str, HeaderValue], ...]:
    found: dict[str, tuple[str, HeaderValue]] = {}
    for entry in fields.named("headers"):
        path = (*fields.path, "headers", entry.key)
        fault = _header_name_fault(entry.key, found)
        if fault is not None:
            fields.problems.add(entry.key_span, fault, code="header", path=path)
            continue
        value = _header_value(entry, fields.problems, path)
        if value is not None:
            found[entry.key.lower()] = (entry.key, value)
    return tuple(found.values())


def _header_name_fault(name: str, found: dict[str, tuple[str, HeaderValue]]) -> str | None:
    if not _HEADER.fullmatch(name):
        return "this is no header's name"
    if name.lower() in _OURS:
        return f"the header {name} is set by the connection itself"
    if name.lower() in found:
        return f"the header {name} is there twice; names differ in more than case"
    return None


def _header_value(entry: Entry, problems: Problems, path: tuple[str, ...]) -> HeaderValue | None:
    node = entry.value
    if isinstance(node, MapNode):
        fields = Fields(node, problems, path)
        fields.need("env")
        text = fields.text("env")
        fields.finish()
        name = None if text is None else _variable(fields, "env", text)
        return None if name is None else HeaderValue(env=name[0])
    if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
        message = f"a header's value must be text or {{env: NAME}}, not {kind_of(node)}"
        hint = "; put it in quotes" if isinstance(node, ScalarNode) else ""
        problems.add(node.span, message + hint, code="type", path=path)
        return None
    fault = _expansion_fault(node.value)
    if fault is None and not _HEADER_TEXT.fullmatch(node.value):
        fault = "holds a character that a header cannot carry; printable ASCII on one line only"
    if fault is not None:
        problems.add(node.span, f"the header {entry.key} {fault}", code="header", path=path)
        return None
    return HeaderValue(text=node.value)


def _replies(fields: Fields, beside: Beside) -> tuple[Reply, ...] | None:
    node = fields.take("replies")
    if node is None:
        return None
    path = (*fields.path, "replies")
    if not (isinstance(node, ScalarNode) and isinstance(node.value, str)):
        return parse_replies(node, fields.problems, path)
    try:
        file, tree, found = beside.tree(fields.problems.file, node.value)
    except FileRefused as error:
        message = f"the file {posixpath.basename(node.value)!r} {error}"
        fields.wrong("replies", message, code="file")
        return None
    inside = Problems(file)
    for problem in found:
        inside.include(problem)
    replies = () if tree is None else parse_replies(tree, inside, path)
    if tree is None and not found:
        return None
    for problem in inside.found:
        fields.problems.include(problem)
    return replies
