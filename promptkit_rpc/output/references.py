"""Where a JSON Schema points to: only into itself may it. Knows nothing of validation.

Walks the places where 2020-12 has schemas, also those that nothing refers to.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias, cast
from urllib.parse import unquote, urldefrag, urljoin

from attrs import field, frozen

from promptkit_rpc.output.pointer import pointer

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_ONE = frozenset(
    (
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
_LISTS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_NAMED = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))

Path: TypeAlias = tuple[str | int, ...]


@frozen
class _Resource:
    """A schema with a URI of its own."""

    value: dict[str, Any]
    anchors: set[str] = field(factory=set[str])


@frozen
class _Reference:
    path: Path
    target: str
    base: str


def problem(schema: Any) -> str | None:
    """What is wrong with the dialect or with a reference, or None."""
    resources: dict[str, _Resource] = {}
    references: list[_Reference] = []
    for path, base, part in _parts(schema):
        dialect = part.get("$schema")
        if isinstance(dialect, str) and dialect.removesuffix("#") != DIALECT:
            return f"{_at(path, '$schema')} names another dialect than {DIALECT}"
        resource = resources.setdefault(base, _Resource(part))
        for name in ("$anchor", "$dynamicAnchor"):
            if isinstance(part.get(name), str):
                resource.anchors.add(part[name])
        for name in ("$ref", "$dynamicRef"):
            target = part.get(name)
            if isinstance(target, str):
                references.append(_Reference((*path, name), target, base))
    return next(filter(None, (_lost(one, resources) for one in references)), None)


def _parts(schema: Any) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    """Every object in a place for schemas: its path, its resource's URI, itself; parents first."""
    waiting: list[tuple[Path, str, Any]] = [((), "", schema)]
    while waiting:
        path, base, value = waiting.pop()
        if not isinstance(value, dict):
            continue
        part = cast("dict[str, Any]", value)
        own = part.get("$id")
        if isinstance(own, str):
            base, _ = _joined(base, own)
        yield path, base, part
        for keyword, inner in part.items():
            waiting.extend(
                ((*path, keyword, *step), base, one) for step, one in _in(keyword, inner)
            )


def _in(keyword: str, value: Any) -> Iterator[tuple[Path, Any]]:
    if keyword in _ONE:
        yield (), value
    elif keyword in _LISTS and isinstance(value, list):
        yield from (((i,), one) for i, one in enumerate(cast("list[Any]", value)))
    elif keyword in _NAMED and isinstance(value, dict):
        yield from (((name,), one) for name, one in cast("dict[str, Any]", value).items())


def _joined(base: str, reference: str) -> tuple[str, str]:
    try:
        url, fragment = urldefrag(urljoin(base, reference))
    except ValueError:  # no URI at all
        return reference, ""
    return url, fragment


def _lost(reference: _Reference, resources: dict[str, _Resource]) -> str | None:
    target = reference.target
    if target.startswith("#"):
        url, fragment = reference.base, target[1:]
    else:
        url, fragment = _joined(reference.base, target)
    resource = resources.get(url)
    if resource is None:
        return (
            f"{_at(reference.path)} refers outside the schema, to {target!r};"
            " only references into the schema itself are followed"
        )
    if _found(unquote(fragment), resource):
        return None
    return f"{_at(reference.path)} refers to {target!r}, which is not there"


def _found(fragment: str, resource: _Resource) -> bool:
    if fragment and not fragment.startswith("/"):
        return fragment in resource.anchors
    value: Any = resource.value
    for step in fragment.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = cast("dict[str, Any]", value)[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(_items(value)):
            value = _items(value)[int(name)]
        else:
            return False
    return True


def _items(value: Any) -> list[Any]:
    return cast("list[Any]", value)


def _at(path: Path, *last: str) -> str:
    return f"`{pointer((*path, *last))}`"
