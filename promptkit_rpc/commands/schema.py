"""`schema`: the published JSON Schemas and the table of methods."""

import sys
from pathlib import Path

from promptkit_rpc.rpc import schema as made


def schema(folder: str, *, check: bool, markdown: bool) -> int:
    """Writes what is stale, or only says what that is; exit code 1 if it is checked and stale."""
    if markdown:
        print(made.markdown(), end="")
        return 0
    target = Path(folder)
    stale = made.stale(target) if check else made.write(target)
    for path in stale:
        print(path)
    if check and stale:
        print("stale; write them with: promptkit-rpc schema", file=sys.stderr)
    return int(check and bool(stale))
