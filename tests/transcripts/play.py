"""A server that plays a transcript to a client, and holds the client to its part of it.

`python tests/transcripts/play.py FILE` on standard input and output. Exit code 0 when the client
said everything, 1 with a line on standard error when it said something else. Standard library only.
"""

import json
import sys
from pathlib import Path
from typing import IO, Any, NoReturn

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
        params = message.get("params")
        told: dict[str, Json] = {}
        if isinstance(params, dict):
            if message["method"] != "promptkit/backend/generate" and (
                params.get("token") in self._unasked
            ):
                return
            for name in ("token", "coordinationId"):
                if params.get(name) in self._names:
                    told[name] = self._names[params[name]]
            message = {**message, "params": {**params, **told}}
        if "method" not in message:
            message = {**message, "id": self._ids[json.dumps(message["id"])]}
        body = json.dumps(message, ensure_ascii=False).encode()
        self._sink.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._sink.flush()


def _part(message: Json, name: str) -> Json:
    """Params, result or error without what every client may choose for itself."""
    part = message.get(name)
    if not isinstance(part, dict):
        return part
    own = {key: value for key, value in part.items() if key not in _TOKENS}
    if isinstance(own.get("request"), dict):
        inner = own["request"].items()
        own["request"] = {key: value for key, value in inner if key not in _TOKENS}
    return own


def _request(message: Json) -> dict[str, Json]:
    """Where the names stand: in the params of a request, or in the request of an action."""
    params = message.get("params")
    if isinstance(params, dict):
        return params
    result = message.get("result")
    action = result.get("request") if isinstance(result, dict) else None
    return action if isinstance(action, dict) else {}


def _same(one: Json, other: Json) -> bool:
    """Whether two JSON values mean the same: absent is null, and Lua writes `{}` as `[]`."""
    match _empty(one), _empty(other):
        case dict() as mine, dict() as theirs:
            return all(_same(mine.get(name), theirs.get(name)) for name in mine.keys() | theirs)
        case list() as mine, list() as theirs:
            return len(mine) == len(theirs) and all(map(_same, mine, theirs))
        case mine, theirs:
            return json.dumps(mine) == json.dumps(theirs)


def _empty(value: Json) -> Json:
    return None if value in ([], {}) else value


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
