"""What an editor tells and asks about documents, by chance and broken.

As for messages, the long form, `-m load`, goes on for `PROMPTKIT_FUZZ_SECONDS` (80).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz import seeds
from tests.fuzz.dice import Dice, encoded, mutated
from tests.fuzz.driver import Fuzz
from tests.fuzz.rounds import ROUNDS, Rounds
from tests.fuzz.test_definitions import broken, write
from tests.support.workspace import Workspace

Json = Any
BATCH = 60
EDITOR: Json = {"textDocument": {"synchronization": {"dynamicRegistration": True}}}

TOLD = ("didOpen", "didChange", "didClose", "didSave")
ASKED = (
    "textDocument/hover", "textDocument/completion", "textDocument/definition",
    "textDocument/references", "textDocument/documentSymbol", "textDocument/codeLens",
    "textDocument/codeAction", "textDocument/diagnostic", "textDocument/formatting",
    "textDocument/foldingRange", "textDocument/documentLink", "textDocument/rename",
    "textDocument/prepareRename", "textDocument/semanticTokens/full", "completionItem/resolve",
    "codeLens/resolve", "workspace/symbol", "workspace/diagnostic", "workspace/executeCommand",
    "promptkit/prompt/list", "promptkit/engine/reload",
)  # fmt: skip


class Editor:
    """Makes an editor's messages about a workspace's files."""

    def __init__(self, dice: Dice, workspace: Workspace) -> None:
        self._dice = dice
        self._root = workspace.root
        self._number = 0

    def messages(self) -> Iterator[bytes]:
        """One batch, as bodies."""
        for _ in range(BATCH):
            self._number += 1
            message = self._told() if self._dice.often(0.6) else self._asked()
            if self._dice.often(0.2):
                message["params"] = mutated(self._dice, message["params"])
            yield encoded(message)

    def _told(self) -> Json:
        dice, document = self._dice, self._document()
        if dice.often(0.1):
            changes = [{"uri": document["uri"], "type": 1 + dice.upto(2)}]
            return _notification("workspace/didChangeWatchedFiles", {"changes": changes})
        word = dice.one(*TOLD)
        params: Json = {"textDocument": document}
        text = broken(dice, dice.one(*seeds.PROMPTS, seeds.SETTINGS)).decode("utf-8", "replace")
        if word == "didOpen":
            document |= {"languageId": "yaml", "version": self._number, "text": text}
        if word == "didChange":
            document["version"] = self._number
            part = {"range": {"start": self._place(), "end": self._place()}, "text": text[:20]}
            params["contentChanges"] = [dice.one({"text": text}, part)]
        return _notification(f"textDocument/{word}", params)

    def _asked(self) -> Json:
        place = self._place()
        params: Json = {
            "textDocument": self._document(),
            "position": place,
            "range": {"start": place, "end": place},
            "context": {"includeDeclaration": True, "diagnostics": []},
            "options": {"tabSize": 2, "insertSpaces": True},
            "newName": "x",
            "query": "a",
            "command": "a",
        }
        method = self._dice.one(*ASKED)
        if method.startswith("promptkit/"):
            params = {}
        ident = f"message {self._number:06}"
        return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}

    def _document(self) -> Json:
        dice = self._dice
        name = dice.one("promptkit.yaml", "prompts/p0.prompt.yaml", "prompts/new.prompt.yaml")
        uri = (self._root / name).as_uri()
        if dice.often(0.1):
            uri = dice.one("untitled:x", "file:///%ff", "", "file://host/x", "\0", dice.text())
        return {"uri": uri}

    def _place(self) -> Json:
        return {"line": self._dice.upto(40), "character": self._dice.upto(60)}


def _notification(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


@ROUNDS
async def test_whatever_an_editor_says_its_requests_are_answered(
    tmp_path: Path, rounds: Rounds
) -> None:
    """SEC-4, X-03: and the daemon goes on telling what is wrong in its documents."""
    tried, answered = 0, Counter[str]()
    for dice in rounds:
        workspace = Workspace(tmp_path)
        write(dice, workspace)
        editor = Editor(dice, workspace)
        async with Fuzz(workspace.root, dice, capabilities=EDITOR) as fuzz:
            while rounds.go_on():
                await fuzz.batch(list(editor.messages()))
            tried += fuzz.tried
            answered += fuzz.answered
    rounds.tell(f"documents: {tried} messages, answered {dict(answered.most_common())}")
