"""An editor in this process: a client with text documents, over the in-process connection.

async with editing(workspace.root) as editor:
    editor.open("prompts/ask.prompt.yaml", "messages: []")
    report = await editor.report("prompts/ask.prompt.yaml", lambda report: report["version"])
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.hello import Hello
from promptkit_rpc.rpc.local import connect
from promptkit_rpc.rpc.peer import Handler, Peer
from promptkit_rpc.rpc.session import Session

BOUND = 30.0
"""No wait in a test is longer, in seconds; the first one waits for an import."""

Json = Any
DOCUMENTS: Mapping[str, Json] = MappingProxyType({"textDocument": {"synchronization": {}}})


class Editor:
    """Makes requests, opens and edits documents, keeps what was published."""

    peer: Peer

    def __init__(self, root: Path) -> None:
        self.root = root
        self.session: Session | None = None
        self.published: list[Json] = []
        """Every report of a document's problems, in order."""
        self._news = asyncio.Event()

    # Requests

    async def request(self, method: str, params: Json = None) -> Json:
        """The result."""
        async with asyncio.timeout(BOUND):
            return await self.peer.request(method, {} if params is None else params)

    async def refused(self, method: str, params: Json = None) -> RpcError:
        """The error of a request that must fail."""
        try:
            result = await self.request(method, params)
        except RpcError as error:
            return error
        raise AssertionError(f"{method} was not refused but answered {result!r}")

    # Documents

    def uri(self, file: str) -> str:
        """A file below the root, as this editor names it; a URI stays as it is."""
        return file if ":" in file else (self.root / file).as_uri()

    def open(self, file: str, text: str, version: int = 1) -> None:
        """Shows a document."""
        item = {"uri": self.uri(file), "languageId": "yaml", "version": version, "text": text}
        self.peer.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, file: str, text: str, version: int) -> None:
        """Replaces a document's text."""
        document = {"uri": self.uri(file), "version": version}
        params = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.peer.notify("textDocument/didChange", params)

    def close(self, file: str) -> None:
        """Closes a document."""
        self.peer.notify("textDocument/didClose", {"textDocument": {"uri": self.uri(file)}})

    def changed_on_disk(self, *files: str) -> None:
        """Says that files were changed by someone else."""
        changes = [{"uri": self.uri(file), "type": 2} for file in files]
        self.peer.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    # What was published

    def keep(self, report: Json) -> None:
        """Takes a `textDocument/publishDiagnostics`."""
        self.published.append(report)
        self._news.set()

    def reports(self, file: str) -> list[Json]:
        """Every report of a file so far."""
        return [report for report in self.published if report["uri"] == self.uri(file)]

    async def report(self, file: str, fits: Callable[[Json], Any] = lambda _: True) -> Json:
        """Waits until the newest report of a file fits, and gives it."""

        def found() -> bool:
            reports = self.reports(file)
            return bool(reports) and bool(fits(reports[-1]))

        async with asyncio.timeout(BOUND):
            while not found():
                self._news.clear()
                await self._news.wait()
        return self.reports(file)[-1]

    async def problems(self, file: str, version: int | None = None) -> list[Json]:
        """Waits for problems of a file, or for its report in a version; gives the problems."""
        report = await self.report(
            file,
            lambda one: one["diagnostics"] if version is None else one.get("version") == version,
        )
        return report["diagnostics"]

    async def cleared(self, file: str) -> None:
        """Waits until a file has no problems any more."""
        await self.report(file, lambda one: not one["diagnostics"])


@asynccontextmanager
async def editing(
    root: Path,
    *,
    capabilities: Mapping[str, Json] = DOCUMENTS,
    methods: Mapping[str, Handler] = MappingProxyType({}),
) -> AsyncGenerator[Editor, None]:
    """An editor on a workspace; `methods` are what it serves."""
    editor = Editor(root)

    def make(peer: Peer, hello: Hello) -> Session:
        editor.session = Session(peer, hello)
        return editor.session

    heard = {"textDocument/publishDiagnostics": editor.keep}
    async with connect(make, methods, heard) as editor.peer:
        params = {"processId": None, "rootUri": root.as_uri(), "capabilities": dict(capabilities)}
        await editor.request("initialize", params)
        editor.peer.notify("initialized", {})
        yield editor
