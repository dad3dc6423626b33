"""Error codes of JSON-RPC and LSP, and the error that carries one.

Imports nothing: it is loaded before `initialize` is answered.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_NOT_INITIALIZED = -32002
REQUEST_FAILED = -32803
REQUEST_CANCELLED = -32800


class RpcError(Exception):
    """An error as it stands in an answer, in either direction: code, message, and any JSON data."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as it is."""
        return type(self), (self.code, self.message, self.data)

    def __repr__(self) -> str:
        return f"RpcError({self.code}, {self.message!r})"


class UnusableAnswer(RpcError):  # noqa: N818 - named for what it is
    """Not the other side's error: its answer passes a limit, and the message says which."""
