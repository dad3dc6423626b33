"""How definition files are spelled: keys twice, byte-order marks, line ends, tabs, documents.

Siblings tried beside each case: duplicates in schemas, replies and JSON files, and ids that file
systems take for one (P-09); the same spellings of `promptkit.yaml` and of the files that prompts
name (P-13).
"""

import json
from typing import Any

import pytest

from tests.support.stage import Stage, Stages

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = Any

PROMPT = "profile: p\nmessages:\n  - role: user\n    content: hi\n"
SETTINGS = """\
backends:
  b: {kind: scripted}
profiles:
  p:
    backend: b
    model: m
    parameters:
      maxTokens: 5
"""


async def problems(stage: Stage, **files: str | bytes) -> list[str]:
    """The problems of a workspace with these files, as `file:line: message`."""
    for name, content in files.items():
        place = {"settings": "promptkit.yaml", "schema": "prompts/s.json"}.get(
            name, f"prompts/{name}.prompt.yaml"
        )
        stage.workspace.write(place, content)
    await stage.reopen()
    return [
        f"{one['location']['file']}:{one['location'].get('line')}: {one['message']}"
        for one in stage.problems
    ]


TWICE: list[tuple[dict[str, str], str]] = [
    ({"d": PROMPT + "messages:\n  - {role: user, content: no}\n"}, "prompts/d.prompt.yaml:5: "),
    ({"settings": SETTINGS + "      maxTokens: 7\n"}, "promptkit.yaml:9: "),
    ({"settings": SETTINGS + "  p: {backend: b, model: n}\n"}, "promptkit.yaml:9: "),
    ({"settings": SETTINGS + "backends: {}\n"}, "promptkit.yaml:9: "),
    ({"settings": SETTINGS.replace("b: {", "b: {kind: scripted, ")}, "promptkit.yaml:2: "),
    ({"settings": SETTINGS.replace("maxTokens: 5", "'maxTokens': 5\n      \"maxTokens\": 6")},
     "promptkit.yaml:9: "),
    ({"d": PROMPT + "variables: {a: {type: string, type: integer}}\n"},
     "prompts/d.prompt.yaml:5: "),
    ({"d": PROMPT + "output: {format: schema, schema: {type: object, type: array}}\n"},
     "prompts/d.prompt.yaml:5: "),
    ({"d": PROMPT + "output: {format: schema, schemaFile: s.json}\n",
      "schema": '{"type":"object",\n"type":"array"}'}, "prompts/s.json:2: "),
    ({"d": PROMPT + "output: {format: schema, schemaFile: s.json}\n",
      "schema": '{"properties":{"a":{"x:": "\\"a\\":"},\n"b":[{"a":{}},{"a":{}}],\n"\\u0061":{}}}'},
     "prompts/s.json:3: "),
    ({"d": PROMPT + "output: {format: schema, schemaFile: s.json}\n",
      "schema": '{"title":"\\u003a",\n"x":1,\n"x":2}'}, "prompts/s.json:3: "),
    ({"settings": SETTINGS.replace("scripted", "scripted, replies: [{content: a, content: b}]")},
     "promptkit.yaml:2: "),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(TWICE)))
async def test_a_key_that_stands_twice_is_an_error_at_the_second(
    stages: Stages, number: int
) -> None:
    """P-09: with file and line, and only what needs the broken part fails."""
    files, place = TWICE[number]
    stage = await stages()
    stage.workspace.write("promptkit.yaml", SETTINGS)
    assert await problems(stage) == []
    found = await problems(stage, **files)
    assert len(found) == 1, found
    assert found[0].startswith(place), found
    assert "twice" in found[0]
    if "settings" in files:
        assert (await stage.run()).failure.kind == "configInvalid"
    else:
        failed = (await stage.run(promptId="d")).failure
        assert (failed.kind, failed.data["location"]["line"]) == (
            "promptInvalid",
            int(place.split(":")[1]),
        )
        assert (await stage.run()).result["content"] == "go"


