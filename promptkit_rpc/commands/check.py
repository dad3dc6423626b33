"""`check`: every problem of a workspace with its file, line and column."""

import sys
from pathlib import Path

from promptkit_rpc.definitions.catalog import Workspace


def check(root: str, config: str) -> int:
    """Prints `file:line:column: problem` for each. Exit code 1 if there is any."""
    folder = Path(root)
    if not folder.is_dir():
        print(f"promptkit-rpc check: {root} is no folder", file=sys.stderr)
        return 1
    catalog = Workspace(folder, config).reload()
    for problem in catalog.problems:
        print(f"{problem.location}: {problem.message}")
    count = len(catalog.problems)
    prompts = len(catalog.prompts())
    print(
        f"{prompts} prompts can be used, {count or 'no'} problem{'' if count == 1 else 's'}",
        file=sys.stderr,
    )
    return 1 if count else 0
