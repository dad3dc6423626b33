"""Files of a workspace: what stays inside it, how one is read, and whether it has changed.

Knows nothing of what the files say. No message here names a place outside the workspace.
"""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Self

SETTLED_SECONDS = 2
"""A file changed more recently than this may change again under the same time stamp."""

FINE_SECONDS = 0.1
"""The same, where time stamps show fractions of a second: no such clock ticks more slowly."""

_GROWTH = 64 * 1024
_SECOND = 1_000_000_000

Stamp = tuple[int, int, int, int, int]
Clock = Callable[[], float]
"""Seconds since the epoch."""
Texts = Mapping[Path, bytes]
"""What stands in for files, by their real paths: the unsaved texts of an editor."""
NO_TEXTS: Texts = MappingProxyType({})


class FileRefused(Exception):  # noqa: N818 - says what was done
    """A file cannot be read, or must not be; the message completes "the file ...".

    `passing` says that the reason may be gone at the next look, although the file did not change.
    """

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing


class Root:
    """A folder, after its links are followed; nothing outside it can be reached through it.

    `texts` are read instead of the files below; they may change at any time.
    """

    def __init__(self, folder: Path, texts: Texts = NO_TEXTS) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.texts = texts

    def resolve(self, name: str) -> Path:
        """The real path of a file or folder below, named with slashes.

        Raises:
            FileRefused: the name leaves the folder, by itself or through a link.
        """
        if not name or "\0" in name or "\\" in name:
            raise FileRefused("has no usable name")
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts:
            raise FileRefused("lies outside the workspace")
        try:
            real = Path(os.path.realpath(self.folder / parts))
        except (OSError, ValueError):
            raise FileRefused("has no usable name") from None
        if not real.is_relative_to(self.folder):
            raise FileRefused("lies outside the workspace")
        return real

    def folder_below(self, name: str) -> "Root":
        """A folder below, confined in turn.

        Raises:
            FileRefused: it lies outside.
        """
        return Root(self.resolve(name))


def stamp_of(path: Path) -> Stamp | None:
    """What changes whenever a file does; None where there is no file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def read_regular(path: Path, limit: int) -> tuple[bytes, Stamp]:
    """The content of a regular file of at most `limit` bytes. Never waits for a writer.

    Raises:
        FileRefused: it is no such file, or cannot be read.
    """
    # A FIFO would block an ordinary open; looked at first, since opening a device may act on it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        _check_regular(path.stat().st_mode)
        opened = os.open(path, flags)
        try:
            found = os.fstat(opened)
            _check_regular(found.st_mode)
            data = _content(opened, found.st_size, limit)
        finally:
            os.close(opened)
    except FileNotFoundError:
        raise FileRefused("does not exist") from None
    except PermissionError:
        raise FileRefused("may not be read") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise FileRefused(
            f"cannot be read: {reason or 'its name is unusable'}", passing=reason is not None
        ) from None
    if len(data) > limit:
        raise FileRefused(f"is larger than {limit} bytes")
    stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return data, stamp


def is_folder(path: Path) -> bool:
    """Whether there is a folder; where that cannot be found out there is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_missing(path: Path) -> bool:
    """Whether surely nothing is there, not even a link that leads nowhere."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def check_file(path: Path) -> None:
    """Looks whether there is a regular file, without reading it.

    Raises:
        FileRefused: there is none.
    """
    try:
        _check_regular(path.stat().st_mode)
    except FileNotFoundError:
        raise FileRefused("does not exist") from None
    except (OSError, ValueError):
        raise FileRefused("cannot be read") from None


def _content(opened: int, size: int, limit: int) -> bytes:
    """What an open file holds, of more than `limit` bytes only so much that it shows."""
    data = os.read(opened, min(size, limit) + 1)
    while len(data) <= limit and (more := os.read(opened, min(limit, _GROWTH) + 1)):
        data += more
    return data


def _check_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise FileRefused("is a folder")
    if not stat.S_ISREG(mode):
        raise FileRefused("is no regular file")


class Seen:
    """A file as it was when last read, present or not."""

    __slots__ = ("_digest", "_settled", "_stamp", "path")

    def __init__(self, path: Path, stamp: Stamp | None, data: bytes | None) -> None:
        self.path = path
        self._stamp = stamp
        self._digest = hash(data)
        self._settled = stamp is None

    @classmethod
    def missing(cls, path: Path, *, passing: bool = False) -> Self:
        """A file that could not be read; as it is now, or absent.

        `passing`: it is read again at every look.
        """
        seen = cls(path, stamp_of(path), None)
        seen._settled = not passing
        return seen

    def unchanged(self, now: Clock | None, limit: int) -> bool:
        """Whether the file is as it was; one `stat`, and a read while the last change is fresh.

        Without a clock every change is taken for fresh.
        """
        if stamp_of(self.path) != self._stamp:
            return False
        if self._settled or self._stamp is None:
            return True
        try:
            data, stamp = read_regular(self.path, limit)
        except FileRefused:
            return False
        if stamp != self._stamp or hash(data) != self._digest:
            return False
        self._settled = now is not None and now() - max(stamp[3:]) / _SECOND > _settling(stamp)
        return True


def _settling(stamp: Stamp) -> float:
    fine = stamp[3] % _SECOND and stamp[4] % _SECOND
    return FINE_SECONDS if fine else SETTLED_SECONDS


class Held(Seen):
    """What stood in for a file when it was last read: its `text`, or None if nothing did."""

    __slots__ = ("_texts", "text")

    def __init__(self, path: Path, texts: Texts) -> None:
        super().__init__(path, None, None)
        self._texts = texts
        self.text = texts.get(path)

    def unchanged(self, now: Clock | None, limit: int) -> bool:  # noqa: ARG002 - as for files
        """Whether the same stands in for it."""
        return self._texts.get(self.path) == self.text
