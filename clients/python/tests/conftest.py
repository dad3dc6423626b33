"""The daemon under test, and sample workspaces for it."""

import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from promptkit_client import Client, connect

CHECKOUT = Path(__file__).parents[3]
PYTHON = os.environ.get("PROMPTKIT_PYTHON", sys.executable)
SERVER = ["env", f"PYTHONPATH={CHECKOUT}", PYTHON, "-m", "promptkit_rpc"]
SERVE = [*SERVER, "serve"]

os.environ["PROMPTKIT_COMMAND"] = shlex.join(SERVE)

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample workspace; not to be changed."""
    folder = tmp_path_factory.mktemp("samples")
    subprocess.run([*SERVER, "init", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
async def client(samples: Path) -> AsyncIterator[Client]:
    """A client of a daemon on the sample workspace."""
    async with connect(samples) as connected:
        yield connected
