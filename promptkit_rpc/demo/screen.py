"""How the demo looks in a terminal: headings, indented text, and colour only where one is."""

import os
import sys
import textwrap
from typing import Any

_COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ
WIDTH = 88
_LABEL = 14


def _styled(code: str, text: str) -> str:
    return f"\033[{code}m{text}\033[0m" if _COLOUR else text


def heading(text: str) -> None:
    """Starts a part of the story."""
    print("\n" + _styled("1;36", text))


def note(text: str) -> None:
    """One remark of the narrator."""
    print(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  "))


def said(who: str, text: str) -> None:
    """One message or answer, shortened to what a screen can take."""
    short = textwrap.shorten(text, 240, placeholder=" …")
    label = f"{who:>10}  "
    lines = textwrap.wrap(short, WIDTH - _LABEL) or [""]
    print("  " + _styled("2", label) + ("\n" + " " * _LABEL).join(lines))


def usage(totals: dict[str, Any]) -> None:
    """Token totals, with unknown told apart from zero and a subtotal from a sum."""
    for name, total in totals.items():
        if total["value"] is None:
            value, remark = "unknown", "" if total["complete"] else "no run reported it"
        else:
            value, remark = f"{total['value']:,}", "" if total["complete"] else "at least"
        print(f"  {name:>20}  {value:>8}  {_styled('33', remark)}")
