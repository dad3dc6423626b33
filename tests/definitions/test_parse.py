"""What a prompt file may say, and every problem of one that says something else."""

from pathlib import Path

import pytest

from promptkit_rpc.conversation.message import Role
from promptkit_rpc.definitions.beside import Beside
from promptkit_rpc.definitions.files import Root
from promptkit_rpc.definitions.parse import parse_prompt
from promptkit_rpc.definitions.source import read_text
from promptkit_rpc.definitions.template import Sandbox
from promptkit_rpc.errors import Location
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import TEXT, Contract, Format
from tests.support.definitions import PROMPT_FILE, good_prompt, prompt_of

ONE = "messages: [{role: user, content: hi}]\n"
FULL = """\
description: One line
profile: careful
session: "case-{{ case }}"
inputs:
  transcript: {file: "data/{{ case }}.txt"}
variables:
  question: {type: string}
  depth: {type: integer, default: 2}
messages:
  - role: system
    cache: {type: ephemeral, ttl: 1h}
    content: |
      You study {{ inputs.transcript }}
  - role: user
    content: "{{ question }}"
output:
  format: schema
  schema: {type: object, required: [n]}
  repairs: 2
_meta: {anything: [goes]}
x-note: likewise
"""


def test_a_whole_prompt_is_read() -> None:
    prompt = good_prompt(FULL)
    assert (prompt.id, prompt.description, prompt.profile) == ("p", "One line", "careful")
    assert prompt.location == Location(PROMPT_FILE, 1, 1)
    assert prompt.session is not None
    assert prompt.session.source == "case-{{ case }}"
    (transcript,) = prompt.inputs
    assert (transcript.name, transcript.file.source) == ("transcript", "data/{{ case }}.txt")
    question, depth = prompt.variables
    assert (question.name, question.default) == ("question", None)
    assert (depth.schema, depth.default) == (Json.of({"type": "integer"}), Json.of(2))
    system, user = prompt.messages
    assert (system.role, user.role) == (Role.SYSTEM, Role.USER)
    assert system.content.source == "You study {{ inputs.transcript }}\n"
    assert system.content.location == Location(PROMPT_FILE, 13, 1)
    assert system.cache == Json.of({"type": "ephemeral", "ttl": "1h"})
    assert user.content.location == Location(PROMPT_FILE, 15, 14)
    assert prompt.output == Contract(
        format=Format.SCHEMA, schema=Json.of({"type": "object", "required": ["n"]}), repairs=2
    )


def test_what_is_left_out_or_empty_is_the_default() -> None:
    plain = good_prompt(ONE)
    assert plain.output == TEXT
    assert good_prompt("profile:\nsession:\ninputs:\nvariables:\noutput:\n" + ONE).output == TEXT


def test_cache_metadata_and_schemas_keep_any_key_and_number() -> None:
    cache = good_prompt(
        "messages: [{role: user, content: hi, cache: {my-key: 12345678901234567890, 5: [no]}}]"
    )
    assert cache.messages[0].cache == Json.of({"my-key": 12345678901234567890, "5": ["no"]})


