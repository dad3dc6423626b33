"""Where a backend's credential comes from: environment, file, command or the connected client.

The place is the configuration's, which its author is trusted with: a file may lie outside the
workspace and a command may be any program. What they hold is never shown.
"""

import asyncio
import os
import signal as signals
import stat
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import assert_never

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.definitions.settings import CredentialKind, CredentialSource
from promptkit_rpc.errors import ConfigInvalid, CredentialMissing
from promptkit_rpc.secret import Secret
from promptkit_rpc.services import ClientCredential

COMMAND_TIMEOUT = 30.0
"""Seconds a command may take to print a credential."""

LONGEST = 64 * 1024
"""Bytes a credential may have; whoever prints more prints something else."""


async def resolve(
    source: CredentialSource, root: Path, client: ClientCredential | None, signal: CancelSignal
) -> Secret:
    """The credential at a place, read anew. `root` is the workspace; `client` asks the host.

    Raises:
        CredentialMissing: the place holds none, or cannot be read.
        ConfigInvalid: what it holds can be no credential.
        PromptKitError: whatever the client answers instead.
    """
    match source.kind:
        case CredentialKind.ENV:
            return _of_variable(source, _of_environment(source))
        case CredentialKind.FILE:
            text = await asyncio.to_thread(_of_file, source, root)
            return _parsed(source, f"credential file {_name(source)}", text)
        case CredentialKind.COMMAND:
            text = await _of_command(source, root)
            return _parsed(source, f"the output of credential command {_name(source)}", text)
        case CredentialKind.CLIENT:
            if client is None:
                raise _missing(source, f"no client is connected to ask for {_name(source)!r}")
            text = await client(_name(source), signal)
            return _parsed(source, f"the client's credential {_name(source)!r}", text)
        case _:
            assert_never(source.kind)


def _name(source: CredentialSource) -> str:
    return source.value[0] if source.value else ""


def _parsed(source: CredentialSource, place: str, text: str) -> Secret:
    return Secret.parse(text, source=place, location=source.location)


def _missing(source: CredentialSource, why: str) -> CredentialMissing:
    return CredentialMissing(why, location=source.location)


@lru_cache(maxsize=64)
def _of_variable(source: CredentialSource, text: str) -> Secret:
    """One secret as long as the variable holds the same; the environment keeps it anyway."""
    return _parsed(source, f"environment variable {_name(source)}", text)


def _of_environment(source: CredentialSource) -> str:
    text = os.environ.get(_name(source))
    if text is None:
        raise _missing(source, f"environment variable {_name(source)} is not set")
    return text


def _of_file(source: CredentialSource, root: Path) -> str:
    name = _name(source)
    try:
        path = root / Path(name).expanduser()
        # Asked before it is opened: a pipe that nobody writes to would never open.
        if not stat.S_ISREG(path.stat().st_mode):
            raise _missing(source, f"credential file {name} is no regular file")
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
    except FileNotFoundError:
        raise _missing(source, f"credential file {name} does not exist") from None
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or "its path is unusable"
        raise _missing(source, f"credential file {name} cannot be read: {why}") from None
    return _text(source, f"credential file {name}", data)


async def _of_command(source: CredentialSource, root: Path) -> str:
    name = _name(source)
    place = f"the output of credential command {name}"
    try:
        process = await asyncio.create_subprocess_exec(
            *source.value,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            # It may print the credential there too.
            stderr=asyncio.subprocess.DEVNULL,
            cwd=root,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its words are unusable"
        raise _missing(source, f"credential command {name} cannot be started: {why}") from None
    try:
        async with asyncio.timeout(COMMAND_TIMEOUT):
            text = _text(source, place, await _output(process))
            code = await process.wait()
    except TimeoutError:
        raise _missing(
            source, f"credential command {name} did not end within {COMMAND_TIMEOUT:g} s"
        ) from None
    finally:
        await _ended(process)
    if code != 0:
        raise _missing(
            source,
            f"credential command {name} ended with status {code}; run it by hand to see why",
        )
    return text


async def _output(process: asyncio.subprocess.Process) -> bytes:
    if process.stdout is None:
        raise RuntimeError("the command's output is a pipe")
    data = b""
    while len(data) <= LONGEST and (more := await process.stdout.read(LONGEST)):
        data += more
    return data


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Ends the command with everything it started; it is given no time to refuse."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signals.SIGKILL)
        await process.wait()


def _text(source: CredentialSource, place: str, data: bytes) -> str:
    if len(data) > LONGEST:
        raise ConfigInvalid(f"{place} is too long for a credential", location=source.location)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigInvalid(
            f"{place} is no text; only printable ASCII may stand in a credential",
            location=source.location,
        ) from None
