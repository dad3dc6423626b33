"""Rules of the house, read off the source: who imports whom, who knows what, and how big it is."""

import ast
import importlib
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from types import GenericAlias, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import attrs
import pytest

from tests.support.source import (
    PACKAGE,
    ROOT,
    Import,
    Module,
    docstrings,
    imports,
    inner_imports,
    modules,
)

ORDER: tuple[frozenset[str], ...] = tuple(
    frozenset(row.split())
    for row in (
        "__main__ cli commands demo",
        "rpc language",
        "system",
        "engine",
        "coordination groups",
        "execution",
        "backends",
        "definitions",
        "services",
        "generation",
        "output",
        "conversation",
        f"cancellation secret usage jsontext errors {PACKAGE}",
    )
)
"""Top to bottom: a room imports from its own row and from rows below."""

OUTER = ORDER[0] | ORDER[1] | ORDER[2]
"""Where the wire is known, and where clocks, chance and ids come from."""

ONLY_THERE: Mapping[str, str] = {
    "httpx": "backends/http/",
    "httptools": "backends/http/",
    "httpx_sse": "backends/http/",
    "httpcore": "backends/http/",
    "jinja2": "definitions/sandbox/",
    "markupsafe": "definitions/sandbox/",
    "yaml": "definitions/source.py",
    "jsonschema_rs": "output/validate.py",
    "cattrs": "rpc/",
    "pygls": "language/",
    "lsprotocol": "language/",
}
"""Libraries, and the one place below the package that may import each."""

WORLD = re.compile(
    r"(uuid|random|secrets)(\..+)?"
    r"|time\.(time|time_ns|monotonic|monotonic_ns|perf_counter|perf_counter_ns|sleep)"
    r"|(datetime\.)?(datetime|date)\.(now|utcnow|today)"
    r"|os\.(urandom|getrandom)"
)
"""Clocks, chance and ids, which the core is given."""

WIRE = re.compile(
    r"jsonrpc|Content-Length|promptkit/[a-z]|\$/[a-z]|window/[a-z]|textDocument/[a-z]"
)

MODULE_LINES = 400
FUNCTION_LINES = 45

VALUES = (
    "conversation",
    "coordination.actions",
    "definitions.prompt",
    "definitions.settings",
    "errors",
    "execution.observe",
    "execution.request",
    "generation",
    "groups",
    "jsontext",
    "output.contract",
    "usage",
)
"""Where all attrs classes are values: frozen, with nothing mutable inside."""


def check(faults: Iterator[str]) -> None:
    """Fails with one fault a line."""
    found = list(faults)
    assert not found, "\n" + "\n".join(found)


def below(place: str) -> Callable[[Module], bool]:
    """Whether a module is a file, or lies in a folder, below the package."""
    whole = f"{PACKAGE}/{place}"
    return lambda one: one.place == whole or (whole.endswith("/") and one.place.startswith(whole))


def core() -> Iterator[Module]:
    """The modules of the engine and below."""
    return (one for one in modules() if one.room not in OUTER)


def test_every_room_has_a_place_in_the_order() -> None:
    """A new module right below the package must be put into `ORDER`."""
    placed = frozenset[str]().union(*ORDER)
    check(
        f"{one.place}: where does `{one.room}` stand?"
        for one in modules()
        if one.room not in placed
    )


def test_imports_go_down_only() -> None:
    """From cli over rpc and language, engine, and so on to errors."""
    rank = {room: number for number, row in enumerate(ORDER) for room in row}
    by_name = {one.name: one for one in modules()}

    def faults() -> Iterator[str]:
        for one in modules():
            for target, line in inner_imports(one).items():
                room = by_name[target].room if target in by_name else target.split(".")[1]
                if rank.get(room, 0) < rank.get(one.room, 0):
                    yield f"{one.place}:{line}: {target} stands above `{one.room}`"

    check(faults())


def test_no_module_imports_itself_by_a_detour() -> None:
    """Late imports count: they only hide a cycle."""
    edges = {one.name: set(inner_imports(one)) - {one.name} for one in modules()}
    while leaves := {name for name, targets in edges.items() if not targets & edges.keys()}:
        for name in leaves:
            del edges[name]
    # Whoever imports into a cycle is left too; take away those that nobody imports.
    while roots := edges.keys() - set[str]().union(*edges.values()):
        for name in roots:
            del edges[name]
    check(f"in a cycle: {name} → {sorted(t & edges.keys())}" for name, t in sorted(edges.items()))


def test_two_rooms_of_one_row_import_each_other_one_way_at_most() -> None:
    """It may be that rpc knows language, or language rpc, and not both."""
    pairs = {
        (one.room, target.split(".")[1])
        for one in modules()
        for target in inner_imports(one)
        if "." in target
    }
    check(f"{a} and {b} import each other" for a, b in sorted(pairs) if a < b and (b, a) in pairs)