def test_every_problem_of_a_file_is_reported_with_its_place() -> None:
    _, problems = prompt_of(
        "descripton: x\n"
        "profile: 5\n"
        "messages:\n"
        "  - role: usr\n"
        "    content: 3.5\n"
        "  - {role: user}\n"
        "  - hello\n"
        "  - role: user\n"
        "    content: |\n"
        "      fine\n"
        "      {% if %}\n"
        "    cache: yes\n"
        "output: {format: text, repairs: -1, shema: {}}\n"
    )
    assert problems == [
        f"{PROMPT_FILE}:2:10: 'profile' must be text; put it in quotes; this is a number",
        (
            f"{PROMPT_FILE}:4:11: 'role' must be one of system, developer, user, assistant; "
            "did you mean 'user'?"
        ),
        f"{PROMPT_FILE}:5:14: 'content' must be text; put it in quotes; this is a number",
        f"{PROMPT_FILE}:6:5: 'content' is missing in messages.1",
        f"{PROMPT_FILE}:7:5: a message must be a mapping, not text",
        (
            f"{PROMPT_FILE}:11:1: template of 'content': Expected an expression, "
            "got 'end of statement block'"
        ),
        f"{PROMPT_FILE}:12:12: 'cache' must be a mapping; this is text",
        f"{PROMPT_FILE}:13:33: 'repairs' must be 0 or more",
        f"{PROMPT_FILE}:13:37: 'shema' is not a key here; did you mean 'schema'?",
        f"{PROMPT_FILE}:1:1: 'descripton' is not a key here; did you mean 'description'?",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1:1: the file is empty; a prompt needs `messages`"),
        ("[a]", "1:1: a prompt must be a mapping, not a list"),
        ("description: x", "1:1: 'messages' is missing"),
        ("messages:", "1:1: 'messages' is missing"),
        ("messages: []", "1:11: 'messages' holds no message"),
        ("messages: {role: user}", "1:11: 'messages' must be a list; this is a mapping"),
        ("profile: ' '\n" + ONE, "1:10: 'profile' is blank"),
        (
            "profile: true\n" + ONE,
            "1:10: 'profile' must be text; put it in quotes; this is true or false",
        ),
        (
            "session: '{{ x'\n" + ONE,
            (
                "1:10: template of 'session': unexpected end of template, "
                "expected 'end of print statement'."
            ),
        ),
        (
            "inputs: {a b: {file: x}}\n" + ONE,
            "1:10: 'a b' cannot be an input's name; use letters, digits and _",
        ),
        ("inputs: {a: x}\n" + ONE, "1:13: the input 'a' must be a mapping, not text"),
        ("inputs: {a: {}}\n" + ONE, "1:13: 'file' is missing in inputs.a"),
        ("inputs: {a: {file: x, mode: r}}\n" + ONE, "1:23: 'mode' is not a key here"),
        (
            "output: {format: jsn}\n" + ONE,
            "1:18: 'format' must be one of text, json, schema; did you mean 'json'?",
        ),
        (
            "output: {repairs: true}\n" + ONE,
            "1:19: 'repairs' must be an integer; this is true or false",
        ),
        ("output: {repairs: 1.0}\n" + ONE, "1:19: 'repairs' must be an integer; this is a number"),
        (
            "output: {format: schema}\n" + ONE,
            "1:18: a schema is missing: give `schema` or `schemaFile`",
        ),
        ("output: {schema: {}}\n" + ONE, "1:18: 'schema' is used with `format: schema` only"),
        (
            "output: {format: schema, schema: {}, schemaFile: x}\n" + ONE,
            "1:50: give `schema` or `schemaFile`, not both",
        ),
        (
            "output: {format: schema, schema: {a: .nan}}\n" + ONE,
            "1:38: JSON has no infinite numbers and no NaN",
        ),
        ("output: {format: schema, schema: [1]}\n" + ONE, "1:34: the schema cannot be used: "),
        (
            "output: {format: schema, schema: {type: objekt}}\n" + ONE,
            "1:34: the schema cannot be used: ",
        ),
        (
            "output: {format: schema, schema: {$ref: 'http://a/b'}}\n" + ONE,
            "1:34: the schema cannot be used: ",
        ),
    ],
)
def test_what_a_prompt_may_not_say(text: str, problem: str) -> None:
    """SEC-4."""
    prompt, problems = prompt_of(text)
    assert prompt is None
    assert problems[0].startswith(f"{PROMPT_FILE}:{problem}")
    assert len(problems) == 1


def test_a_key_given_twice_is_a_problem() -> None:
    """P-09."""
    _, problems = prompt_of(ONE + "description: x\n" + ONE)
    assert problems == [
        f"{PROMPT_FILE}:3:1: 'messages' is there twice; it was given first on line 1"
    ]


def test_a_bare_template_is_the_only_problem_it_makes() -> None:
    prompt, problems = prompt_of("messages:\n  - role: user\n    content: {{ x }}\n")
    assert problems == [
        f'{PROMPT_FILE}:3:14: text with {{{{ }}}} or {{% %}} must be quoted: "{{{{ name }}}}"'
    ]
    assert prompt is not None  # the catalog drops what has problems of reading


