"""Where credentials come from, and that nothing but the place is ever shown."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from promptkit_rpc.backends import credentials
from promptkit_rpc.backends.credentials import resolve
from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.definitions.settings import CredentialKind, CredentialSource
from promptkit_rpc.errors import Cancelled, ConfigInvalid, CredentialMissing, PromptKitError
from tests.support.calls import HERE
from tests.support.provider import BOUND


def source(kind: CredentialKind, *value: str) -> CredentialSource:
    return CredentialSource(kind, value, HERE)


async def found(place: CredentialSource, root: Path = Path()) -> str:
    secret = await resolve(place, root, None, CancelSignal())
    return secret.reveal()


def command(code: str) -> CredentialSource:
    return source(CredentialKind.COMMAND, sys.executable, "-c", code)


async def test_the_environment_is_read_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """CFG-4, K-02."""
    place = source(CredentialKind.ENV, "TEST_API_KEY")
    for key in ("canary-1", "canary-2\r\n"):
        monkeypatch.setenv("TEST_API_KEY", key)
        assert await found(place) == key.strip()
    monkeypatch.delenv("TEST_API_KEY")
    with pytest.raises(CredentialMissing, match="TEST_API_KEY") as caught:
        await found(place)
    assert caught.value.location == HERE
    assert str(place) == "env:TEST_API_KEY"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("  ", CredentialMissing),
        ("canary-é", ConfigInvalid),
        ("${OPENAI_API_KEY}", ConfigInvalid),
        ("API_KEY", ConfigInvalid),
    ],
)
async def test_a_value_that_can_be_no_key_is_told_by_the_variables_name(
    value: str, error: type[PromptKitError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """K-02, K-10."""
    monkeypatch.setenv("TEST_API_KEY", value)
    with pytest.raises(error, match="TEST_API_KEY") as caught:
        await found(source(CredentialKind.ENV, "TEST_API_KEY"))
    assert "canary" not in str(caught.value)
    assert caught.value.location == HERE


async def test_a_file_is_found_from_the_workspace_or_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CFG-4."""
    root = tmp_path / "workspace"
    root.mkdir()
    (tmp_path / "key").write_text("canary-file\n")
    (root / "key").write_text("canary-inside")
    monkeypatch.setenv("HOME", str(tmp_path))
    for path, key in (
        ("key", "canary-inside"),
        ("../key", "canary-file"),
        (str(tmp_path / "key"), "canary-file"),
        ("~/key", "canary-file"),
    ):
        assert await found(source(CredentialKind.FILE, path), root) == key


async def test_a_file_that_cannot_be_read_is_told_as_written(tmp_path: Path) -> None:
    """SEC-4: no full path, no content, and no wait for a pipe that nobody fills."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"canary\xff")
    (tmp_path / "long").write_bytes(b"canary" * 20_000)
    (tmp_path / "empty").write_bytes(b"")
    for name, error in {
        "absent": CredentialMissing,
        "folder": CredentialMissing,
        "pipe": CredentialMissing,
        "nul\0": CredentialMissing,
        "binary": ConfigInvalid,
        "long": ConfigInvalid,
        "empty": CredentialMissing,
    }.items():
        async with asyncio.timeout(BOUND):
            with pytest.raises(error, match="credential file") as caught:
                await found(source(CredentialKind.FILE, name), tmp_path)
        assert str(tmp_path) not in str(caught.value)
        assert "canary" not in str(caught.value)


async def test_a_command_prints_the_credential_without_a_shell(tmp_path: Path) -> None:
    """CFG-4."""
    code = "import os, sys; print(os.path.samefile('.', sys.argv[1]), sys.argv[2])"
    words = (sys.executable, "-c", code, str(tmp_path), "$HOME; ls")
    assert await found(source(CredentialKind.COMMAND, *words), tmp_path) == "True $HOME; ls"


async def test_what_a_command_says_besides_is_never_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """SEC-1."""
    code = "import sys; print('canary-out'); print('canary-err', file=sys.stderr); sys.exit(3)"
    with pytest.raises(CredentialMissing, match="status 3") as caught:
        await found(command(code), tmp_path)
    assert "canary" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("", CredentialMissing),
        ("print('x' * 10**6)", ConfigInvalid),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", ConfigInvalid),
        ("import sys; print(sys.stdin.read())", CredentialMissing),
    ],
)
async def test_a_command_that_prints_no_credential_is_an_error(
    code: str, error: type[PromptKitError], tmp_path: Path
) -> None:
    """SEC-4."""
    async with asyncio.timeout(BOUND):
        with pytest.raises(error, match="credential command"):
            await found(command(code), tmp_path)


async def test_a_command_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    for words in (("no-such-program-anywhere",), ("nul\0",)):
        with pytest.raises(CredentialMissing, match="cannot be started"):
            await found(source(CredentialKind.COMMAND, *words), tmp_path)


WRITES_ITS_ID = """
import os, pathlib, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
path = pathlib.Path("ids")
path.with_suffix(".new").write_text(f"{os.getpid()} {child.pid}")
path.with_suffix(".new").rename(path)
signal.pause()
"""


async def started(root: Path) -> list[int]:
    """The process ids that the command has written."""
    async with asyncio.timeout(BOUND):
        while not (root / "ids").exists():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
    return [int(word) for word in (root / "ids").read_text().split()]


def running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except FileNotFoundError:
        return False
    return state[0] != "Z"


async def gone(processes: list[int]) -> None:
    async with asyncio.timeout(BOUND):
        while any(map(running, processes)):  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.01)


async def test_a_cancel_ends_the_command_and_what_it_started(tmp_path: Path) -> None:
    """RET-3."""
    signal = CancelSignal()

    async def ask() -> None:
        with signal.scope():
            await resolve(command(WRITES_ITS_ID), tmp_path, None, signal)

    asking = asyncio.ensure_future(ask())
    processes = await started(tmp_path)
    signal.cancel()
    with pytest.raises(Cancelled):
        await asking
    await gone(processes)


async def test_a_command_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC-4."""
    monkeypatch.setattr(credentials, "COMMAND_TIMEOUT", 0.05)
    with pytest.raises(CredentialMissing, match=r"within 0\.05 s"):
        await found(command("import signal; signal.pause()"), tmp_path)


async def test_the_connected_client_is_asked_by_name_with_the_runs_signal() -> None:
    """CFG-4."""
    asked: list[tuple[str, CancelSignal]] = []

    async def client(name: str, signal: CancelSignal) -> str:
        asked.append((name, signal))
        return " canary-client \n"

    signal = CancelSignal()
    secret = await resolve(source(CredentialKind.CLIENT, "main key"), Path(), client, signal)
    assert secret.reveal() == "canary-client"
    assert asked == [("main key", signal)]
    with pytest.raises(CredentialMissing, match="no client"):
        await found(source(CredentialKind.CLIENT, "main key"))
