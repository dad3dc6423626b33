"""The answer to `initialize`, made before anything large is imported.

Pure but for the working directory. Imports only what a bare interpreter and `json` load.
"""

from __future__ import annotations

import json
import os

from promptkit_rpc import __version__
from promptkit_rpc.rpc import capabilities
from promptkit_rpc.rpc.codes import INVALID_PARAMS, RpcError
from promptkit_rpc.rpc.protocol_hash import SCHEMA_HASH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeGuard

SIMPLE = 400
"""Brackets in a body up to which it cannot be nested too deep; more are left to the peer."""

_OPTIONS = ("protocolVersions", "root", "config", "_meta")
_AT_OPTIONS = "initializationOptions.promptkit"
_INVALID = {"kind": "requestInvalid", "retryable": False}
_HEX = "0123456789abcdefABCDEF"


class Hello:
    """What a client said of itself, and the result it is answered.

    `root` is an absolute path, `config` one or None; neither need exist. `text_documents` says
    whether the client has any; `capabilities` are the client's own.
    """

    __slots__ = ("capabilities", "config", "process_id", "result", "root", "text_documents")

    def __init__(
        self,
        *,
        result: dict[str, Any],
        root: str,
        config: str | None,
        process_id: int | None,
        capabilities: dict[str, Any],
        text_documents: bool,
    ) -> None:
        self.result = result
        self.root = root
        self.config = config
        self.process_id = process_id
        self.capabilities = capabilities
        self.text_documents = text_documents


def negotiate(params: dict[str, Any], root: str | None = None, config: str | None = None) -> Hello:
    """Agrees with a client on version, root and capabilities.

    The root is the client's `root` option, else the one given here, else the first workspace
    folder, `rootUri` or `rootPath` that is a local path, else the working directory.

    Raises:
        RpcError: -32602, naming the field that cannot be used or both lists of versions.
    """
    options = _options(params)
    version = _version(options.get("protocolVersions"))
    client = _object(params, "capabilities", "params.capabilities")
    text_documents = isinstance(client.get("textDocument"), dict)
    chosen = _option(options, "root") or root
    folder = _absolute(local_path(chosen) if chosen else _client_root(params) or ".")
    file = _option(options, "config") or config
    process_id = params.get("processId")
    if process_id is not None and type(process_id) is not int:
        _refuse("params.processId must be an integer or null")
    return Hello(
        result=_result(version, client, text_documents=text_documents),
        root=folder,
        config=os.path.join(folder, local_path(file)) if file else None,  # noqa: PTH118 - likewise
        process_id=process_id,
        capabilities=client,
        text_documents=text_documents,
    )


def answer(
    body: bytes | bytearray, root: str | None = None, config: str | None = None
) -> tuple[Hello, bytes] | None:
    """The hello of a body that is a plain, good `initialize`, and the body that answers it.

    None is for the peer to judge: it decodes strictly and answers what is wrong.
    """
    if body.count(b"[") + body.count(b"{") > SIMPLE:
        return None
    try:
        message = json.loads(body.decode(), parse_constant=_no_json)
        ident = message["id"]
        params = message.get("params")
        if (
            type(ident) not in (int, str)
            or message["jsonrpc"] != "2.0"
            or message["method"] != "initialize"
            or "result" in message
            or "error" in message
            or not (params is None or _is_object(params))
        ):
            return None
        hello = negotiate(params or {}, root, config)
        answered = {"jsonrpc": "2.0", "id": ident, "result": hello.result}
        return hello, json.dumps(answered, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, RpcError):
        return None


def _no_json(constant: str) -> NoReturn:
    raise ValueError(constant)


def _result(version: int, client: dict[str, Any], *, text_documents: bool) -> dict[str, Any]:
    served = dict(capabilities.TEXT_DOCUMENTS) if text_documents else {}
    general = client.get("general")
    if isinstance(general, dict) and "positionEncodings" in general:
        served["positionEncoding"] = "utf-16"
    ours = {"protocolVersion": version, "schemaHash": SCHEMA_HASH, **capabilities.PROMPTKIT}
    served["experimental"] = {"promptkit": ours}
    return {
        "capabilities": served,
        "serverInfo": {"name": "promptkit-rpc", "version": __version__},
    }


