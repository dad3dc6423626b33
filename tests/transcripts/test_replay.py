"""The transcripts are what the daemon says today, and what the published schema says."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from promptkit_rpc.commands.init import write_samples
from tests.support.process import ROOT, RawDaemon
from tests.transcripts import record
from tests.transcripts.scenarios import SCENARIOS
from tests.transcripts.session import replay

RENEW = "run `python -m tests.transcripts --write`"
SCHEMA = json.loads((ROOT / "schema/promptkit.schema.json").read_text(encoding="utf-8"))
INDEX = json.loads((ROOT / "schema/methods.json").read_text(encoding="utf-8"))
OURS = {(one["method"], one["direction"]): one for one in INDEX["methods"]}
DIRECTION = {"client": "clientToServer", "server": "serverToClient"}


def is_valid(value: Any, name: str | None) -> bool:
    """Whether a value is of a type of the schema; None is null."""
    if name is None:
        return value is None
    schema = SCHEMA | {"anyOf": [{"$ref": f"#/$defs/{name}"}]}
    return jsonschema_rs.validator_for(schema).is_valid(value)


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_daemon_says_what_the_transcript_says(name: str, tmp_path: Path) -> None:
    write_samples(tmp_path)
    async with RawDaemon(tmp_path) as daemon:
        differences = await replay(record.read(name), daemon, tmp_path)
        assert not differences, f"{RENEW}\n{differences[0][0]}\n{differences[0][1]}"
        assert await daemon.wait() == 0


def test_every_transcript_has_its_scenario() -> None:
    assert {path.stem for path in record.FOLDER.glob("*.jsonl")} == set(SCENARIOS), RENEW


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_message_fits_the_published_schema(name: str) -> None:
    open_requests: dict[tuple[str, Any], str] = {}
    for line in record.read(name):
        sender, message = line["from"], line["message"]
        other = "server" if sender == "client" else "client"
        if "method" in message:
            method = OURS.get((message["method"], DIRECTION[sender]))
            if "id" in message and method:
                open_requests[sender, message["id"]] = message["method"]
            if method and "varables" not in message["params"]:
                assert is_valid(message["params"], method["params"]), message
        elif "result" in message and (other, message["id"]) in open_requests:
            method = OURS[open_requests[other, message["id"]], DIRECTION[other]]
            assert is_valid(message["result"], method["result"]), message
        elif "error" in message and "kind" in message["error"].get("data", {}):
            assert is_valid(message["error"]["data"], "ErrorData"), message


def test_no_transcript_holds_what_changes_from_session_to_session() -> None:
    for path in record.FOLDER.glob("*.jsonl"):
        text = path.read_text(encoding="utf-8")
        assert not re.search("run-[0-9a-f]{20}", text)
        assert "/tmp" not in text  # noqa: S108 - that is the point


def test_together_they_use_every_method_and_every_event() -> None:
    lines = [line for name in SCENARIOS for line in record.read(name)]
    used = {
        (line["message"]["method"], DIRECTION[line["from"]])
        for line in lines
        if "method" in line["message"]
    }
    assert OURS.keys() - used == {("promptkit/credential/get", "serverToClient")}
    events = {line["message"]["params"]["event"]["kind"] for line in lines if _observes(line)}
    kinds = {
        SCHEMA["$defs"][one["$ref"].split("/")[-1]]["properties"]["kind"]["const"]
        for one in SCHEMA["$defs"]["Event"]["oneOf"]
    }
    assert events == kinds


def _observes(line: Any) -> bool:
    return line["message"].get("method") == "promptkit/observation"
