"""Holds messages to the published schema, and more closely: no field that it does not name."""

from functools import cache
from typing import Any

import jsonschema_rs

from promptkit_rpc.rpc.protocol.methods import METHODS, Direction, MethodKind
from promptkit_rpc.rpc.schema import protocol_schema, type_name


@cache
def _schema() -> dict[str, Any]:
    schema = protocol_schema()
    for definition in schema["$defs"].values():
        if "properties" in definition:
            definition["additionalProperties"] = False
    del schema["anyOf"]
    return schema


@cache
def _validator(name: str | None) -> jsonschema_rs.Validator:
    if name is None:
        return jsonschema_rs.validator_for({"type": "null"})
    return jsonschema_rs.validator_for(_schema() | {"$ref": f"#/$defs/{name}"})


RESULTS = {
    method.name: type_name(method.result)
    for method in METHODS
    if method.direction is Direction.CLIENT and method.kind is MethodKind.REQUEST
}
PARAMS = {
    method.name: type_name(method.params)
    for method in METHODS
    if method.direction is Direction.SERVER
}


def holds(type_: str | None, value: Any) -> None:
    """Fails where a value is not of a type of the schema."""
    for error in _validator(type_).iter_errors(value):
        raise AssertionError(f"{type_}: {error.message} at {error.instance_path}")


def check_result(method: str, result: Any) -> None:
    """Fails where an answer of ours is not what the schema says."""
    if method in RESULTS:
        holds(RESULTS[method], result)


def check_params(method: str, params: Any) -> None:
    """Fails where what the server sends is not what the schema says."""
    if method in PARAMS:
        holds(PARAMS[method], params)


def check_error(data: Any) -> None:
    """Fails where the data of an error of ours is not what the schema says."""
    holds("ErrorData", data)