def _options(params: dict[str, Any]) -> dict[str, Any]:
    """Ours inside `initializationOptions`, which may hold anything else of an editor's."""
    given = params.get("initializationOptions")
    options = _object(given, "promptkit", _AT_OPTIONS) if _is_object(given) else {}
    for name in options:
        if name not in _OPTIONS:
            _refuse(f"{_AT_OPTIONS} has no field {name[:100]!r}; known: {', '.join(_OPTIONS)}")
    return options


def _version(offered: Any) -> int:
    if offered is None:
        return max(capabilities.PROTOCOL_VERSIONS)
    if not _is_list(offered) or any(type(version) is not int for version in offered):
        _refuse(f"{_AT_OPTIONS}.protocolVersions must be a list of integers")
    common = set(offered).intersection(capabilities.PROTOCOL_VERSIONS)
    if not common:
        theirs, ours = offered[:20], list(capabilities.PROTOCOL_VERSIONS)
        message = f"no common protocol version: the client speaks {theirs}, this server {ours}"
        raise RpcError(INVALID_PARAMS, message, {**_INVALID, "offered": theirs, "supported": ours})
    return max(common)


def _client_root(params: dict[str, Any]) -> str | None:
    """The first root an editor gives that is a local path; others are not for this process."""
    folders = params.get("workspaceFolders")
    if folders is None:
        folders = []
    if not _is_list(folders) or not all(_is_object(folder) for folder in folders):
        _refuse("params.workspaceFolders must be a list of objects, or null")
    uris = [_text(folder, "uri", "params.workspaceFolders[]") for folder in folders]
    for uri in [*uris, _text(params, "rootUri", "params")]:
        if uri and uri.startswith("file:"):
            return local_path(uri)
    return _text(params, "rootPath", "params")


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)  # noqa: PTH100 - pathlib would double the time to start
    except OSError:  # the working directory is gone, which the workspace will tell
        return path


def local_path(text: str) -> str:
    """A path as it is, or the path of a `file:` URI."""
    if "\0" in text:
        _refuse(f"a root holds NUL: {text[:100]!r}")
    if not text.startswith("file:"):
        return text
    rest = text.removeprefix("file:")
    if rest.startswith("//"):
        rest = "/" + rest[2:].partition("/")[2]
    first, *others = rest.split("%")
    path = first.encode()
    for part in others:
        if len(part) > 1 and part[0] in _HEX and part[1] in _HEX:
            path += bytes.fromhex(part[:2]) + part[2:].encode()
        else:
            path += b"%" + part.encode()
    if b"\0" in path:
        _refuse(f"a root holds NUL: {text[:100]!r}")
    return os.fsdecode(path)


def _object(holder: dict[str, Any], name: str, path: str) -> dict[str, Any]:
    """An object member; absent, null and (from Lua) an empty array are an empty object."""
    value = holder.get(name)
    if value is None or value == []:
        return {}
    if not _is_object(value):
        _refuse(f"{path} must be an object")
    return value


def _text(holder: dict[str, Any], name: str, path: str) -> str | None:
    """A string member; an empty one is as good as absent, for some editors send it."""
    value = holder.get(name)
    if value is None:
        return None
    if type(value) is not str or "\0" in value:
        _refuse(f"{path}.{name} must be a string without NUL, or null")
    return value or None


def _option(options: dict[str, Any], name: str) -> str | None:
    if options.get(name) == "":
        _refuse(f"{_AT_OPTIONS}.{name} is empty; leave it out for the default")
    return _text(options, name, _AT_OPTIONS)


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _refuse(message: str) -> NoReturn:
    raise RpcError(INVALID_PARAMS, message, _INVALID)
