"""Which tests show which requirement: `tests/manifest.toml`, kept from the tests' docstrings.

`python -m tests.support.manifest --write` writes the lists anew and keeps ids and titles; an id
that no test names keeps an empty list, which `tests/test_manifest.py` does not accept.
"""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from tests.support.source import ROOT, Module, modules

MANIFEST = ROOT / "tests" / "manifest.toml"

BEHAVIOR = "CAP OWN DET CFG COO ADM OBS USE GRP ENG OUT RET SEC"
CASES = "CHKPRSTUX"

_ID = re.compile(rf"\b(?:(?:{BEHAVIOR.replace(' ', '|')})-\d+|[{CASES}]-\d{{2}})(?![\w-])")


@frozen
class Entry:
    """One id: what it asks in a few words, and the tests that show it."""

    title: str
    tests: tuple[str, ...]


Manifest = dict[str, Entry]


def read(path: Path = MANIFEST) -> Manifest:
    """The manifest as it is written."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: Entry(one["title"], tuple(one["tests"])) for name, one in table.items()}


def named() -> dict[str, list[str]]:
    """Every id that a test's docstring names, with those tests by node id, sorted."""
    found: dict[str, list[str]] = {}
    for one in modules("tests"):
        for test, docstring in tests(one):
            for name in ids(docstring):
                found.setdefault(name, []).append(test)
    return {name: sorted(set(found[name])) for name in sorted(found)}


def ids(docstring: str) -> list[str]:
    """The ids in a docstring."""
    return _ID.findall(docstring)


def tests(module: Module) -> Iterator[tuple[str, str]]:
    """The tests of a module: node id without parameters, and docstring."""
    if not module.path.name.startswith("test_"):
        return
    for node in module.tree.body:
        match node:
            case ast.ClassDef() if node.name.startswith("Test"):
                prefix, members = f"{module.place}::{node.name}", node.body
            case _:
                prefix, members = module.place, [node]
        for member in members:
            match member:
                case ast.FunctionDef() | ast.AsyncFunctionDef() if member.name.startswith("test_"):
                    yield f"{prefix}::{member.name}", ast.get_docstring(member) or ""
                case _:
                    pass


def written(manifest: Manifest) -> str:
    """The manifest as text."""
    lines = ["# Written by `python -m tests.support.manifest --write`; titles are written by hand."]
    for name, entry in manifest.items():
        lines += ["", f"[{name}]", f"title = {json.dumps(entry.title, ensure_ascii=False)}"]
        lines += ["tests = ["]
        lines += [f"    {json.dumps(test)}," for test in entry.tests]
        lines += ["]"]
    return "\n".join(lines) + "\n"


def renewed(manifest: Manifest) -> Manifest:
    """The same ids and titles with the tests that there are now."""
    shown = named()
    return {
        name: Entry(entry.title, tuple(shown.get(name, ()))) for name, entry in manifest.items()
    }


def main(words: list[str]) -> int:
    """The command line."""
    if words != ["--write"]:
        print("usage: python -m tests.support.manifest --write", file=sys.stderr)  # noqa: T201 - a command's answer
        return 2
    manifest = renewed(read())
    MANIFEST.write_text(written(manifest), encoding="utf-8")
    empty = [name for name, entry in manifest.items() if not entry.tests]
    print(f"{len(manifest)} ids, {len(empty)} without a test: {' '.join(empty)}")  # noqa: T201 - likewise
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
