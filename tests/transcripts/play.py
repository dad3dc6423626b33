"""A server that plays a transcript to a client, and holds the client to its part of it.

`python tests/transcripts/play.py FILE` on standard input and output. Exit code 0 when the client
said everything, 1 with a line on standard error when it said something else. Standard library only.
"""

import json
import sys
from pathlib import Path
from typing import IO, Any, NoReturn, cast

Json = Any

_TOKENS = ("observe", "partialResultToken", "workDoneToken", "coordinationId")
"""Names that a client is free to choose, or to add."""

_FREE = ("initialize", "initialized", "shutdown", "exit")
"""Messages whose params are each client's own."""

_CANCELS = ("$/cancelRequest", "window/workDoneProgress/cancel")


class Player:
    """One session on two pipes."""

    def __init__(self, lines: list[Json], source: IO[bytes], sink: IO[bytes]) -> None:
        self._lines = lines
        self._source = source
        self._sink = sink
        self._ids: dict[str, Json] = {}
        self._names: dict[Json, Json] = {}
        self._unasked: set[Json] = set()
        self._cancelled: set[Json] = set()

    def play(self) -> None:
        """Plays it to the end; a client that says something else ends the process."""
        expected: list[Json] = []
        for line in self._lines:
            if line["from"] == "client":
                expected.append(line["message"])
                continue
            self._hear(expected)
            expected = []
            self._say(line["message"])
        self._hear(expected)

    def _hear(self, expected: list[Json]) -> None:
        """Reads until everything expected was said, in any order."""
        while expected:
            heard = _read(self._source)
            if heard is None:
                fail("the client has gone; it should have said", expected[0])
            found = next((one for one in expected if self._fits(one, heard)), None)
            if found is not None:
                expected.remove(found)
                self._learn(found, heard)
            elif "method" not in heard and heard["id"] in self._cancelled:
                pass  # an answer that came too late is dropped
            elif "id" in heard or heard.get("method") in _CANCELS:
                fail(f"the client said {json.dumps(heard)}, but should have said", expected[0])

    def _fits(self, expected: Json, heard: Json) -> bool:
        if expected.get("method") != heard.get("method"):
            return expected.get("method") in _CANCELS and heard.get("method") in _CANCELS
        if ("id" in expected) != ("id" in heard):
            return False
        if "method" not in expected and expected["id"] != heard["id"]:
            return False  # an answer: the ids of the server's requests are played as they are
        if expected.get("method") in (*_FREE, *_CANCELS):
            return True
        parts = ("params", "result", "error")
        return all(_same(_part(expected, part), _part(heard, part)) for part in parts)

    def _learn(self, expected: Json, heard: Json) -> None:
        """Keeps the client's own id and names for what is to be said later."""
        if "method" in expected and "id" in expected:
            self._ids[json.dumps(expected["id"])] = heard["id"]
        said, meant = (_request(message) for message in (heard, expected))
        for name in _TOKENS:
            if name not in meant:
                continue
            if name in said:
                self._names[meant[name]] = said[name]
                self._unasked.discard(meant[name])
            elif name != "coordinationId":
                self._unasked.add(meant[name])

    def _say(self, message: Json) -> None:
        params = _object(message.get("params"))
        if message.get("method") == "$/cancelRequest":
            self._cancelled.add(params["id"])
        asked = message.get("method") == "promptkit/backend/generate"
        if not asked and params.get("token") in self._unasked:
            return
        names = [name for name in ("token", "coordinationId") if params.get(name) in self._names]
        if names:
            params = params | {name: self._names[params[name]] for name in names}
            message = {**message, "params": params}
        if "method" not in message:
            message = {**message, "id": self._ids[json.dumps(message["id"])]}
        body = json.dumps(message, ensure_ascii=False).encode()
        self._sink.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._sink.flush()


def _object(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _part(message: Json, name: str) -> Json:
    """Params, result or error without what every client may choose for itself."""
    part = message.get(name)
    if not isinstance(part, dict):
        return part
    own = _without_names(part)
    request = own.get("request")
    return own | {"request": _without_names(request)} if _object(request) else own


def _without_names(value: Json) -> dict[str, Json]:
    return {name: member for name, member in _object(value).items() if name not in _TOKENS}


def _request(message: Json) -> dict[str, Json]:
    """Where the names stand: in the params of a request, or in the request of an action."""
    return _object(message.get("params")) or _object(_object(message.get("result")).get("request"))


def _same(one: Json, other: Json) -> bool:
    """Whether two JSON values mean the same: absent is null, and Lua writes `{}` as `[]`."""
    if isinstance(one, dict) and isinstance(other, dict):
        mine, theirs = _object(one), _object(other)
        return all(_same(mine.get(name), theirs.get(name)) for name in mine.keys() | theirs)
    if isinstance(one, list) and isinstance(other, list):
        pair = cast("list[Json]", one), cast("list[Json]", other)
        return len(pair[0]) == len(pair[1]) and all(map(_same, *pair))
    nothing: tuple[Json, ...] = (None, [], {})
    return (one in nothing and other in nothing) or json.dumps(one) == json.dumps(other)


def _read(source: IO[bytes]) -> Json:
    """The next message, or None at the end."""
    size = 0
    while line := source.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    body = source.read(size) if size else b""
    return json.loads(body) if body else None


def fail(what: str, message: Json) -> NoReturn:
    """Ends the process with one line that says why."""
    print(f"transcript: {what} {json.dumps(message)}", file=sys.stderr)  # noqa: T201 - for people
    sys.exit(1)


def main(words: list[str]) -> int:
    """The command line; words after the file, such as `--stdio`, are let pass."""
    if not words:
        print(__doc__, file=sys.stderr)  # noqa: T201 - likewise
        return 2
    text = Path(words[0]).read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    Player(lines, sys.stdin.buffer, sys.stdout.buffer).play()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
