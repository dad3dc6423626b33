"""What `initialize` answers with, as plain data. Imports nothing: start-up needs it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROTOCOL_VERSIONS = (1,)
"""Versions of the protocol that are spoken."""

PROMPTKIT: dict[str, dict[str, Any]] = {
    "continuation": {},
    "coordination": {},
    "groups": {},
    "prepared": {},
    "engines": {},
    "streaming": {},
    "observations": {},
}
"""Ours, an object each; one that is not supported is absent."""

TEXT_DOCUMENTS: dict[str, Any] = {
    "textDocumentSync": {"openClose": True, "change": 1, "save": {"includeText": False}},
}
"""For a client that has text documents: whole documents are synchronized (1)."""
