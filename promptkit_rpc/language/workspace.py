"""A workspace as its editor has it: open texts stand in for their files.

Knows no message; reads with the reader that the engine uses.
"""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from attrs import frozen
from lsprotocol import types

from promptkit_rpc.definitions.beside import MAX_BYTES
from promptkit_rpc.definitions.catalog import Workspace, read_prompt_text
from promptkit_rpc.definitions.files import FileRefused, read_regular
from promptkit_rpc.definitions.folder import SUFFIX
from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.language.diagnostics import Lines, diagnostic

USUAL_CONFIG = "promptkit.yaml"


@frozen(kw_only=True)
class OpenText:
    """A document that is open; `uri` is as the editor spells it, `path` has its links followed."""

    uri: str
    path: Path
    version: int | None
    text: str


@frozen
class Report:
    """The problems of one document; it has a version where it is open."""

    uri: str
    version: int | None
    diagnostics: tuple[types.Diagnostic, ...]


class OpenWorkspace:
    """Checks a workspace over and over; what did not change is not read again.

    Use it from one thread at a time.
    """

    def __init__(self, root: Path, config: str | None) -> None:
        self._root = root
        self._config = config or USUAL_CONFIG
        self._texts: dict[Path, bytes] = {}
        self._workspace = Workspace(root, self._config, time.time, self._texts)

    @property
    def settings_uri(self) -> str:
        """The settings file, as it is named unless an editor spells it otherwise."""
        return self._uri(self._config)

    def check(self, opened: Iterable[OpenText]) -> tuple[Report, ...]:
        """The problems there are now: of the settings, of open prompts, and wherever there are any.

        An open document is reported under its own URI, and each one that shows the same file.
        """
        documents = list(opened)
        texts = {one.path: one.text for one in documents}
        self._texts.clear()
        self._texts.update({path: text.encode() for path, text in texts.items()})
        problems: dict[str, list[Problem]] = {self._config: []}
        for problem in dict.fromkeys(self._problems(documents)):
            problems.setdefault(problem.location.file, []).append(problem)
        found: dict[Path, tuple[str, list[types.Diagnostic]]] = {}
        for file, those in problems.items():
            path = self._path(file)
            lines = Lines(texts[path] if path in texts else self._read(file))
            _, diagnostics = found.setdefault(path, (self._uri(file), []))
            diagnostics += [diagnostic(problem, lines) for problem in those]
        return tuple(_reports(documents, found))

    def _problems(self, documents: list[OpenText]) -> Iterator[Problem]:
        yield from self._workspace.reload().problems
        for one in documents:
            if not one.path.exists():  # not saved yet, so that the workspace does not find it
                yield from read_prompt_text(self._workspace, one.path, one.text)[1]

    def _path(self, file: str) -> Path:
        return Path(os.path.realpath(self._root / file))

    def _uri(self, file: str) -> str:
        return Path(os.path.abspath(self._root / file)).as_uri()  # noqa: PTH100 - links stay

    def _read(self, file: str) -> str:
        """A file's text, as far as it can be read: for the columns of its problems."""
        try:
            data, _ = read_regular(self._workspace.files.resolve(file), MAX_BYTES)
        except FileRefused:
            return ""
        utf_16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        return data.decode("utf-16" if utf_16 else "utf-8-sig", "replace")


def local_path(uri: str) -> Path | None:
    """The path that a `file:` URI names, its links followed; None for any other URI."""
    try:
        parts = urlsplit(uri)
        path = os.fsdecode(unquote_to_bytes(parts.path))
        return Path(os.path.realpath(path)) if parts.scheme == "file" and path else None
    except ValueError:
        return None


def _reports(
    documents: list[OpenText], found: dict[Path, tuple[str, list[types.Diagnostic]]]
) -> Iterator[Report]:
    for one in documents:
        if one.path in found or one.path.name.endswith(SUFFIX):
            _, diagnostics = found.get(one.path, ("", []))
            yield Report(one.uri, one.version, tuple(diagnostics))
    shown = {one.path for one in documents}
    for path, (uri, diagnostics) in found.items():
        if path not in shown:
            yield Report(uri, None, tuple(diagnostics))
