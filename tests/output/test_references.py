"""A schema refers to nothing but itself, and to what is there."""

from typing import Any

import pytest

from promptkit_rpc.output.references import DIALECT, problem

INT = {"type": "integer"}


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"$schema": DIALECT},
        {"$schema": DIALECT + "#"},
        {"$ref": "#"},
        {"$ref": ""},
        {"$ref": "#/$defs/a", "$defs": {"a": INT}},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": INT}},
        {"$ref": "#/definitions/a%20b~1c", "definitions": {"a b/c": INT}},
        {"$ref": "#/anything/1", "anything": [True, INT]},
        {"$ref": "#here", "$defs": {"a": {"$anchor": "here"}}},
        {"$dynamicRef": "#node", "$dynamicAnchor": "node"},
        {
            "$id": "http://example.com/x",
            "$ref": "http://example.com/x#/$defs/a",
            "$defs": {"a": INT},
        },
        {"$id": "http://example.com/x", "$ref": "x#/$defs/a", "$defs": {"a": INT}},
        {"$id": "urn:x:y", "$ref": "urn:x:y#/$defs/a", "$defs": {"a": INT}},
        {
            "$ref": "part",
            "$defs": {"a": {"$id": "part", "$ref": "#in", "$defs": {"b": {"$anchor": "in"}}}},
        },
        {"enum": [{"$ref": "http://x/y"}], "const": {"$schema": "z"}, "default": {"$ref": "#/no"}},
        {"properties": {"$ref": INT, "$schema": {"const": 1}, "$id": INT}},
        {"examples": [{"$ref": "gone"}], "x-note": {"$ref": "gone"}},
        {"$ref": 5},
        {"allOf": 3, "properties": []},
    ],
)
def test_references_into_the_schema_are_fine(schema: Any) -> None:
    """OUT-1."""
    assert problem(schema) is None


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"$ref": "http://example.com/x.json"}, "/$ref"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "/$ref"),
        ({"$ref": "file:///etc/passwd"}, "/$ref"),
        ({"properties": {"a": {"$ref": "other.json#/a"}}}, "/properties/a/$ref"),
        ({"items": {"not": {"$ref": "../up"}}}, "/items/not/$ref"),
        ({"$defs": {"unused": {"$ref": "http://x/y"}}}, "/$defs/unused/$ref"),
        ({"prefixItems": [True, {"$ref": "//host/x"}]}, "/prefixItems/1/$ref"),
        ({"$ref": "http://[bad"}, "/$ref"),
        (
            {"$defs": {"a": {"$id": "http://e/a", "$dynamicRef": "b#x"}}},
            "/$defs/a/$dynamicRef",
        ),
    ],
)
def test_a_reference_to_another_document_is_refused(schema: Any, place: str) -> None:
    """OUT-1."""
    found = problem(schema)
    assert found is not None
    assert found.startswith(f"`{place}` refers outside the schema")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/x"},
        {"$ref": "#/$defs/a/b", "$defs": {"a": INT}},
        {"$ref": "#gone"},
        {"$dynamicRef": "#gone"},
        {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/x"}]}}},
        {"$ref": "#/list/2", "list": [1, 2]},
        {"$ref": "#/list/x", "list": [1, 2]},
        {"$ref": "part#/$defs/x", "$defs": {"a": {"$id": "part"}, "x": INT}},
    ],
)
def test_a_reference_to_nothing_is_refused_used_or_not(schema: Any) -> None:
    """OUT-1."""
    found = problem(schema)
    assert found is not None
    assert found.endswith("which is not there")


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"$schema": "urn:mine"},
        {"$defs": {"a": {"$id": "a", "$schema": "http://json-schema.org/draft-04/schema#"}}},
    ],
)
def test_another_dialect_is_refused(schema: Any) -> None:
    """OUT-1."""
    found = problem(schema)
    assert found is not None
    assert "names another dialect" in found


def test_a_deep_schema_is_walked_without_recursion() -> None:
    """S-07."""
    schema: Any = {"$ref": "#/gone"}
    for _ in range(3000):
        schema = {"not": schema}
    assert "which is not there" in (problem(schema) or "")