@pytest.mark.parametrize("library", ONLY_THERE)
def test_a_library_is_imported_in_its_one_place_only(library: str) -> None:
    """Whoever wants to replace it has one place to change."""
    home = below(ONLY_THERE[library])
    check(
        f"{one.place}:{found.line}: {library} belongs to {ONLY_THERE[library]}"
        for one in modules()
        if not home(one)
        for found in imports(one)
        if found.top == library
    )


def test_the_core_knows_no_wire() -> None:
    """Method names, headers and codes stand above the engine only."""

    def faults() -> Iterator[str]:
        for one in core():
            texts = docstrings(one)
            for node in ast.walk(one.tree):
                match node:
                    case ast.Constant(value=str(text)) if node not in texts and WIRE.search(text):
                        yield f"{one.place}:{node.lineno}: {text!r} is a word of the wire"
                    case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(code))) if (
                        32000 <= code < 33000
                    ):
                        yield f"{one.place}:{node.lineno}: -{code} is a code of the wire"
                    case _:
                        pass

    check(faults())


def test_the_core_is_given_its_clocks_chance_and_ids() -> None:
    """Only `system` reaches for them; so a test can hold them still."""

    def faults() -> Iterator[str]:
        for one in core():
            for found in imports(one):
                if WORLD.fullmatch(found.name) or WORLD.fullmatch(found.source):
                    yield f"{one.place}:{found.line}: imports {found.name}"
            for node in ast.walk(one.tree):
                if isinstance(node, ast.Attribute) and WORLD.fullmatch(ast.unparse(node)):
                    yield f"{one.place}:{node.lineno}: reaches for {ast.unparse(node)}"

    check(faults())


@pytest.mark.parametrize("folder", [PACKAGE, "tests"])
def test_no_module_is_too_long(folder: str) -> None:
    check(
        f"{one.place}: {lines} lines, {MODULE_LINES} at most"
        for one in modules(folder)
        if (lines := one.text.count("\n")) > MODULE_LINES
    )


def test_no_function_is_too_long() -> None:
    check(
        f"{one.place}:{node.lineno}: {node.name} has {lines} lines, {FUNCTION_LINES} at most"
        for one in modules()
        for node in ast.walk(one.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    )


def value_classes() -> list[type]:
    names = [f"{PACKAGE}.{room}" for room in VALUES]
    found: list[type] = []
    for one in modules():
        if any(one.name == name or one.name.startswith(f"{name}.") for name in names):
            loaded = importlib.import_module(one.name)
            found += [
                value
                for value in vars(loaded).values()
                if isinstance(value, type) and attrs.has(value) and value.__module__ == one.name
            ]
    return found


@pytest.mark.parametrize("value", value_classes(), ids=lambda value: value.__qualname__)
def test_a_value_of_the_core_never_changes(value: type) -> None:
    """OWN-1: frozen, and no field is declared as something that can be changed."""
    assert attrs.inspect(value).is_frozen, f"{value.__module__}.{value.__qualname__} is not frozen"
    hints = get_type_hints(value)
    check(
        f"{value.__module__}.{value.__qualname__}.{field.name} holds a {found.__name__}"
        for field in attrs.fields(value)
        for found in mutable(hints[field.name])
    )


def mutable(hint: Any) -> Iterator[type]:
    origin = get_origin(hint) or hint
    if origin in {list, dict, set, bytearray}:
        yield origin
    if isinstance(hint, GenericAlias | UnionType) or get_args(hint):
        for part in get_args(hint):
            if isinstance(part, type) or get_origin(part):
                yield from mutable(part)


def test_the_top_level_is_complete() -> None:
    """Whoever opens the project finds these and no more."""
    allowed = {"pyproject.toml", PACKAGE, "clients", "tests", "schema", "README.md", "LICENSE"}
    listed = subprocess.run(
        ["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split("\n")
    tops = {name.partition("/")[0] for name in listed if name and not name.startswith(".")}
    assert tops <= allowed, f"does not belong there: {sorted(tops - allowed)}"


def test_an_import_is_found_wherever_it_stands() -> None:
    """The rules above see late, relative and type-only imports."""
    text = (
        "from promptkit_rpc.engine import Engine\n"
        "def late():\n    from . import b\n    from ..usage import Usage\n    import yaml.loader\n"
    )
    one = Module(f"{PACKAGE}.output.a", ROOT / PACKAGE / "output/a.py", text, ast.parse(text))
    assert list(imports(one)) == [
        Import("promptkit_rpc.engine", "promptkit_rpc.engine.Engine", 1),
        Import("promptkit_rpc.output", "promptkit_rpc.output.b", 3),
        Import("promptkit_rpc.usage", "promptkit_rpc.usage.Usage", 4),
        Import("yaml.loader", "yaml.loader", 5),
    ]
