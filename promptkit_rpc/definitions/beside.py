"""Files that a definition names: found inside the workspace, read as data, and remembered."""

import posixpath

from promptkit_rpc.definitions.files import NO_TEXTS, FileRefused, Held, Root, Seen, read_regular
from promptkit_rpc.definitions.json_file import read_json
from promptkit_rpc.definitions.problem import Problem, Problems, Span
from promptkit_rpc.definitions.source import MAX_TEXT, read_bytes
from promptkit_rpc.definitions.tree import Node, plain
from promptkit_rpc.jsontext import Json, JsonError

MAX_BYTES = 4 * MAX_TEXT
"""Bytes of one definition file."""


class Beside:
    """Reads what one definition names, and keeps what was seen so that a change is noticed."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.seen: list[Seen] = []

    def read(self, referrer: str, name: str) -> tuple[str, bytes]:
        """A file named relative to the one that names it: its path below the root, and content.

        Raises:
            FileRefused: it lies outside the workspace or cannot be read.
        """
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(referrer), name))
        return joined, self.read_below(joined)

    def read_below(self, name: str) -> bytes:
        """A file named relative to the root.

        Raises:
            FileRefused: it lies outside the workspace or cannot be read.
        """
        # Watched under the name it was asked for: a link that is led elsewhere is a change.
        path = self.root.folder / name
        texts = self.root.texts
        try:
            real = self.root.resolve(name)
            if texts is not NO_TEXTS:
                held = Held(real, texts)
                self.seen.append(held)
                if held.text is not None:
                    return held.text
            data, stamp = read_regular(real, MAX_BYTES)
        except FileRefused as refused:
            self.seen.append(Seen.missing(path, passing=refused.passing))
            raise
        self.seen.append(Seen(path, stamp, data))
        return data

    def tree(self, referrer: str, name: str) -> tuple[str, Node | None, tuple[Problem, ...]]:
        """A YAML file as a tree, with its path below the root and its problems.

        Raises:
            FileRefused: as for `read`.
        """
        file, data = self.read(referrer, name)
        return file, *read_bytes(file, data)

    def json(self, referrer: str, name: str) -> tuple[str, Json | None, tuple[Problem, ...]]:
        """A JSON file, or a YAML file that says what JSON can say.

        Raises:
            FileRefused: as for `read`.
        """
        file, data = self.read(referrer, name)
        if file.endswith(".json"):
            return file, *read_json(file, data)
        node, problems = read_bytes(file, data)
        if node is None or problems:
            return file, None, problems or (_problem(file, 1, 1, "the file is empty"),)
        try:
            return file, Json.of(plain(node)), ()
        except JsonError as error:
            span = node.span
            return file, None, (_problem(file, span.line, span.column, f"not JSON: {error}"),)


def _problem(file: str, line: int, column: int, message: str) -> Problem:
    problems = Problems(file)
    problems.add(Span(line, column, line, column + 1), message, code="syntax")
    return problems.found[0]
