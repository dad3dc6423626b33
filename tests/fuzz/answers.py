"""What a provider answers by chance: good, odd, or broken in its JSON, its stream or its HTTP."""

import json
from typing import Any

from tests.fuzz.dice import Dice, damaged, encoded, mutated
from tests.support.provider import (
    End,
    Script,
    completion,
    delta,
    message,
    respond,
    streamed_completion,
    streamed_message,
)

Json = Any


def script(dice: Dice) -> Script:
    """One answer; a good one was meant for either kind of provider."""
    made = dice.one(completion, message, streamed_completion, streamed_message, _stream)
    steps: Script = made(dice) if made is _stream else made(dice.text() or "x")
    kind = dice.upto(9)
    if kind < 4:
        return steps
    if kind == 4:
        status = dice.one(200, 200, 200, 301, 400, 401, 404, 408, 413, 429, 500, 503, 529, 999)
        body = dice.one(encoded(dice.value()), b"<html>", b"", b"\xff\xfe")
        headers = dice.one(
            (), [("Retry-After", dice.one("0", "-5", "x", "1e9", "1e308", "9" * 400))]
        )
        return respond(status, body, headers=headers)
    if kind == 5:
        end = dice.one(End.CLOSE, End.RESET, End.HALF_CLOSE)
        return (*steps[: dice.upto(len(steps))], end)
    if kind == 6:
        raw = b"".join(step for step in steps if isinstance(step, bytes))
        return (damaged(dice, raw), End.CLOSE)
    body = _body(steps)
    if kind == 7:
        return respond(200, damaged(dice, body))
    return respond(200, encoded(mutated(dice, _json(body))))


def _stream(dice: Dice) -> Script:
    """A stream in which anything may be an event, split anywhere."""
    texts = [delta(dice.text()) for _ in range(dice.upto(4))]
    datas = [*texts, encoded(dice.value()).decode(), delta(finish="stop"), "[DONE]"]
    if dice.often(0.5):
        datas = [encoded(mutated(dice, _json(data.encode()))).decode() for data in datas]
    raw = "".join(f"{dice.one('', ': ping', 'id: 1')}\ndata: {data}\n\n" for data in datas).encode()
    if dice.often(0.5):
        raw = damaged(dice, raw)
    cuts = sorted(dice.upto(len(raw)) for _ in range(3))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    head, *_ = respond(200, b"", kind="text/event-stream", length=len(raw))
    return (head, *pieces)


def _body(steps: Script) -> bytes:
    return next((step for step in reversed(steps) if isinstance(step, bytes)), b"")


def _json(body: bytes) -> Json:
    try:
        return json.loads(body)
    except ValueError:
        return {"choices": [{"message": {"content": "x"}}]}
