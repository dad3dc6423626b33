"""`init`: writes the sample workspace; never over a file that is there."""

import shlex
import sys
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def init(folder: str) -> int:
    """Writes the samples below the folder. Exit code 1 if a file of theirs is there already."""
    root = Path(folder)
    samples = list(sample_files())
    file = next((one for one in (root, *root.parents) if one.exists() and not one.is_dir()), None)
    if file is not None:
        print(f"promptkit-rpc init: {file} is a file; name a folder", file=sys.stderr)
        return 1
    taken = [name for name, _ in samples if (root / name).exists()]
    if taken:
        print(
            f"promptkit-rpc init: {root / taken[0]} is there already; nothing was written."
            " Choose another folder.",
            file=sys.stderr,
        )
        return 1
    write_samples(root)
    for name, _ in samples:
        print(root / name)
    where = "" if root == Path() else f" --root {shlex.quote(folder)}"
    print(f"\nTry: promptkit-rpc run hello --var name=Ada{where}", file=sys.stderr)
    return 0


def write_samples(root: Path) -> None:
    """Writes every sample file below the folder, making it if need be."""
    for name, text in sample_files():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def sample_files() -> list[tuple[str, str]]:
    """Name and text of each sample file, names with slashes."""
    return list(_walk(files("promptkit_rpc") / "samples", ""))


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += _walk(entry, f"{prefix}{entry.name}/")
        else:
            found.append((prefix + entry.name, entry.read_text(encoding="utf-8")))
    return found
