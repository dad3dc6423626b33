"""Starting a server and ending it with the block."""

import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from promptkit_client._codec import decode
from promptkit_client._connection import Connection
from promptkit_client._host import Credential, Generate, Host
from promptkit_client._process import Process
from promptkit_client._session import Session
from promptkit_client.client import Client
from promptkit_client.types import ServerCapabilities

COMMAND = "PROMPTKIT_COMMAND"
"""The environment variable that holds the command line of a server, quoted as in a shell."""


@asynccontextmanager
async def connect(
    root: str | os.PathLike[str] = ".",
    *,
    config: str | None = None,
    generate: Generate | None = None,
    credential: Credential | None = None,
    command: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    patience: float = 5.0,
) -> AsyncGenerator[Client]:
    """Starts a server on a workspace; leaving the block ends it.

    Args:
        root: the workspace's folder.
        config: its settings file, `promptkit.yaml` if None.
        generate: the model of backends of kind `client`.
        credential: the keys of `credential: {client: NAME}`.
        command: the server's command line; by default `$PROMPTKIT_COMMAND`, else the package
            `promptkit_rpc` of this Python, else `promptkit-rpc` on the path.
        env: changes to the server's environment.
        patience: seconds that the server gets to answer a cancel, or to end.

    Raises:
        FileNotFoundError: there is no server to start.
        PromptKitError: it speaks no version of the protocol that this client does.
    """
    environment = {**os.environ, **(env or {})}
    process = await Process.start(command or find_server(), environment)
    host = Host(generate, credential)
    connection = Connection(process, host.handlers, host.receivers, patience)
    host.connection = connection
    try:
        result = await connection.request("initialize", _hello(Path(root), config))
        ours = result["capabilities"]["experimental"]["promptkit"]
        connection.notify("initialized", {})
        yield Client(Session(connection, host), decode(ServerCapabilities, ours))
    finally:
        await connection.close()


def find_server() -> Sequence[str]:
    """The command line of a server.

    Raises:
        FileNotFoundError: there is none.
    """
    if words := shlex.split(os.environ.get(COMMAND, "")):
        return words
    if importlib.util.find_spec("promptkit_rpc"):
        return [sys.executable, "-m", "promptkit_rpc", "serve"]
    if found := shutil.which("promptkit-rpc"):
        return [found, "serve"]
    raise FileNotFoundError(f"no server: install promptkit-rpc, or set {COMMAND}")


def _hello(root: Path, config: str | None) -> dict[str, Any]:
    ours: dict[str, Any] = {"protocolVersions": [1]}
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "promptkit-client"},
        "rootUri": root.absolute().as_uri(),
        "capabilities": {},
        "initializationOptions": {"promptkit": {**ours, "config": config} if config else ours},
    }
