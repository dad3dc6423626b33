"""The prompts folder: which ids there are, where each lies, and what templates may include.

Nothing outside the folder is reached, by a name or through a link. Names that start with a dot are
editors' and are passed over.
"""

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from posixpath import normpath

from promptkit_rpc.definitions.files import Clock, FileRefused, Root, Seen, read_regular
from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.definitions.template import Sandbox
from promptkit_rpc.errors import Location

SUFFIX = ".prompt.yaml"
MAX_PROMPTS = 10_000
"""Prompt files of one workspace."""
MAX_LEVELS = 32
"""Folders inside each other."""
MAX_INCLUDED = 4 * 1024 * 1024
"""Bytes of one included file."""

_OTHER_SUFFIX = ".prompt.yml"
_MAX_ID = 1_000


def is_id(prompt_id: str) -> bool:
    """Whether an id can name a prompt at all: no climbing, no empty or hidden part."""
    if not prompt_id.isprintable() or "\\" in prompt_id or len(prompt_id) > _MAX_ID:
        return False
    return all(part and not part.startswith(".") for part in prompt_id.split("/"))


class PromptsFolder:
    """One workspace's prompts folder, named relative to the root; it need not exist."""

    def __init__(self, root: Root, name: str, clock: Clock | None) -> None:
        self.name = name
        self._clock = clock
        self._root = root
        self._prefix = "" if name == "." else f"{name}/"
        self.sandbox = Sandbox(self._include, self._prefix)

    def file(self, prompt_id: str) -> str:
        """Where a prompt's file lies, relative to the workspace's root."""
        return f"{self._prefix}{prompt_id}{SUFFIX}"

    def holds(self, prompt_id: str) -> bool:
        """Whether there is such a file, spelled so, inside the folder."""
        if not is_id(prompt_id):
            return False
        try:
            folder = self._root.folder_below(self.name)
            folder.resolve(f"{prompt_id}{SUFFIX}")
        except FileRefused:
            return False
        # A file system that does not tell cases apart finds one prompt under many ids.
        place = folder.folder
        for part in f"{prompt_id}{SUFFIX}".split("/"):
            if part not in _names(place):
                return False
            place = place / part
        return True

    def scan(self) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
        """Every id, sorted, and the problems of names that cannot be prompts."""
        odd: list[Problem] = []
        ids: list[str] = []
        try:
            folder = self._root.folder_below(self.name)
        except FileRefused as error:
            return (), (_problem(self.name, f"the prompts folder {error}", "folder"),)
        for prompt_id, fault in _walk(folder):
            if fault is not None:
                odd.append(_problem(f"{self._prefix}{prompt_id}", fault, "name"))
            elif len(ids) == MAX_PROMPTS:
                message = f"more than {MAX_PROMPTS} prompts; the rest is left out"
                odd.append(_problem(self.name, message, "size"))
                break
            else:
                ids.append(prompt_id)
        ids.sort()
        odd += [_problem(self.file(one), message, "duplicate") for one, message in _alike(ids)]
        return tuple(ids), tuple(odd)

    def _include(self, name: str) -> tuple[str, Callable[[], bool]]:
        """The text of a file below the folder, for `include` and its like."""
        plain = normpath(name) if name else ""
        if not plain or plain.startswith(("/", "../")) or plain == ".." or "\\" in name:
            raise FileRefused(
                "a file to include lies outside the prompts folder; includes are relative to it"
            )
        try:
            folder = self._root.folder_below(self.name)
            data, stamp = read_regular(folder.resolve(plain), MAX_INCLUDED)
            text = data.decode("utf-8-sig")
        except FileRefused as error:
            where = f"in {self._prefix or 'the prompts folder'}" if "exist" in str(error) else ""
            words = f"the file to include, {plain!r}, {error} {where}".rstrip()
            raise FileRefused(f"{words}; includes are relative to the prompts folder") from None
        except UnicodeDecodeError:
            raise FileRefused(f"the file to include, {plain!r}, is not UTF-8") from None
        seen = Seen(folder.folder / plain, stamp, data)
        return text, lambda: seen.unchanged(self._clock, MAX_INCLUDED)


def _names(folder: Path) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208 - names are wanted, not paths
    except OSError:
        return frozenset()


def _walk(folder: Root) -> Iterator[tuple[str, str | None]]:
    """Ids, or the names of files with what is wrong with them."""
    waiting: list[tuple[Path, str, tuple[Path, ...]]] = [(folder.folder, "", (folder.folder,))]
    while waiting:
        place, prefix, above = waiting.pop()
        for entry in _entries(place):
            name = f"{prefix}{entry.name}"
            if entry.name.startswith("."):
                continue
            real = Path(entry.path)
            if entry.is_symlink():
                try:
                    real = folder.resolve(name)
                except FileRefused:
                    if _is_ours(entry.name) or _is_folder(entry):
                        yield _shown(name), "leads out of the prompts folder and is not read"
                    continue
            if _is_folder(entry):
                if real not in above and len(above) < MAX_LEVELS:
                    waiting.append((real, f"{name}/", (*above, real)))
            elif _is_ours(entry.name):
                yield _judged(name)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself, or through a folder that is closed to us
        return False


def _is_ours(name: str) -> bool:
    return name.endswith((SUFFIX, _OTHER_SUFFIX))


def _judged(name: str) -> tuple[str, str | None]:
    if name.endswith(_OTHER_SUFFIX):
        return _shown(name), f"this file is not read; prompts are named *{SUFFIX}"
    prompt_id = name.removesuffix(SUFFIX)
    if is_id(prompt_id):
        return prompt_id, None
    return _shown(name), "this name cannot be a prompt's id; use printable characters"


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() and char != "\\" else "?" for char in name)


def _alike(ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Ids that some file systems, or people, do not tell apart."""
    groups: dict[str, list[str]] = {}
    for prompt_id in ids:
        plain = unicodedata.normalize("NFC", prompt_id).casefold()
        groups.setdefault(plain, []).append(prompt_id)
    for group in groups.values():
        for one in group:
            others = [repr(other) for other in group if other != one]
            if others:
                yield one, f"the id {one!r} differs from {', '.join(others)} only in its spelling"


def _problem(file: str, message: str, code: str) -> Problem:
    return Problem(location=Location(file, 1, 1), message=message, code=code)
