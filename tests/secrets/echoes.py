"""What a provider sends back that knows a key, in every place where an answer has room for it."""

import json
from itertools import pairwise
from typing import Any

from tests.support.provider import (
    End,
    Script,
    completion,
    delta,
    events,
    message,
    redirect,
    refusal,
    respond,
)

NAMES = tuple(range(19))


def echo(number: int, text: str, *, anthropic: bool = False) -> Script:
    """One of the ways, by its number in `NAMES`."""
    answers = _anthropic(text) if anthropic else _openai(text)
    return (_failures(text) + answers)[number]


def _failures(text: str) -> list[Script]:
    told = {"error": {"message": f"Incorrect API key provided: {text}.", "type": text}}
    return [
        refusal(401, told),
        refusal(401, {"error": {"code": text, "message": json.dumps(told)}}),
        refusal(429, {"error": text}, ("retry-after", text)),
        refusal(500, {"detail": [{"key": text}]}),
        respond(401, f"<html>{text}</html>".encode(), kind="text/html"),
        respond(200, f"no JSON: {text}".encode()),
        respond(200, ("x" * 150 + text).encode()),
        respond(403, ("y" * 385 + text).encode(), kind="text/plain"),
        respond(200, b"{}", kind=f"text/{text}"),
        redirect(f"/login?next=a&key={text}"),
        redirect(f"/{text}"),
        events("{}", f"{{broken {text}"),
        (f"HTTP/1.1 200 {text}\r\nBad Header: {text}\r\n\r\n".encode(), End.CLOSE),
        (*respond(200, text.encode(), length=500), End.CLOSE),
        (End.NEVER,),
    ]


def _openai(text: str) -> list[Script]:
    return [
        completion(f"the key is {text}!", refusal=f"not {text}"),
        completion(json.dumps({"key": text})),
        streamed(f"the key is {text}!", range(1, 200)),
        refusal(200, {"error": {"message": text}}),
    ]


def _anthropic(text: str) -> list[Script]:
    begin: Any = {"type": "message_start", "message": {"usage": {"input_tokens": 1}}}
    words = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}}
    pieces = [words | {"delta": {"type": "text_delta", "text": one}} for one in f"it is {text}!"]
    stop = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
    failed = {"type": "error", "error": {"type": "api_error", "message": text}}
    return [
        message(f"the key is {text}!"),
        message({"type": "text", "text": text[:5]}, {"type": "text", "text": text[5:]}),
        _named(begin, *pieces, stop, {"type": "message_stop"}),
        _named(begin, pieces[0], failed),
    ]


def streamed(text: str, cuts: Any) -> Script:
    """An OpenAI stream of a text that is cut at these places."""
    places = [0, *(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    return events(*(delta(piece) for piece in pieces), delta(finish="stop"), "[DONE]")


def _named(*shown: dict[str, Any]) -> Script:
    return events(*(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in shown))
