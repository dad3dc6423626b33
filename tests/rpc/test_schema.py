"""The published schema is that of the wire types, and says what the codec says."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from promptkit_rpc.rpc import schema
from promptkit_rpc.rpc.capabilities import PROMPTKIT
from promptkit_rpc.rpc.codec import FAILURES, structure
from promptkit_rpc.rpc.errors import RpcError
from promptkit_rpc.rpc.hello import negotiate
from promptkit_rpc.rpc.protocol.coordination import NextResult
from promptkit_rpc.rpc.protocol.lifecycle import InitializeOptions, ServerCapabilities
from promptkit_rpc.rpc.protocol.methods import BASE_METHODS, METHODS, Direction, MethodKind
from promptkit_rpc.rpc.protocol.run import RunParams
from promptkit_rpc.rpc.protocol_hash import SCHEMA_HASH

ROOT = Path(__file__).parents[2]
SCHEMA = schema.protocol_schema()


def validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(SCHEMA | {"anyOf": [{"$ref": f"#/$defs/{name}"}]})


def test_the_committed_files_are_what_is_generated() -> None:
    assert schema.stale(ROOT / "schema") == [], "run: promptkit-rpc schema"


def test_the_hash_is_that_of_the_committed_schema() -> None:
    text = (ROOT / "schema" / "promptkit.schema.json").read_text(encoding="utf-8")
    assert schema.schema_hash(text) == SCHEMA_HASH


def test_the_schema_is_a_schema() -> None:
    assert jsonschema_rs.meta.is_valid(SCHEMA)


def test_what_is_stale_is_written_and_only_that(tmp_path: Path) -> None:
    names = {path.name for path in schema.write(tmp_path)}
    assert "promptkit.schema.json" in names
    assert "protocol_hash.py" not in names
    assert schema.write(tmp_path) == []
    (tmp_path / "methods.json").write_text("{}")
    assert [path.name for path in schema.stale(tmp_path)] == ["methods.json"]


def test_every_method_stands_in_a_union_of_its_direction_and_kind() -> None:
    union = {
        (Direction.CLIENT, MethodKind.REQUEST): "ClientRequest",
        (Direction.CLIENT, MethodKind.NOTIFICATION): "ClientNotification",
        (Direction.SERVER, MethodKind.REQUEST): "ServerRequest",
        (Direction.SERVER, MethodKind.NOTIFICATION): "ServerNotification",
    }
    for method in METHODS:
        members = SCHEMA["$defs"][union[method.direction, method.kind]]["oneOf"]
        constants = [member["properties"]["method"]["const"] for member in members]
        assert constants.count(method.name) == 1


def test_every_type_and_field_is_documented() -> None:
    for name, definition in SCHEMA["$defs"].items():
        if "properties" not in definition:
            continue
        assert definition["description"], name
        for field, described in definition["properties"].items():
            assert described["description"].endswith("."), (name, field)


def test_the_index_lists_every_method_with_types_that_the_schema_defines() -> None:
    index = schema.method_index()
    assert [entry["method"] for entry in index["methods"]] == [method.name for method in METHODS]
    for entry in index["methods"]:
        assert entry["params"] in SCHEMA["$defs"]
        assert entry["result"] is None or entry["result"] in SCHEMA["$defs"]
    assert {entry["method"] for entry in index["base"]} == set(BASE_METHODS)


def test_a_frame_fits_the_schema() -> None:
    frame: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "promptkit/run",
        "params": {"promptId": "p", "_meta": 5},
    }
    whole = jsonschema_rs.validator_for(SCHEMA)
    assert whole.is_valid(frame)
    assert not whole.is_valid(frame | {"params": {"promptId": "p", "promptid": "p"}})
    assert not whole.is_valid(frame | {"params": {}})


@pytest.mark.parametrize(
    "value",
    [
        {"promptId": "p"},
        {"promptId": "p", "variables": {"a": [1]}, "groups": None, "observe": "t"},
        {"promptId": "p", "output": {"format": "schema", "schema": True}},
        {"promptId": "p", "output": {"format": "yaml"}},
        {"promptId": "p", "output": {"schema": {}}},
        {"promptId": "p", "timeoutMs": 0},
        {"promptId": "p", "timeoutMs": "1"},
        {"promptId": "p", "observe": 1.5},
        {"promptId": "p", "messages": [{"role": "user"}]},
        {"promptId": "p", "messages": [{"role": "user", "content": "x", "cache": {"any": 1}}]},
        {"promptId": "p", "parameters": {"temprature": 1}},
        {"promptId": "p", "parameters": {"maxTokens": 1, "topP": 1, "stop": ["x"], "seed": -1}},
        {"promptId": "p", "parameters": {"topP": 0, "temperature": 0}},
        {"promptId": "p", "parameters": {"topP": 1.01}},
        {"promptId": "p", "parameters": {"temperature": -0.1}},
        {"promptId": "p", "parameters": {"temperature": True}},
        {"promptId": "p", "parameters": {"maxTokens": 0}},
        {"promptId": None},
        {},
    ],
)
def test_schema_and_codec_agree_on_requests(value: Any) -> None:
    assert validator("RunParams").is_valid(value) is accepted(value, RunParams)


@pytest.mark.parametrize(
    "value",
    [
        {"action": "stop"},
        {"action": "stop", "request": {"promptId": "p"}},
        {"action": "continue"},
        {"action": "continue", "request": {"promptId": "p"}},
        {"action": "pause"},
        {},
        None,
    ],
)
def test_schema_and_codec_agree_on_actions(value: Any) -> None:
    assert validator("NextResult").is_valid(value) is accepted(value, NextResult)


def test_capabilities_are_those_that_initialize_answers() -> None:
    answered = {"protocolVersion": 1, "schemaHash": SCHEMA_HASH, **PROMPTKIT}
    described = SCHEMA["$defs"][ServerCapabilities.__name__]["properties"]
    assert set(described) == set(answered)
    assert validator("ServerCapabilities").is_valid(answered)


def test_the_table_names_every_method() -> None:
    table = schema.markdown()
    for method in METHODS:
        assert f"| `{method.name}` |" in table
        assert method.doc in table


def test_the_schema_is_json_text() -> None:
    for text in schema.documents().values():
        assert json.loads(text)


def accepted(value: Any, wire_type: Any) -> bool:
    try:
        structure(value, wire_type)
    except FAILURES:
        return False
    return True


def test_initialize_takes_the_options_that_are_described_and_no_other() -> None:
    described = SCHEMA["$defs"][InitializeOptions.__name__]["properties"]
    for name in described:
        negotiate({"initializationOptions": {"promptkit": {name: None}}})
    with pytest.raises(RpcError, match="protocolVersion"):
        negotiate({"initializationOptions": {"promptkit": {"protocolVersion": 1}}})
