"""How a contract is asked for on the wire: natively where a provider can hold it, else in words.

The contract itself is never changed: what is sent is a copy that may demand more than the contract
or check less, and every answer is validated against the contract all the same.
"""

import copy
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, cast

import msgspec

from promptkit_rpc.backends.payload import members
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.output.contract import Contract, Format

_ANNOTATIONS = frozenset({"title", "description", "$defs"})
_STRICT = _ANNOTATIONS | {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "$ref",
}
# Enforced by validation alone: a provider that does not know them would refuse the schema.
_LOOSENED = frozenset(
    {
        "$schema",
        "$id",
        "$comment",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "format",
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
    }
)
_COMBINING = frozenset({"anyOf", "$ref"})

_JSON = "Answer with one JSON value and nothing else: no other text and no code fence."
_SCHEMA = f"{_JSON} It must be valid against this JSON Schema:\n"


@lru_cache(maxsize=256)
def openai_format(schema: bytes) -> bytes | None:
    """A `response_format` for chat completions, None if the root is not declared an object.

    `strict` is asked for only when the schema as authored keeps to what strict mode knows.
    """
    value = members(msgspec.json.decode(schema))
    if value.get("type") != "object":
        return None
    strict = all(_is_strict(part) for part in _subschemas(value)) and _is_closed(value)
    sent = {name: part for name, part in value.items() if name not in ("$schema", "$comment")}
    return msgspec.json.encode(
        {"type": "json_schema", "json_schema": {"name": "answer", "schema": sent, "strict": strict}}
    )


@lru_cache(maxsize=256)
def anthropic_format(schema: bytes) -> bytes | None:
    """An `output_config.format` for Messages, None if the provider could not hold the schema."""
    value = members(msgspec.json.decode(schema))
    if value.get("type") != "object" or _is_recursive(value):
        return None
    sent = copy.deepcopy(value)
    for part in list(_subschemas(sent)):
        for name in _LOOSENED & part.keys():
            del part[name]
        if "properties" in part and not part.keys() & _COMBINING:
            # Demands more than the contract, and only where nothing else describes the object.
            part.setdefault("additionalProperties", False)
        if part.keys() - _STRICT or not _is_closed(part) or not _says_something(part):
            return None
    return msgspec.json.encode({"type": "json_schema", "schema": sent})


def instruction(contract: Contract) -> str | None:
    """The contract in words, None where none is needed."""
    match contract.format:
        case Format.TEXT:
            return None
        case Format.JSON:
            return _JSON
        case Format.SCHEMA:
            return _SCHEMA + (contract.schema.text.decode() if contract.schema else "{}")


def with_words(history: History, contract: Contract) -> History:
    """The history as it goes on the wire with the contract in words; the history itself stays.

    The words end the last message if a user wrote it, so that roles still take turns; otherwise
    they are a user's message of their own.
    """
    words = instruction(contract)
    if words is None:
        return history
    last = history.added[-1] if history.added else None
    if last is None or last.role is not Role.USER:
        return history.extended(Message(Role.USER, words))
    told = Message(Role.USER, f"{last.content}\n\n{words}", last.cache)
    return History((*history.added[:-1], told), history.parent)


def _subschemas(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and every schema in it that strict modes know of; data is not looked into."""
    yield schema
    parts = [*members(schema.get("properties")).values(), *members(schema.get("$defs")).values()]
    if "items" in schema:
        parts.append(schema["items"])
    if isinstance(choices := schema.get("anyOf"), list):
        parts += cast("list[Any]", choices)
    for part in parts:
        # `true` says as little as an empty schema.
        yield from _subschemas(members(part))


def _is_strict(schema: dict[str, Any]) -> bool:
    if schema.keys() - _STRICT - {"$schema", "$comment"} or not _says_something(schema):
        return False
    return "properties" not in schema or (
        _is_closed(schema) and set(schema["properties"]) == set(schema.get("required", ()))
    )


def _says_something(schema: dict[str, Any]) -> bool:
    """Whether it narrows anything: "whatever you like" is not what these modes take."""
    if schema.get("type") == "array":
        return "items" in schema
    return bool(schema.keys() & {"type", "$ref", "anyOf", "enum", "const"})


def _is_closed(schema: dict[str, Any]) -> bool:
    described = "properties" in schema or schema.get("type") == "object"
    return not described or schema.get("additionalProperties") is False


def _is_recursive(schema: dict[str, Any]) -> bool:
    """Whether a definition leads back to itself; a reference to the root always does."""
    definitions = members(schema.get("$defs"))
    uses = {
        f"#/$defs/{name}": {
            part["$ref"] for part in _subschemas(members(body)) if isinstance(part.get("$ref"), str)
        }
        for name, body in definitions.items()
    }
    refs = {part.get("$ref") for part in _subschemas(schema)} - {None}
    if refs - uses.keys():
        return True
    return any(_leads(name, name, uses, set()) for name in uses)


def _leads(start: str, goal: str, uses: dict[str, set[str]], seen: set[str]) -> bool:
    for name in uses.get(start, ()):
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            if _leads(name, goal, uses, seen):
                return True
    return False


NativeFormat = Callable[[bytes], bytes | None]
"""Makes the wire form of a schema, or None where it can only be said in words."""