def write(root: Path, name: str, content: str | bytes) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def with_schema_file(name: str) -> str:
    return f"{ONE}output:\n  format: schema\n  schemaFile: {name}\n"


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("a.json", "prompts/a.json", '{"type": "object", "x": 12345678901234567890}'),
        ("../schemas/a.json", "schemas/a.json", '\ufeff{"type": "string"}'),
        ("sub/a.yaml", "prompts/sub/a.yaml", "type: object\n"),
        ("a.json", "prompts/a.json", '{"const": "\\ud83d\\ude00\\/"}'),
        ("a.json", "prompts/a.json", "true"),
    ],
)
def test_a_schema_file_is_found_beside_the_prompt(
    tmp_path: Path, name: str, file: str, content: str
) -> None:
    write(tmp_path, file, content)
    prompt = good_prompt(with_schema_file(name), tmp_path)
    assert prompt.output.format is Format.SCHEMA
    assert prompt.output.schema is not None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none.json", "prompts/p.prompt.yaml:4:15: the file 'none.json' does not exist"),
        (
            "../../out.json",
            "prompts/p.prompt.yaml:4:15: the file 'out.json' lies outside the workspace",
        ),
        ("/etc/hosts", "prompts/p.prompt.yaml:4:15: the file 'hosts' lies outside the workspace"),
        (
            "link.json",
            "prompts/p.prompt.yaml:4:15: the file 'link.json' lies outside the workspace",
        ),
        ("bad.json", "prompts/bad.json:2:1: not JSON: the text ends too early"),
        (
            "twice.json",
            "prompts/twice.json:1:10: 'a' is there twice; it was given first on line 1",
        ),
        ("nan.json", "prompts/nan.json:1:2: not JSON: invalid character"),
        ("latin.json", "prompts/latin.json:1:2: the file is not UTF-8"),
        ("deep.json", "prompts/deep.json:1:401: nested deeper than 400 levels"),
        ("bad.yaml", "prompts/bad.yaml:1:7: 'a' is there twice; it was given first on line 1"),
        ("empty.yaml", "prompts/empty.yaml:1:1: the file is empty"),
        (
            "wrong.json",
            "prompts/p.prompt.yaml:4:15: the schema in prompts/wrong.json cannot be used: ",
        ),
    ],
)
def test_a_schema_file_that_cannot_be_used_is_a_problem(
    tmp_path: Path, name: str, problem: str
) -> None:
    """SEC-3, SEC-4."""
    root = tmp_path / "root"
    (root / "prompts").mkdir(parents=True)
    write(tmp_path, "out.json", "{}")
    (root / "prompts/link.json").symlink_to(tmp_path / "out.json")
    for file, content in {
        "bad.json": '{"a":\n',
        "twice.json": '{"a": 1, "a": 2}',
        "nan.json": "[NaN]",
        "latin.json": b'"\xe9"',
        "deep.json": "[" * 100_000,
        "bad.yaml": "{a: 1,a: 2}",
        "empty.yaml": "# nothing",
        "wrong.json": '{"type": 5}',
    }.items():
        write(root, f"prompts/{file}", content)
    prompt, problems = prompt_of(with_schema_file(name), root)
    assert prompt is None
    assert problems[0].startswith(problem)
    assert str(tmp_path) not in problems[0]


def test_problems_say_which_keys_lead_to_them(tmp_path: Path) -> None:

    node, _ = read_text("f", "messages:\n- {role: user, content: x}\n- {role: me, content: x}\n")
    _, (problem,) = parse_prompt(
        node, prompt_id="p", file="f", beside=Beside(Root(tmp_path)), sandbox=Sandbox()
    )
    assert problem.path == ("messages", "1", "role")
    assert (problem.location, problem.end_line, problem.end_column) == (Location("f", 3, 10), 3, 12)
    assert problem.code == "value"
