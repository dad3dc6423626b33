"""JSON-RPC messages: bytes to one classified message, values to bytes. Knows no method.

The rules, where the standard leaves a choice:
- An id is a string or an integer of any size; 1 and "1" are two ids. Anything else is refused.
- A message with a `method` is a request or a notification and is refused with its own id. One
  without is an answer; a broken answer is refused with id null, for its id is not the sender's.
- An `error` of null beside a `result` is no error. Other members are ignored.
- A body that is JSON but passes a limit (nesting, digits, lone surrogates) is refused with its id;
  if it is an answer, whoever waits for it gets an `UnusableAnswer`.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeAlias, cast

import msgspec

from promptkit_rpc import jsontext
from promptkit_rpc.backends.unicode import well_formed
from promptkit_rpc.jsontext import out_of_range, too_deep
from promptkit_rpc.rpc.codes import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    RpcError,
    UnusableAnswer,
)
from promptkit_rpc.rpc.framing import HEAD

Id: TypeAlias = int | str

MAX_NESTING = jsontext.MAX_NESTING + 16
"""Levels of a message: what it carries may be as deep as any value, with the message around it."""

UNENCODABLE = (TypeError, ValueError, OverflowError, RecursionError)
"""What `answer`, `request` and `notification` raise for a value that JSON cannot say."""

_DEEP = f"nested deeper than {MAX_NESTING} levels"
_VERSION = 'jsonrpc must be "2.0"'
_MALFORMED_ERROR = "the answer's error needs an integer code and a string message"
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_TOKEN = re.compile(
    rb"""[ \t\r\n]*(?:("(?:[^"\\]|\\.)*")|([\[{])|([\]}])|([:,])|([^\s\[\]{}:,"]+))"""
)


class Request(msgspec.Struct, frozen=True):
    """Something to be answered."""

    id: Id
    method: str
    params: dict[str, Any]


class Notification(msgspec.Struct, frozen=True):
    """Something that is not answered."""

    method: str
    params: dict[str, Any]


class Answer(msgspec.Struct, frozen=True):
    """What came back under an id; `error` is set where it failed."""

    id: Any
    result: Any = None
    error: RpcError | None = None


class Refusal(msgspec.Struct, frozen=True):
    """A message that is answered with an error at once; None is the id null."""

    id: Id | None
    error: RpcError


Message: TypeAlias = Request | Notification | Answer | Refusal


def parse(body: bytes | bytearray) -> Message:
    """Decodes a body, once, and says what it is; never raises."""
    try:
        value = _decode(body)
    except msgspec.ValidationError as error:
        return refused(bytes(body[:HEAD]), out_of_range(str(error)))
    except RecursionError:
        return refused(bytes(body[:HEAD]), _DEEP)
    except msgspec.DecodeError as error:
        return _undecodable(body, error)
    if type(value) is not dict:
        kind = "a batch is" if type(value) is list else "a message that is no object is"
        return Refusal(None, RpcError(INVALID_REQUEST, f"{kind} not supported"))
    message = cast("dict[str, Any]", value)
    if too_deep(body, MAX_NESTING):
        return _refused(message, _DEEP)
    return _classified(message)


def refused(head: bytes, reason: str) -> Message:
    """A message known by its first bytes only; its id is used if it stands there."""
    return _refused(_members(head), reason)


def answer(ident: Id, result: Any) -> bytes:
    """The body of an answer."""
    return _encoded({"jsonrpc": "2.0", "id": ident, "result": result})


def failure(ident: Id | None, error: RpcError) -> bytes:
    """The body of an error answer."""
    detail: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        detail["data"] = error.data
    return _encoded({"jsonrpc": "2.0", "id": ident, "error": detail})


def request(ident: Id, method: str, params: Any) -> bytes:
    """The body of a request."""
    return _encoded({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})


def notification(method: str, params: Any) -> bytes:
    """The body of a notification."""
    return _encoded({"jsonrpc": "2.0", "method": method, "params": params})


def _encoded(message: dict[str, Any]) -> bytes:
    try:
        return _encode(message)
    except UnicodeEncodeError:  # names of files need not be text
        return _encode(_mended(message))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {well_formed(name): _mended(member) for name, member in members}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in cast("list[Any]", value)]
    return value


def _classified(message: dict[str, Any]) -> Message:
    if "method" not in message:
        return _answered(message)
    ident = message.get("id")
    if "id" in message and type(ident) is not int and type(ident) is not str:
        return _invalid(None, "an id must be a string or an integer")
    fault = _fault(message)
    if fault:
        return _invalid(ident, fault)
    params: Any = message.get("params")
    if params is None or params == []:
        params = {}
    elif not isinstance(params, dict):
        return Refusal(ident, RpcError(INVALID_PARAMS, "params must be an object"))
    object_ = cast("dict[str, Any]", params)
    if ident is None:
        return Notification(message["method"], object_)
    return Request(ident, message["method"], object_)


def _fault(message: dict[str, Any]) -> str | None:
    if message.get("jsonrpc") != "2.0":
        return _VERSION
    if "result" in message or "error" in message:
        return "a message is either a request or an answer"
    return None if type(message["method"]) is str else "method must be a string"


def _answered(message: dict[str, Any]) -> Message:
    if message.get("jsonrpc") != "2.0":
        return _invalid(None, _VERSION)
    result, error = message.get("result"), message.get("error")
    if "id" not in message or (error is None and "result" not in message):
        return _invalid(None, "a message needs a method, or an id with a result or an error")
    if error is None:
        return Answer(message["id"], result)
    if result is not None:
        return _invalid(None, "an answer has either a result or an error")
    match error:
        case {"code": int(code), "message": str(text)} if type(code) is int:
            return Answer(message["id"], error=RpcError(code, text, error.get("data")))
        case _:
            return Answer(message["id"], error=RpcError(INVALID_REQUEST, _MALFORMED_ERROR))


def _refused(message: Mapping[str, Any], reason: str) -> Message:
    ident = message.get("id")
    if type(ident) is not int and type(ident) is not str:
        ident = None
    if ident is not None and ("result" in message or "error" in message):
        return Answer(ident, error=UnusableAnswer(INVALID_REQUEST, reason))
    ident = ident if "method" in message or "params" in message else None
    return Refusal(ident, RpcError(INVALID_REQUEST, reason))


def _invalid(ident: Id | None, reason: str) -> Refusal:
    return Refusal(ident, RpcError(INVALID_REQUEST, reason))


def _undecodable(body: bytes | bytearray, error: msgspec.DecodeError) -> Message:
    """A lone surrogate is JSON's grammar but no text; all else is no JSON at all."""
    mended, surrogates = _SURROGATE.subn(rb"\\ufffd", body)
    if surrogates:
        with suppress(msgspec.DecodeError, RecursionError):
            value = _decode(mended)
            if type(value) is dict:
                return _refused(cast("dict[str, Any]", value), "a string holds a lone surrogate")
    return Refusal(None, RpcError(PARSE_ERROR, f"the body is no JSON: {error}"))


def _members(head: bytes) -> dict[str, Any]:
    """The members of an object that begins so; a value that is no scalar or is cut off is None."""
    members: dict[str, Any] = {}
    key: str | None = None
    depth = at = 0
    while found := _TOKEN.match(head, at):
        at = found.end()
        string, opening, closing, mark, scalar = found.groups()
        if opening:
            depth += 1
            key = None
        elif closing:
            depth -= 1
        elif mark or depth != 1 or at == len(head):
            pass
        elif key is None and string:
            key = _scalar(string)
            if key is not None:
                members[key] = None
        elif key is not None:
            members[key] = _scalar(string or scalar)
            key = None
        if depth < 1:
            break
    return members


def _scalar(token: bytes) -> Any:
    with suppress(msgspec.DecodeError):
        return _decode(token)
    return None
