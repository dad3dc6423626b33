"""What providers send as JSON: read strictly where it can be, and forgivingly where it must be.

Knows no provider; says only that a payload is unusable or is a refusal.
"""

import json
from typing import Any, TypeVar, cast

import msgspec

from promptkit_rpc.usage import UNKNOWN, TokenCounts

T = TypeVar("T")

SNIPPET, SENTENCE = 160, 400
"""Characters that are shown of a payload that cannot be read, and of what a provider says."""


class Unusable(Exception):  # noqa: N818 - named after what the payload is
    """A payload that promised an answer and holds none; `usage` is what it reported all the same.

    `cut_off` says that it ends in the middle of its JSON.
    """

    def __init__(self, why: str, usage: TokenCounts = UNKNOWN, *, cut_off: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.usage = usage
        self.cut_off = cut_off


class Refused(Exception):  # noqa: N818 - named after what the provider did
    """A payload that is an error although its status says success; `body` is its JSON."""

    def __init__(self, body: dict[str, Any], usage: TokenCounts = UNKNOWN) -> None:
        super().__init__("refused")
        self.body = body
        self.usage = usage


def decoded(payload: bytes | str, decoder: msgspec.json.Decoder[T]) -> T:
    """A payload in the decoder's shape.

    Raises:
        Unusable: it is no JSON, or JSON of another shape.
    """
    cut_off = False
    try:
        return decoder.decode(payload)
    except msgspec.ValidationError as error:
        why = f"its JSON has another shape ({error})"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        cut_off = bool(payload) and "truncated" in str(error)
        why = ""
    if why:
        # Not inside the handler: an exception's context may hold the whole payload.
        raise Unusable(why)
    return _forgiven(payload, decoder, cut_off=cut_off)


def _forgiven(payload: bytes | str, decoder: msgspec.json.Decoder[T], *, cut_off: bool) -> T:
    """Half surrogates, NaN, broken UTF-8 and byte-order marks stand where they do not matter."""
    text = payload if isinstance(payload, str) else payload.decode("utf-8-sig", "replace")
    try:
        return msgspec.convert(json.loads(text), decoder.type)
    except msgspec.ValidationError as error:
        why = f"its JSON has another shape ({error})"
    except RecursionError:
        why = "its JSON is nested too deep"
    except ValueError:
        why = "its JSON is cut off" if cut_off else "it is no JSON"
    raise Unusable(why if payload else "it is empty", cut_off=cut_off)


def error_body(payload: bytes) -> dict[str, Any] | None:
    """The JSON object of an error response, None where there is none."""
    try:
        value: Any = json.loads(payload.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and value:
        value = cast("list[Any]", value)[0]
    return normalized(cast("dict[str, Any]", value)) if isinstance(value, dict) else None


def normalized(body: dict[str, Any]) -> dict[str, Any]:
    """An error body whose `error`, where it is a bare text, is put beside its codes."""
    error = body.get("error")
    if not isinstance(error, str):
        return body
    return {**{k: v for k, v in body.items() if k != "error"}, "message": error}


def members(value: object) -> dict[str, Any]:
    """A JSON object as it is, anything else as an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def part_text(part: object, types: tuple[str, ...] = ("text",)) -> str:
    """The text of a part of an answer's content; null and parts of other types have none.

    Raises:
        Unusable: it does not say of what type it is, or the text in it is no text.
    """
    kind = members(part).get("type")
    if part is not None and not isinstance(kind, str):
        raise Unusable("a part of its content has no type")
    # Other types are reasoning, tools and whatever comes to be invented.
    return worded(members(part).get("text")) if kind in types else ""


def worded(text: object) -> str:
    """The text of a part of text; null is none. Raises Unusable if it is anything else."""
    if text is None:
        return ""
    if not isinstance(text, str):
        raise Unusable("a text of its content is no text")
    return text


def short(text: str, length: int) -> str:
    """Text on one line and of bounded length, without control characters."""
    line = " ".join(text[: 8 * length].split())
    line = "".join(c for c in line if c.isprintable())
    return line if len(line) <= length and len(text) <= 8 * length else line[:length] + "…"
