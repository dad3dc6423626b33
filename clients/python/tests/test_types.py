"""The values are those of the published schema, and read what is recorded."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from promptkit_client import types
from promptkit_client._codec import decode, encode
from promptkit_client.types import Message, Parameters, TokenTotal

HERE = Path(__file__).parents[1]
SCHEMA = HERE.parents[1] / "schema"
METHODS = json.loads((SCHEMA / "methods.json").read_text(encoding="utf-8"))["methods"]
TRANSCRIPTS = sorted((SCHEMA / "transcripts").glob("*.jsonl"))


def test_the_generated_files_are_those_of_the_schema() -> None:
    done = subprocess.run([sys.executable, "generate.py", "--check"], cwd=HERE, check=False)
    assert done.returncode == 0, "run: python generate.py"


def test_everything_the_server_sends_has_a_value() -> None:
    sent = {one["result"] for one in METHODS if one["direction"] == "clientToServer"}
    sent |= {one["params"] for one in METHODS if one["direction"] == "serverToClient"}
    assert sent - {None, "ServerProgress"} <= set(types.__all__)


def test_every_method_is_used() -> None:
    modules = HERE.glob("promptkit_client/*.py")
    source = "".join(path.read_text(encoding="utf-8") for path in modules)
    missing = {one["method"] for one in METHODS if f'"{one["method"]}"' not in source}
    assert not missing


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_recorded_messages_are_read_and_say_the_same_when_written(path: Path) -> None:
    asked: dict[Any, str] = {}
    read = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        message = one["message"]
        name, value = None, None
        if one["from"] == "client":
            if "id" in message and "method" in message:
                asked[message["id"]] = message["method"]
        elif "method" in message:
            name, value = named(message["method"], "serverToClient", "params"), message["params"]
        elif "result" in message:
            method = asked[message["id"]]
            name, value = named(method, "clientToServer", "result"), message["result"]
        elif "kind" in message["error"].get("data", {}):
            name, value = "ErrorData", message["error"]["data"]
        if name is not None and name != "ServerProgress":
            read += 1
            assert present(encode(decode(getattr(types, name), value))) == present(value)
    assert read


def named(method: str, direction: str, part: str) -> str | None:
    """The name of a method's params or result."""
    found = [one for one in METHODS if (one["method"], one["direction"]) == (method, direction)]
    return found[0][part] if found else None


def present(value: Any) -> Any:
    """Without members that are null: absent is the same."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {name: present(member) for name, member in members if member is not None}
    if isinstance(value, list):
        return [present(item) for item in cast("list[Any]", value)]
    return value


def test_what_is_not_known_is_let_pass_and_what_is_missing_is_told() -> None:
    assert decode(TokenTotal, {"value": 1, "complete": True, "new": []}) == TokenTotal(
        value=1, complete=True
    )
    with pytest.raises(ValueError, match=re.escape("Message.content is missing")):
        decode(Message, {"role": "user"})


@pytest.mark.parametrize("wrong", [True, "1", 1.5, [], {}])
def test_a_value_of_another_type_is_told(wrong: object) -> None:
    with pytest.raises(ValueError, match=re.escape("TokenTotal.value must be int")):
        decode(TokenTotal, {"value": wrong, "complete": True})


def test_names_are_written_in_camel_case_and_content_stays_as_it_is() -> None:
    parameters = Parameters(max_tokens=5, extra={"snake_case": {"a_b": None}})
    assert encode(parameters) == {"maxTokens": 5, "extra": {"snake_case": {"a_b": None}}}