async def test_a_merge_is_no_duplicate(stages: Stages) -> None:
    """P-09: what stands in the mapping wins, then what is merged first; twice is an error."""
    stage = await stages()
    base = "x-base: &a {backend: b, model: one, parameters: {seed: 1}}\nx-more: &c {model: two}\n"
    settings = f"{base}backends: {{b: {{kind: scripted}}}}\nprofiles:\n"
    assert not await problems(
        stage,
        settings=settings + "  p: {<<: *a, model: mine}\n  q: {<<: [*c, *a]}\n  r: {<<: *a}\n",
    )
    for profile, model in (("p", "mine"), ("q", "two"), ("r", "one")):
        shown = await stage.ask("promptkit/profile/inspect", profile=profile)
        assert (shown["model"], shown["parameters"]) == (model, {"seed": 1})
    (found,) = await problems(stage, settings=settings + "  p: {<<: *a, <<: *c}\n")
    assert found.startswith("promptkit.yaml:5: '<<' is there twice")


async def test_ids_that_are_one_for_some_file_systems_are_reported(stages: Stages) -> None:
    """P-09: both are told, whatever the order, and each is still what it is."""
    stage = await stages()
    stage.workspace.write("promptkit.yaml", SETTINGS)
    for name in ("Hello", "hello", "caf\u00e9", "cafe\u0301"):
        stage.workspace.write(f"prompts/{name}.prompt.yaml", PROMPT.replace("hi", f"I am {name}"))
    stage.workspace.write("prompts/hello.prompt.yml", PROMPT)
    found = await problems(stage)
    for name in ("Hello", "hello", "caf\u00e9", "cafe\u0301"):
        assert any(one.startswith(f"prompts/{name}.prompt.yaml:1: ") for one in found)
        assert (await stage.run(promptId=name)).result["content"] == f"I am {name}"
    assert sum("differs from" in one for one in found) == 4
    assert sum("is not read" in one for one in found) == 1


TEXT = """\
profile: p
description: "é 😀"
messages:
  - role: user
    content: |
      first
        second é

      last
  - {role: assistant, content: "a\\r\\nb"}
"""
CONTENTS = ["first\n  second é\n\nlast\n", "a\r\nb", "echo"]
SAME = {
    "bom": b"\xef\xbb\xbf" + TEXT.encode(),
    "crlf": TEXT.replace("\n", "\r\n").encode(),
    "bom and crlf": b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode(),
    "cr": TEXT.replace("\n", "\r").encode(),
    "utf-16": TEXT.encode("utf-16"),
    "utf-16-be": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "a document's marks": b"%YAML 1.2\n---\n" + TEXT.encode() + b"...\n",
    "ends without a line end": TEXT.rstrip("\n").encode(),
}


@pytest.mark.parametrize("spelling", SAME)
async def test_marks_and_line_ends_change_nothing(stages: Stages, spelling: str) -> None:
    """P-13: lines of a block end in a line feed whatever the file's do; escapes stay."""
    stage = await stages()
    settings = SETTINGS.replace("kind: scripted", "kind: scripted, replies: [{content: echo}]")
    stage.workspace.write("promptkit.yaml", settings)
    assert await problems(stage, odd=SAME[spelling]) == []
    ran = await stage.run(promptId="odd", capture=True)
    details = await stage.details(ran.result["runId"])
    assert [message["content"] for message in details["messages"]] == CONTENTS
    shown = await stage.ask("promptkit/prompt/inspect", promptId="odd")
    assert (shown["description"], shown["location"]["line"]) == (
        "é 😀",
        3 if spelling.startswith("a doc") else 1,
    )


