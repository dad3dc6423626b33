"""What the language server does: keeps open documents, and publishes their problems.

Only what is registered here is served; all else is refused or dropped.
"""

import asyncio
import logging
from pathlib import Path
from typing import Any

from lsprotocol import types

from promptkit_rpc.language.bridge import Bridge, Server
from promptkit_rpc.language.workspace import OpenText, OpenWorkspace, Report, local_path

_log = logging.getLogger(__name__)

WATCHED = "**/*.{yaml,yml,json}"
"""Files whose changes on disk are worth another check."""


def mount(root: Path, config: str | None, capabilities: dict[str, Any]) -> Bridge:
    """A language server for a workspace, ready but for its client; takes a while.

    Args:
        root: the workspace's folder, absolute.
        config: the settings file, relative to the root; None is the usual one.
        capabilities: the client's.
    """
    server = Server()
    Documents(server, OpenWorkspace(root, config))
    return Bridge(server, root.as_uri(), capabilities)


class Documents:
    """The handlers for documents, and what was published last."""

    def __init__(self, server: Server, workspace: OpenWorkspace) -> None:
        self._server = server
        self._workspace = workspace
        self._published: dict[str, Report] = {}
        self._due = False
        self._checking = False
        server.handle(types.INITIALIZED, self._started)
        server.handle(types.TEXT_DOCUMENT_DID_OPEN, self._opened)
        server.handle(types.TEXT_DOCUMENT_DID_CHANGE, self._changed)
        server.handle(types.TEXT_DOCUMENT_DID_CLOSE, self._closed)
        server.handle(types.TEXT_DOCUMENT_DID_SAVE, self._look)
        server.handle(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._look)

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        try:
            self._server.workspace.put_text_document(params.text_document)
        except ValueError:
            _log.warning("dropped a document whose URI cannot be read")
            return
        self._look()

    def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        try:
            for change in params.content_changes:
                self._server.workspace.update_text_document(params.text_document, change)
        except KeyError:
            _log.warning("dropped a change of a document that is not open")
        self._look()

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.workspace.remove_text_document(params.text_document.uri)
        self._look()

    def _started(self, _: types.InitializedParams) -> None:
        self._look()
        workspace = self._server.client_capabilities.workspace
        watching = workspace and workspace.did_change_watched_files
        if watching and watching.dynamic_registration:
            watcher = types.FileSystemWatcher(glob_pattern=WATCHED)
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers=[watcher])
            registration = types.Registration(
                id="definitions",
                method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
                register_options=options,
            )
            self._server.client_register_capability(types.RegistrationParams([registration]))

    # Problems

    def _look(self, _: object = None) -> None:
        """Checks soon; changes that come during a check are seen by the next one, all at once."""
        self._due = True
        if not self._checking:
            self._checking = True
            self._server.spawn(self._check())

    async def _check(self) -> None:
        try:
            while self._due:
                self._due = False
                reports = await asyncio.to_thread(self._workspace.check, self._open_texts())
                self._publish(reports)
        finally:
            self._checking = False

    def _open_texts(self) -> list[OpenText]:
        documents = self._server.workspace.text_documents.values()
        return [
            OpenText(uri=one.uri, path=path, version=one.version, text=one.source)
            for one in documents
            if (path := local_path(one.uri)) is not None
        ]

    def _publish(self, reports: tuple[Report, ...]) -> None:
        """Sends what differs from what was sent before; at first, of the settings in any case."""
        before = self._published
        self._published = {report.uri: report for report in reports}
        for report in reports:
            known = before.pop(report.uri, None)
            if known is None and report.uri != self._workspace.settings_uri:
                known = Report(report.uri, None, ())
            if report != known:
                self._send(report)
        for old in before.values():
            if old.diagnostics:
                self._send(Report(old.uri, None, ()))

    def _send(self, report: Report) -> None:
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=report.uri, version=report.version, diagnostics=report.diagnostics
            )
        )
