"""Declared variables: what a declaration may say, and whether given values keep to it.

The schema library is loaded for schemas that say more than a type.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from promptkit_rpc.definitions.fields import Fields
from promptkit_rpc.definitions.prompt import VariableDefinition
from promptkit_rpc.definitions.template import MEMBERS_OF
from promptkit_rpc.definitions.tree import MapNode, Node, ScalarNode, plain
from promptkit_rpc.errors import Location
from promptkit_rpc.jsontext import Json

RESERVED = MEMBERS_OF
"""The name under which templates find the texts of inputs."""

_NOTES = frozenset(("type", "title", "description", "default", "examples", "$comment"))
_TYPES: dict[str, tuple[tuple[type[Any], ...], str]] = {
    "string": ((str,), "text"),
    "integer": ((int,), "an integer"),
    "number": ((int, float), "a number"),
    "boolean": ((bool,), "true or false"),
    "array": ((list, tuple), "a list"),
    "object": ((dict, Mapping), "a mapping"),
    "null": ((type(None),), "null"),
}


def parse_variables(fields: Fields) -> tuple[VariableDefinition, ...]:
    """The declarations under `variables`; problems go where those of the fields go."""
    found: list[VariableDefinition] = []
    for entry in fields.named("variables"):
        name, node = entry.key, entry.value
        path = (*fields.path, "variables", name)
        if not name.isidentifier() or name == RESERVED:
            message = f"{name!r} cannot be a variable's name"
            message += (
                ", it stands for the inputs" if name == RESERVED else "; letters, digits and _ only"
            )
            fields.problems.add(entry.key_span, message, code="name", path=path)
            continue
        if isinstance(node, ScalarNode) and node.value is None:
            node = MapNode((), node.span)
        declared = Fields.of(node, fields.problems, path, f"the variable {name!r}")
        if declared is None:
            continue
        location = Location(fields.problems.file, entry.key_span.line, entry.key_span.column)
        variable = _variable(name, node, declared, location)
        if variable is not None:
            found.append(variable)
    return tuple(found)


def _variable(
    name: str, node: Node, declared: Fields, location: Location
) -> VariableDefinition | None:
    whole = declared.json_of(name, node)
    if whole is None:
        return None
    schema = {key: value for key, value in plain(node).items() if key != "default"}
    default = declared.json("default") if declared.has("default") else None
    variable = VariableDefinition(
        name=name, schema=Json.of(schema), default=default, location=location
    )
    fault = _schema_fault(variable.schema)
    if fault is not None:
        declared.problems.add(node.span, fault, code="schema", path=declared.path)
        return None
    if default is not None:
        faults = faults_of(variable, default.value())
        if faults:
            declared.wrong("default", f"the default {faults[0]}", code="default")
            return None
    return variable


def _schema_fault(schema: Json) -> str | None:
    if _only_type(schema) is not None:
        return None
    from promptkit_rpc.output.validate import check_schema  # noqa: PLC0415 - 25 ms

    return check_schema(schema)


@lru_cache(maxsize=4096)
def _only_type(schema: Json) -> str | None:
    """The one type a schema asks for, `any`, or None when it says more than that."""
    value = schema.value()
    if not value.keys() <= _NOTES:
        return None
    kind = value.get("type", "any")
    return kind if isinstance(kind, str) and (kind in _TYPES or kind == "any") else None


def faults_of(variable: VariableDefinition, value: Any) -> Sequence[str]:
    """What is wrong with a value, each as a phrase that goes on after the variable's name."""
    kind = _only_type(variable.schema)
    if kind == "any":
        return ()
    if kind is not None:
        return () if _is(kind, value) else (f"must be {_TYPES[kind][1]}",)
    from promptkit_rpc.output.validate import validate_value  # noqa: PLC0415 - 25 ms

    return [f"does not fit: {message}" for message in validate_value(variable.schema, value)]


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind][0])


Fault = tuple[str, Location]
"""What is wrong with a value, and where its variable is declared."""


def with_defaults(
    variables: Sequence[VariableDefinition], given: Mapping[str, Any]
) -> tuple[dict[str, Any], Fault | None]:
    """The given values and the defaults of what was left out, and the first fault if any."""
    filled = dict(given)
    for variable in variables:
        if variable.name in given:
            faults = faults_of(variable, given[variable.name])
            if faults:
                return filled, (f"the variable {variable.name!r} {faults[0]}", variable.location)
        elif variable.default is not None:
            filled[variable.name] = variable.default.value()
        else:
            words = f"the variable {variable.name!r} is not set; give it {_hint(variable)}"
            return filled, (words, variable.location)
    return filled, None


def _hint(variable: VariableDefinition) -> str:
    kind = _only_type(variable.schema)
    words = _TYPES[kind][1] if kind in _TYPES else "a value"
    return f"{words} in `variables`"
