"""The engines a session has open. The workspace root is `default`, opened when first needed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from promptkit_rpc.engine import Engine
from promptkit_rpc.errors import EngineNotFound
from promptkit_rpc.services import Services

DEFAULT = "default"
_CONFIG = "promptkit.yaml"


class Engines:
    """Engines by id.

    Args:
        root: the workspace's folder.
        config: its settings file, a path below it; `promptkit.yaml` if None.
        on_default: told when the default one has been opened.
    """

    def __init__(
        self,
        root: Path,
        config: str | None,
        services: Services,
        on_default: Callable[[Engine], None] | None = None,
    ) -> None:
        self._root = root
        self._config = config
        self._services = services
        self._on_default = on_default
        self._open: dict[str, Engine | None] = {DEFAULT: None}
        self._made = 0

    def get(self, engine_id: str | None) -> Engine:
        """An open engine; None means the default one.

        Raises:
            EngineNotFound: none is open under this id.
        """
        name = DEFAULT if engine_id is None else engine_id
        engine = self._open.get(name)
        if engine is None:
            engine = self._default(name)
        return engine

    def _default(self, name: str) -> Engine:
        if name not in self._open:
            raise EngineNotFound(f"no engine {name[:100]!r} is open")
        engine = Engine.open(self._root, self._config or _CONFIG, services=self._services)
        self._open[name] = engine
        if self._on_default is not None:
            self._on_default(engine)
        return engine

    def open(self, root: str | None, config: str | None) -> tuple[str, Engine]:
        """Opens another one; a relative root starts at the workspace's."""
        folder = self._root if root is None else self._root / root
        engine = Engine.open(
            Path(os.path.abspath(folder)),  # noqa: PTH100 - links in it stay as they are
            config or _CONFIG,
            services=self._services,
        )
        self._made += 1
        engine_id = f"engine-{self._made}"
        self._open[engine_id] = engine
        return engine_id, engine

    async def close(self, engine_id: str | None) -> None:
        """Closes one: its runs in flight finish, requests that name it are refused.

        Raises:
            EngineNotFound: none is open under this id.
        """
        engine = self.get(engine_id)
        del self._open[DEFAULT if engine_id is None else engine_id]
        await engine.close()

    async def close_all(self) -> None:
        """Closes every one."""
        engines, self._open = self._open, {}
        for engine in engines.values():
            if engine is not None:
                await engine.close()

    def __iter__(self) -> Iterator[tuple[str, Path, Engine | None]]:
        """Id, root and engine of each; the default one may be yet to open."""
        for engine_id, engine in self._open.items():
            yield engine_id, self._root if engine is None else engine.root, engine
