"""What arguments of the command line may say. Imports nothing that starting a server has not."""

from __future__ import annotations

import argparse
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FORM = "is neither NAME=TEXT nor NAME:=JSON"
_MOST = 1e9


def variable(text: str) -> tuple[str, Any]:
    """A variable's name and value, from NAME=TEXT or NAME:=JSON."""
    from promptkit_rpc.jsontext import JsonError, decode  # noqa: PLC0415 - for `:=` only

    name, equals, value = text.partition("=")
    if not equals or not name.removesuffix(":"):
        raise argparse.ArgumentTypeError(f"{text!r} {_FORM}")
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], decode(value)
    except JsonError as error:
        hint = f"; for text write {name[:-1]}={value}" if re.fullmatch(r"[\w.@+/-]+", value) else ""
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON after `:=`: {error}{hint}") from None


def seconds(text: str) -> float:
    """A time limit."""
    try:
        found = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from None
    if not 0 < found < _MOST:
        raise argparse.ArgumentTypeError(f"{text} is no time limit; it must be more than 0")
    return found


def size(text: str) -> int:
    """A number of bytes."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes")
    return int(text)
