"""`check`: every problem of a workspace with its file, line and column."""

import os.path
import sys
from pathlib import Path

from promptkit_rpc.commands.words import counted, place
from promptkit_rpc.definitions.catalog import Workspace
from promptkit_rpc.definitions.folder import SUFFIX
from promptkit_rpc.definitions.snapshot import Catalog
from promptkit_rpc.errors import ConfigInvalid


def check(root: str, config: str) -> int:
    """Prints `file:line:column: problem` for each. Exit code 1 if there is any, or no prompt."""
    folder = Path(root)
    if not folder.is_dir():
        print(f"promptkit-rpc check: {root} is no folder", file=sys.stderr)
        return 1
    catalog = Workspace(folder, config).reload()
    problems, prompts = catalog.problems, len(catalog.prompts())
    for problem in problems:
        print(f"{place(problem.location, root)}: {problem.message}")
    if not prompts and not any(one.location.file.endswith(SUFFIX) for one in problems):
        where = os.path.normpath(os.path.join(root, _prompts_folder(catalog)))  # noqa: PTH118 - as given
        print(f"no prompts in {where}; is this the workspace? (--root)", file=sys.stderr)
        return 1
    read, found = counted(prompts, "prompt"), counted(len(problems), "problem")
    print(f"{read} read, {found}", file=sys.stderr)
    return 1 if problems else 0


def _prompts_folder(catalog: Catalog) -> str:
    try:
        return catalog.settings.prompts
    except ConfigInvalid:
        return "prompts"
