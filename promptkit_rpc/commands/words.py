"""Problems and errors in the words of the command line: its options, and paths that open."""

import os.path
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptkit_rpc.errors import Location, PromptKitError, PromptNotFound

_UNSET = re.compile(r"(the variable '([^']+)' is not set); give it .+ in `variables`$")
_UNFIT = re.compile(r"the variable '([^']+)' must be (?!text$)(.+)$")
_NO_PROFILE = (
    "has no default profile and the request names none; give `profile` in either",
    "names no profile; give one with --profile, or write `profile` in the prompt",
)


def counted(number: int, noun: str) -> str:
    """A number and its noun, `no problems` and `1 problem` among them."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def place(location: Location, root: str) -> str:
    """A place with its path from the working directory."""
    file = os.path.normpath(os.path.join(root, location.file))  # noqa: PTH118 - as it was given
    return str(Location(file, location.line, location.column))


def failure(error: PromptKitError, root: str, variables: Mapping[str, Any]) -> str:
    """An error's message; `variables` are those that were given."""
    message = error.message
    if error.location is not None:
        message = message.removeprefix(f"{error.location}: ")
    for old, new in (_NO_PROFILE,):
        message = message.replace(old, new)
    message = _UNSET.sub(r"\1; give it with --var \2=…", message)
    unfit = _UNFIT.search(message)
    if unfit is not None and isinstance(variables.get(unfit[1]), str):
        message += _as_json(unfit[1], variables[unfit[1]], unfit[2])
    if isinstance(error, PromptNotFound):
        message += f" (the workspace is {Path(root).resolve()})"
    return message if error.location is None else f"{place(error.location, root)}: {message}"


def _as_json(name: str, value: str, wanted: str) -> str:
    if "number" not in wanted and wanted != "an integer":
        return f"; for anything but text write --var {name}:=JSON"
    shown = value if re.fullmatch(r"-?\d{1,20}(\.\d{1,20})?", value) else "…"
    return f"; for a number write --var {name}:={shown}"
