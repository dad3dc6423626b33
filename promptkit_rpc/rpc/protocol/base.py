"""What wire types are made of: documentation, bounds and tags beside types, and the naming rule.

A field is required, or it is `X | None = None` and may be absent or null. Nothing else exists.
"""

from typing import Annotated, Any

from attrs import field, frozen

MAX_INTEGER = 2**53 - 1
"""The largest integer that every JSON implementation keeps."""


@frozen
class Doc:
    """What a field means, for the schema and the reference."""

    text: str


@frozen(kw_only=True)
class Bounds:
    """The range of an integer, both ends included."""

    minimum: int
    maximum: int = MAX_INTEGER


@frozen(kw_only=True)
class Range:
    """The range of a number, both ends included; without a maximum it has none."""

    minimum: int
    maximum: int | None = None


@frozen
class Tag:
    """The field by whose constant a union's members are told apart, and the union's name."""

    field: str
    union: str


@frozen
class Opaque:
    """A JSON object of the user's: nothing inside is read, renamed or copied."""


@frozen
class Either:
    """A union of plain JSON types, told apart by the JSON type itself."""


Count = Annotated[int, Bounds(minimum=0)]
Positive = Annotated[int, Bounds(minimum=1)]
JsonObject = Annotated[dict[str, Any], Opaque()]
JsonSchema = Annotated[dict[str, Any] | bool, Either(), Opaque()]
Token = Annotated[int | str, Either()]


@frozen(kw_only=True)
class Open:
    """An object that a client sends: it may carry `_meta`."""

    _meta: Annotated[Any, Doc("Anything; it is not read.")] = field(
        default=None, alias="meta", repr=False
    )


@frozen(kw_only=True)
class Empty(Open):
    """Nothing is asked."""


def wire_name(name: str) -> str:
    """`run_id` is `runId` on the wire; a leading underscore stays."""
    head, *tail = name.lstrip("_").split("_")
    return "_" * name.startswith("_") + head + "".join(part.capitalize() for part in tail)
