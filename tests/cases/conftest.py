"""One daemon for each module, and stages on it for each test."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.daemon import Daemon
from tests.support.stage import Stages


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Daemon, None]:
    """A daemon in an empty folder."""
    async with Daemon(tmp_path_factory.mktemp("home")) as daemon:
        yield daemon


@pytest_asyncio.fixture(loop_scope="module")
async def stages(daemon: Daemon, tmp_path: Path) -> AsyncGenerator[Stages, None]:
    """What makes stages."""
    stages = Stages(daemon, tmp_path)
    yield stages
    await stages.close()
