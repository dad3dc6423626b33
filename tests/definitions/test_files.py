"""Which files can be read, and how a change is noticed."""

import errno
import os
import threading
from pathlib import Path

import pytest

from promptkit_rpc.definitions.catalog import Workspace
from promptkit_rpc.definitions.files import (
    FileRefused,
    Root,
    Seen,
    Stamp,
    read_regular,
    stamp_of,
)
from promptkit_rpc.errors import PromptKitError

LIMIT = 1000


def seen(path: Path) -> Seen:
    data, stamp = read_regular(path, LIMIT)
    return Seen(path, stamp, data)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../outside", "lies outside the workspace"),
        ("a/../../outside", "lies outside the workspace"),
        ("/etc/passwd", "lies outside the workspace"),
        ("link", "lies outside the workspace"),
        ("folder-link/inner", "lies outside the workspace"),
        ("", "has no usable name"),
        ("a\0b", "has no usable name"),
        ("a\\b", "has no usable name"),
        ("\ud800", "has no usable name"),
        ("a" * 5000, "has no usable name"),
    ],
)
def test_a_root_lets_nothing_outside_be_reached(tmp_path: Path, name: str, why: str) -> None:
    """SEC-3."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "inner").write_text("secret")
    (root / "link").symlink_to(outside / "inner")
    (root / "folder-link").symlink_to(outside)

    with pytest.raises(FileRefused) as caught:
        read_regular(Root(root).resolve(name), LIMIT)
    assert why in str(caught.value) or name.startswith("a" * 9)
    assert str(tmp_path) not in str(caught.value)


def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to("a")
    assert Root(tmp_path).resolve("b") == (tmp_path / "a").resolve()


async def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    """SEC-4."""
    os.mkfifo(tmp_path / "pipe")
    caught: list[str] = []

    def read() -> None:
        with pytest.raises(FileRefused) as raised:
            read_regular(tmp_path / "pipe", LIMIT)
        caught.append(str(raised.value))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(10)
    assert caught == ["is no regular file"]


def test_folders_devices_and_what_is_missing_or_too_large_are_refused(tmp_path: Path) -> None:
    """SEC-4."""
    (tmp_path / "large").write_bytes(b"x" * (LIMIT + 1))
    (tmp_path / "fits").write_bytes(b"x" * LIMIT)
    reasons: dict[str, str] = {}
    for path in (tmp_path, Path("/dev/zero"), tmp_path / "none", tmp_path / "large"):
        with pytest.raises(FileRefused) as raised:
            read_regular(path, LIMIT)
        reasons[path.name] = str(raised.value)
    assert list(reasons.values()) == [
        "is a folder",
        "is no regular file",
        "does not exist",
        f"is larger than {LIMIT} bytes",
    ]
    assert len(read_regular(tmp_path / "fits", LIMIT)[0]) == LIMIT


@pytest.mark.parametrize("age", [0.0, 3600.0])
def test_a_change_is_noticed_whatever_the_age_of_the_file(tmp_path: Path, age: float) -> None:
    path = tmp_path / "f"
    path.write_text("one")
    one = seen(path)
    changed = path.stat().st_mtime

    def clock() -> float:
        return changed + age

    assert one.unchanged(clock, LIMIT)
    path.write_text("longer")
    assert not one.unchanged(clock, LIMIT)
    two = seen(path)
    path.unlink()
    assert not two.unchanged(clock, LIMIT)


def test_a_change_under_the_same_time_stamp_is_noticed_while_the_file_is_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clocks of file systems tick slowly: two writes can bear one time."""
    path = tmp_path / "f"
    path.write_text("one")
    one = seen(path)
    stamp = stamp_of(path)
    path.write_text("two")
    assert stamp is not None

    def stamped(_: Path) -> Stamp:
        return stamp

    def read(*_: object) -> tuple[bytes, Stamp]:
        return b"two", stamp

    monkeypatch.setattr("promptkit_rpc.definitions.files.stamp_of", stamped)
    monkeypatch.setattr("promptkit_rpc.definitions.files.read_regular", read)
    assert not one.unchanged(lambda: stamp[3] / 1e9, LIMIT)


def test_a_file_that_is_old_enough_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_text("one")
    one = seen(path)
    later = path.stat().st_mtime + 60
    assert one.unchanged(lambda: later, LIMIT)
    monkeypatch.setattr("promptkit_rpc.definitions.files.read_regular", None)
    assert one.unchanged(lambda: later, LIMIT)


@pytest.mark.parametrize(("fraction", "times"), [(5_000_000, 1), (0, 2)])
def test_a_time_stamp_in_fractions_of_a_second_is_soon_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fraction: int, times: int
) -> None:
    """A whole second may be all that the file system's clock can tell."""
    path = tmp_path / "f"
    path.write_text("one")
    stamp = (1, 2, 3, 60_000_000_000 + fraction, 60_000_000_000 + fraction)
    one = Seen(path, stamp, b"one")
    reads: list[object] = []

    def stamped(_: Path) -> Stamp:
        return stamp

    def read(*what: object) -> tuple[bytes, Stamp]:
        reads.append(what)
        return b"one", stamp

    monkeypatch.setattr("promptkit_rpc.definitions.files.stamp_of", stamped)
    monkeypatch.setattr("promptkit_rpc.definitions.files.read_regular", read)
    assert one.unchanged(lambda: 60.5, LIMIT)
    assert one.unchanged(lambda: 60.5, LIMIT)
    assert len(reads) == times


def test_without_a_clock_files_are_read_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_text("one")
    one = seen(path)
    reads: list[Path] = []

    def counting(path: Path, limit: int) -> object:
        reads.append(path)
        return read_regular(path, limit)

    monkeypatch.setattr("promptkit_rpc.definitions.files.read_regular", counting)
    assert one.unchanged(None, LIMIT)
    assert one.unchanged(None, LIMIT)
    assert reads == [path, path]


def test_a_file_that_comes_into_being_is_a_change(tmp_path: Path) -> None:
    missing = Seen.missing(tmp_path / "f")
    assert missing.unchanged(None, LIMIT)
    (tmp_path / "f").write_text("x")
    assert not missing.unchanged(None, LIMIT)


def test_a_link_led_elsewhere_is_a_change(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("same")
    link = tmp_path / "link"
    link.symlink_to("a")
    one = seen(link)
    link.unlink()
    link.symlink_to("b")
    assert not one.unchanged(None, LIMIT)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ENOMEM])
def test_a_file_that_could_not_be_read_for_a_moment_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """SEC-4: although it did not change; settings and prompts alike."""

    def failing(*_: object) -> int:
        raise OSError(number, "not now")

    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/ask.prompt.yaml").write_text("messages: [{role: user, content: x}]")
    (tmp_path / "promptkit.yaml").write_text("version: 1")
    workspace = Workspace(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        found = workspace.reload()
        assert found.prompts() == ()
        assert len(found.problems) == 2
        with pytest.raises(PromptKitError, match="cannot be read: not now"):
            workspace.current("ask").prompt("ask")
    assert workspace.current("ask").prompt("ask").id == "ask"
    assert workspace.reload().problems == ()