WRONG: list[tuple[bytes, str]] = [
    (b"profile: p\nmessages:\n\t- role: user\n", ":3: a tab cannot stand here"),
    (b"profile: p\nmessages:\n  - role: user\n\t  content: x\n", ":4: a tab cannot stand here"),
    (PROMPT.encode() + b"---\n" + PROMPT.encode(), ":5: a file holds one document only"),
    (PROMPT.replace("hi", "h\xe9").encode("latin-1"), ":4: the file is not UTF-8"),
    (PROMPT.encode("utf-32"), ":1: the file is UTF-32"),
    (PROMPT.replace("hi", "'\0'").encode(), ":4: the character U+0000 is not allowed"),
    (PROMPT.encode("utf-16")[:-1], ": the file is not UTF-16"),
    (b"messages:\n  - role: user\n    content: {{ text }}\n", ":3: text with {{ }}"),
    (b"", ":1: the file is empty"),
    (b"- a\n", ":1: a prompt must be a mapping"),
    (b"a: &x [*x]\n", ":1: *x stands inside"),
    (b"a: *x\n", ":1: no anchor"),
    (b"x-a: !!python/object:os.system {}\n", ":1: the tag"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
async def test_other_spellings_are_errors_with_file_and_line(stages: Stages, number: int) -> None:
    """P-13: in prompts and in settings; nothing is sent, and the rest of the workspace works."""
    data, message = WRONG[number]
    stage = await stages()
    stage.workspace.write("promptkit.yaml", SETTINGS)
    found = await problems(stage, odd=data)
    assert any(f"prompts/odd.prompt.yaml{message}" in one or message in one for one in found), found
    failed = (await stage.run(promptId="odd")).failure
    assert failed.kind == "promptInvalid"
    assert failed.data["location"]["file"] == "prompts/odd.prompt.yaml"
    assert failed.data["location"]["line"] >= 1
    assert (await stage.run()).result["content"] == "go"
    settings = data.replace(b"a prompt", b"the settings")
    await problems(stage, settings=settings)
    assert stage.problems
    assert (await stage.run()).failure.kind == "configInvalid"


async def test_files_that_a_prompt_names_may_have_a_mark_too(stages: Stages) -> None:
    """P-13: inputs, included files, schemas and scripts; their own line ends are kept."""
    stage = await stages()
    stage.workspace.write("in.txt", b"\xef\xbb\xbfa\r\nb\r").write(
        "prompts/part.txt", b"\xef\xbb\xbfc\r\nd"
    ).write("prompts/s.json", b"\xef\xbb\xbf" + json.dumps({"type": "object"}).encode()).write(
        "replies.yaml", b"\xef\xbb\xbf- content: '{}'\r\n"
    )
    stage.workspace.settings(
        backends={"b": {"kind": "scripted", "replies": "replies.yaml"}},
        profiles={"p": {"backend": "b", "model": "m"}},
    ).prompt(
        "named", "{{ inputs.i }}|{% include 'part.txt' %}", profile="p",
        inputs={"i": {"file": "in.txt"}}, output={"format": "schema", "schemaFile": "s.json"},
    )  # fmt: skip
    assert await problems(stage) == []
    ran = await stage.run(promptId="named", capture=True)
    assert ran.status == "valid"
    assert await stage.messages(ran.result["runId"]) == [
        ("user", "a\r\nb\r|c\r\nd"),
        ("assistant", "{}"),
    ]


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"type":\n "object",\n\t"properties": {]}', "3:17: not JSON: "),
        (b'{"const":\n NaN}', "2:2: not JSON: "),
        (b'\xef\xbb\xbf{"minimum": "NaN",\n "x": [-Infinity]}', "2:9: not JSON: "),
        (b'{"maximum": 1,\n "minimum": 1e999}', "2:13: not JSON: "),
        (b'{"maximum": 1,\n "minimum": %b}' % (b"9" * 5000), "2:13: not JSON: "),
        ('{"title": "\u00e9",\n "\u00e9": "'.encode() + b"\xe9", "2:8: the file is not UTF-8"),
        (b'{"title": "\xff\xfe"}', "1:12: the file is not UTF-8"),
        ('{"title": "x"}'.encode("utf-16"), "1:1: the file is not UTF-8"),
        (b'{"a":1}\n{"b":2}', "2:1: not JSON: "),
        (b'{"title":\r\n "\\ud800"}', "2:3: not JSON: "),
        (b'{"title": 1', "1:12: not JSON: "),
        (b'{"x":\n' + b"[" * 500 + b"]" * 500 + b"}", "2:400: nested deeper than 400 levels"),
    ],
)
async def test_what_is_wrong_in_a_json_file_has_its_place(
    stages: Stages, data: bytes, place: str
) -> None:
    """P-13: line and column, as in the other files, and no words of the reader's own."""
    stage = await stages()
    stage.workspace.write("promptkit.yaml", SETTINGS)
    prompt = PROMPT + "output: {format: schema, schemaFile: s.json}\n"
    await problems(stage, d=prompt, schema=data)
    (found,) = stage.problems
    location = found["location"]
    assert location["file"] == "prompts/s.json"
    told = f"{location['line']}:{location['column']}: {found['message']}"
    assert told.startswith(place), told
    assert "Exceeds" not in told
    assert (await stage.run(promptId="d")).failure.data["location"] == location
