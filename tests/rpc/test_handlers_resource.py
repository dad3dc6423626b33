"""Prompts, profiles and backends over the wire: listed and inspected, never rendered or called."""

from pathlib import Path

from tests.support.session import attached
from tests.support.workspace import Workspace

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def workspace(root: Path) -> Workspace:
    made = Workspace(root).settings(
        backends={
            "main": {
                "kind": "openai",
                "description": "The usual one",
                "baseUrl": "http://127.0.0.1:9/v1?key=canary-EEEE",
                "credential": {"env": "CANARY_KEY"},
                "capacity": 8,
                "permits": 4,
                "queue": 100,
                "timeouts": {"connect": 5, "read": 120, "total": 300},
                "retry": {"attempts": 3, "baseDelay": 0.5, "maxDelay": 30},
                "headers": {"X-Team": "canary-docs", "X-Key": {"env": "CANARY_HEADER"}},
                "structured": "prompt",
                "maxTokensField": "max_completion_tokens",
            },
            "script": {"kind": "scripted"},
        },
        profiles={
            "careful": {
                "description": "Slow and sure",
                "backend": "main",
                "model": "some-model",
                "parameters": {
                    "temperature": 0.2,
                    "maxTokens": 800,
                    "topP": 1,
                    "stop": ["END"],
                    "seed": 7,
                    "extra": {"logit_bias": {}},
                },
            },
            "plain": {"backend": "script", "model": "m"},
        },
    )
    made.write("answer.schema.json", '{"type": "object"}')
    made.prompt("b/plain", "x")
    return made.prompt(
        "a/full",
        {"role": "system", "content": "You study {{ inputs.transcript }}", "cache": {"type": "x"}},
        ("user", "{{ question }}"),
        description="One line",
        profile="careful",
        session="case-{{ case }}",
        inputs={"transcript": {"file": "data/{{ case }}.txt"}},
        variables={
            "question": {"type": "string"},
            "case": {"type": "string"},
            "depth": {"type": "integer", "default": 2},
        },
        output={"format": "schema", "schema": SCHEMA, "repairs": 2},
    )


async def test_lists_give_name_and_description(tmp_path: Path) -> None:
    """ENG-3."""
    async with attached(workspace(tmp_path).root) as client:
        prompts = await client.request("promptkit/prompt/list")
        assert [one["name"] for one in prompts["items"]] == ["a/full", "b/plain"]
        assert prompts["items"][0]["description"] == "One line"
        assert prompts["items"][0]["profile"] == "careful"
        assert prompts["items"][0]["location"]["file"] == "prompts/a/full.prompt.yaml"
        assert "description" not in prompts["items"][1]
        assert await client.request("promptkit/profile/list", {"engineId": "default"}) == {
            "items": [
                {
                    "name": "careful",
                    "description": "Slow and sure",
                    "backend": "main",
                    "model": "some-model",
                },
                {"name": "plain", "backend": "script", "model": "m"},
            ]
        }
        assert await client.request("promptkit/backend/list") == {
            "items": [
                {"name": "main", "description": "The usual one", "kind": "openai"},
                {"name": "script", "kind": "scripted"},
            ]
        }


async def test_a_prompt_is_shown_as_authored(tmp_path: Path) -> None:
    """ENG-3, DET-5, S-12."""
    async with attached(workspace(tmp_path).root) as client:
        shown = await client.request("promptkit/prompt/inspect", {"promptId": "a/full"})
        location = shown.pop("location")
        assert location["file"] == "prompts/a/full.prompt.yaml"
        assert shown == {
            "promptId": "a/full",
            "description": "One line",
            "profile": "careful",
            "session": "case-{{ case }}",
            "inputs": [{"name": "transcript", "file": "data/{{ case }}.txt"}],
            "variables": [
                {"name": "question", "schema": {"type": "string"}, "required": True},
                {"name": "case", "schema": {"type": "string"}, "required": True},
                {
                    "name": "depth",
                    "schema": {"type": "integer"},
                    "required": False,
                    "default": 2,
                },
            ],
            "messages": [
                {
                    "role": "system",
                    "content": "You study {{ inputs.transcript }}",
                    "cache": {"type": "x"},
                },
                {"role": "user", "content": "{{ question }}"},
            ],
            "output": {"format": "schema", "schema": SCHEMA, "repairs": 2},
        }
        plain = await client.request("promptkit/prompt/inspect", {"promptId": "b/plain"})
        assert plain["output"] == {"format": "text", "repairs": 0}
        assert (plain["inputs"], plain["variables"]) == ([], [])


async def test_a_profile_is_shown_with_its_parameters(tmp_path: Path) -> None:
    """ENG-3."""
    async with attached(workspace(tmp_path).root) as client:
        shown = await client.request("promptkit/profile/inspect", {"profile": "careful"})
        assert shown.pop("location")["file"] == "promptkit.yaml"
        assert shown == {
            "profile": "careful",
            "description": "Slow and sure",
            "backend": "main",
            "model": "some-model",
            "parameters": {
                "temperature": 0.2,
                "maxTokens": 800,
                "topP": 1,
                "stop": ["END"],
                "seed": 7,
                "extra": {"logit_bias": {}},
            },
        }


async def test_a_backend_shows_of_its_secrets_only_where_they_come_from(tmp_path: Path) -> None:
    """ENG-3, SEC-1, K-04."""
    async with attached(workspace(tmp_path).root) as client:
        shown = await client.request("promptkit/backend/inspect", {"backend": "main"})
        assert "canary" not in str(shown).replace("CANARY", "")
        assert shown.pop("location")["file"] == "promptkit.yaml"
        assert shown.pop("baseUrl") == "http://127.0.0.1:9/v1?key=***"
        assert shown == {
            "backend": "main",
            "description": "The usual one",
            "kind": "openai",
            "credentialSource": "env:CANARY_KEY",
            "capacity": 8,
            "permits": 4,
            "queue": 100,
            "timeouts": {"connectMs": 5000, "readMs": 120_000, "totalMs": 300_000},
            "retry": {"attempts": 3, "baseDelayMs": 500, "maxDelayMs": 30_000},
            "headers": [{"name": "X-Team"}, {"name": "X-Key", "env": "CANARY_HEADER"}],
            "structured": "prompt",
            "maxTokensField": "max_completion_tokens",
        }


async def test_what_is_not_there_is_told_by_kind(tmp_path: Path) -> None:
    """ENG-5, P-15."""
    async with attached(workspace(tmp_path).root) as client:
        for noun, params, kind in (
            ("prompt", {"promptId": "nowhere"}, "promptNotFound"),
            ("prompt", {"promptId": "../../etc/passwd"}, "promptNotFound"),
            ("profile", {"profile": "nowhere"}, "profileNotFound"),
            ("backend", {"backend": "nowhere"}, "backendNotFound"),
            ("backend", {"backend": "main", "engineId": "nowhere"}, "engineNotFound"),
        ):
            error = await client.refused(f"promptkit/{noun}/inspect", params)
            assert (error.code, error.data["kind"]) == (-32803, kind)
        for noun in ("prompt", "profile", "backend"):
            error = await client.refused(f"promptkit/{noun}/list", {"engineId": "nowhere"})
            assert error.data["kind"] == "engineNotFound"
            error = await client.refused(f"promptkit/{noun}/inspect", {})
            assert error.code == -32602
