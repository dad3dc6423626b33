"""The schemas of the definition files say what their readers say."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from promptkit_rpc.definitions.files import Root
from promptkit_rpc.definitions.folder import PromptsFolder
from promptkit_rpc.definitions.reading import prompt_of_text, settings_of_text
from promptkit_rpc.rpc.definition_schema import prompt_schema, settings_schema

MESSAGES = [{"role": "user", "content": "{{ text }}"}]
PROMPTS: list[tuple[bool, Any]] = [
    (True, {"messages": MESSAGES}),
    (
        True,
        {
            "description": "One line",
            "profile": "careful",
            "session": "case-{{ case }}",
            "inputs": {"transcript": {"file": "data/{{ case }}.txt"}},
            "variables": {
                "question": {"type": "string"},
                "depth": {"type": "integer", "default": 2},
                "any": None,
            },
            "messages": [
                {"role": "system", "content": "", "cache": {"type": "ephemeral"}},
                {"role": "assistant", "content": "x", "x-note": 1},
            ],
            "output": {"format": "schema", "schema": {"type": "object"}, "repairs": 2},
            "x-any": [1],
            "_meta": {"n": 1},
        },
    ),
    (True, {"messages": MESSAGES, "output": {"format": "json"}, "profile": None}),
    (True, {"messages": MESSAGES, "output": {"format": "schema", "schema": True}}),
    (False, {}),
    (False, []),
    (False, {"messages": []}),
    (False, {"messages": {}}),
    (False, {"messages": [{"role": "human", "content": "x"}]}),
    (False, {"messages": [{"role": "user"}]}),
    (False, {"messages": [{"role": "user", "content": 5}]}),
    (False, {"messages": [{"role": "user", "content": "x", "cache": "on"}]}),
    (False, {"messages": [{"role": "user", "content": "x", "note": 1}]}),
    (False, {"messages": MESSAGES, "profile": ""}),
    (False, {"messages": MESSAGES, "profil": "p"}),
    (False, {"messages": MESSAGES, "inputs": {"a b": {"file": "x"}}}),
    (False, {"messages": MESSAGES, "inputs": {"a": {}}}),
    (False, {"messages": MESSAGES, "inputs": {"a": {"path": "x"}}}),
    (False, {"messages": MESSAGES, "variables": {"inputs": {"type": "string"}}}),
    (False, {"messages": MESSAGES, "variables": {"q": "string"}}),
    (False, {"messages": MESSAGES, "output": {"format": "schema"}}),
    (False, {"messages": MESSAGES, "output": {"format": "text", "schema": {}}}),
    (False, {"messages": MESSAGES, "output": {"schema": {}}}),
    (False, {"messages": MESSAGES, "output": {"format": "yaml"}}),
    (False, {"messages": MESSAGES, "output": {"format": "json", "repairs": -1}}),
    (
        False,
        {
            "messages": MESSAGES,
            "output": {"format": "schema", "schema": {}, "schemaFile": "x.json"},
        },
    ),
]

BACKEND = {"kind": "openai", "baseUrl": "http://127.0.0.1:8080/v1"}


def backend(**more: Any) -> Any:
    return {"version": 1, "backends": {"b": BACKEND | more}}


def replies(*entries: Any) -> Any:
    return {"backends": {"b": {"kind": "scripted", "replies": list(entries)}}}


def profile(**parameters: Any) -> Any:
    profiles = {"p": {"backend": "b", "model": "m", "parameters": parameters}}
    return {"backends": {"b": {"kind": "scripted"}}, "profiles": profiles}


SETTINGS: list[tuple[bool, Any]] = [
    (True, {}),
    (True, {"version": 1, "prompts": "prompts", "inputs": ["data"], "x-any": 1}),
    (True, {"backends": {"b": {"kind": "scripted"}, "x-free": 5}, "profiles": {"x-free": 5}}),
    (
        True,
        backend(
            description="",
            credential={"env": "NAME"},
            capacity=8,
            permits=4,
            queue=0,
            timeouts={"connect": 5, "read": 0.5, "total": None},
            retry={"attempts": 3, "baseDelay": 0, "maxDelay": 30},
            headers={"X-Team": "docs", "X-Key": {"env": "NAME"}},
            structured="prompt",
            maxTokensField="max_completion_tokens",
        ),
    ),
    (True, backend(credential={"command": ["prog", "arg"]})),
    (True, backend(credential={"client": "name"})),
    (True, backend(credential={"file": "key.txt"})),
    (True, {"backends": {"b": {"kind": "client"}}}),
    (
        True,
        profile(
            temperature=0.2, maxTokens=8, topP=1, stop=["END"], seed=-7, extra={"logit_bias": {}}
        ),
    ),
    (
        True,
        replies(
            {
                "match": {"promptId": "a", "contains": "b", "regex": "c+"},
                "content": "{{ lastUser }}",
                "usage": {"inputTokens": 12},
                "finishReason": "length",
                "delay": 0.2,
                "times": 1,
            },
            {"json": None},
            {"json": {"n": 1}},
            {"chunks": ["a", "b"], "refusal": ""},
            {"fault": {"status": 429, "retryAfter": 0.1, "body": {"error": 1}}},
            {"fault": {"kind": "connectionReset"}},
        ),
    ),
    (False, []),
    (False, {"version": 2}),
    (False, {"version": "1"}),
    (False, {"backend": {}}),
    (False, {"inputs": "data"}),
    (False, {"inputs": [""]}),
    (False, {"prompts": ""}),
    (False, {"backends": []}),
    (False, {"backends": {"": {"kind": "scripted"}}}),
    (False, {"backends": {"b": {"kind": "magic"}}}),
    (False, {"backends": {"b": {}}}),
    (False, {"backends": {"b": {"kind": "anthropic"}}}),
    (False, backend(baseUrl="ftp://x")),
    (False, backend(capacity=0)),
    (False, backend(capacity=True)),
    (False, backend(capacity="8")),
    (False, backend(queue=-1)),
    (False, backend(credential="sk-canary")),
    (False, backend(credential={})),
    (False, backend(credential={"env": "A", "file": "b"})),
    (False, backend(credential={"command": []})),
    (False, backend(timeouts={"connect": 0})),
    (False, backend(timeouts={"conect": 1})),
    (False, backend(retry={"attempts": 0})),
    (False, backend(headers={"X-Team": 5})),
    (False, backend(headers={"X-Team": {"file": "x"}})),
    (False, backend(structured="auto")),
    (False, {"backends": {"b": {"kind": "scripted"}}, "profiles": {"p": {"backend": "b"}}}),
    (False, profile(temperature=-1)),
    (False, profile(topP=1.5)),
    (False, profile(maxTokens=0)),
    (False, profile(stop="END")),
    (False, profile(temprature=1)),
    (False, replies({})),
    (False, replies({"content": "a", "json": 1})),
    (False, replies({"fault": {}})),
    (False, replies({"fault": {"kind": "timeout", "status": 500}})),
    (False, replies({"fault": {"status": 99}})),
    (False, replies({"fault": {"kind": "gremlins"}})),
    (False, replies({"content": "a", "times": -1})),
    (False, replies({"content": "a", "usage": {"tokens": 1}})),
    (False, replies("hello")),
]


def shown(sample: tuple[bool, Any]) -> str:
    return json.dumps(sample[1])[:60]


@pytest.mark.parametrize("sample", PROMPTS, ids=shown)
def test_schema_and_reader_agree_on_prompts(sample: tuple[bool, Any], tmp_path: Path) -> None:
    """SEC-4."""
    good, value = sample
    root = Root(tmp_path)
    read = prompt_of_text(root, PromptsFolder(root, "prompts", None), "ask", json.dumps(value))
    assert (read.problems == ()) is good, read.problems
    assert jsonschema_rs.is_valid(prompt_schema(), value) is good


@pytest.mark.parametrize("sample", SETTINGS, ids=shown)
def test_schema_and_reader_agree_on_settings(sample: tuple[bool, Any], tmp_path: Path) -> None:
    """SEC-4."""
    good, value = sample
    read = settings_of_text(Root(tmp_path), "promptkit.yaml", json.dumps(value))
    assert (read.problems == ()) is good, read.problems
    assert jsonschema_rs.is_valid(settings_schema(), value) is good


def test_both_are_schemas() -> None:
    assert jsonschema_rs.meta.is_valid(prompt_schema())
    assert jsonschema_rs.meta.is_valid(settings_schema())
