"""The package's own source as syntax trees: what each module imports, how long it is."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from attrs import frozen

ROOT = Path(__file__).parents[2]
PACKAGE = "promptkit_rpc"


@frozen(eq=False)
class Module:
    """One source file. `name` is dotted; a package's own name stands for its `__init__`."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def place(self) -> str:
        """Its path below the root, as a failure names it."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def room(self) -> str:
        """The package or module right below the root package that it belongs to."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else PACKAGE


@frozen
class Import:
    """One import: the module it comes from, the whole name, and the line."""

    source: str
    name: str
    line: int

    @property
    def top(self) -> str:
        """The distribution-like first part."""
        return self.source.partition(".")[0]


@cache
def modules(folder: str = PACKAGE) -> tuple[Module, ...]:
    """Every Python module below a folder of the root, in order of path."""
    return tuple(_read(path) for path in sorted((ROOT / folder).rglob("*.py")))


def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, path, text, ast.parse(text))


def imports(module: Module) -> Iterator[Import]:
    """Every import of a module, late ones and those for type checkers included."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield Import(alias.name, alias.name, node.lineno)
            case ast.ImportFrom():
                source = _absolute(module, node)
                for alias in node.names:
                    yield Import(source, f"{source}.{alias.name}", node.lineno)
            case _:
                pass


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.name.split(".")
    if module.path.name != "__init__.py":
        package.pop()
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def inner_imports(module: Module) -> dict[str, int]:
    """The modules of the package that a module imports, each with the line of the first time."""
    names = {one.name for one in modules()}
    found: dict[str, int] = {}
    for one in imports(module):
        if one.top == PACKAGE:
            target = one.name if one.name in names else one.source
            found.setdefault(target, one.line)
    return found


def docstrings(module: Module) -> set[ast.Constant]:
    """The constants that are docstrings, those under attributes included."""
    return {
        node.value
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
