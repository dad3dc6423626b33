"""What `promptkit.yaml` may say, and every problem of one that says something else."""

from pathlib import Path

import pytest

from promptkit_rpc.definitions.parse_settings import default_settings
from promptkit_rpc.definitions.settings import (
    BackendKind,
    CredentialKind,
    HeaderValue,
    RetryPolicy,
    Structured,
    Timeouts,
)
from promptkit_rpc.errors import Location
from promptkit_rpc.generation import Parameters
from promptkit_rpc.jsontext import Json
from tests.support.definitions import SETTINGS_FILE, good_settings, settings_of

FULL = """\
version: 1
prompts: texts
inputs: [data, ./more/]
x-base: &base {backend: main, model: some-model}
backends:
  x-notes: {left: alone}
  demo: {kind: scripted, description: Offline, replies: [{content: hi}]}
  main:
    kind: openai
    baseUrl: http://127.0.0.1:8080/v1?a=b
    credential: {env: OPENAI_API_KEY}
    capacity: 8
    permits: 4
    queue: 0
    timeouts: {connect: 5, read: null, total: 0.5}
    retry: {attempts: 1, baseDelay: 0}
    headers: {X-Team: docs, x-key: {env: TEAM_KEY}}
    structured: prompt
    maxTokensField: max_completion_tokens
  claude:
    kind: anthropic
    baseUrl: https://api.example.com
    credential: {command: [prog, arg]}
  editor: {kind: client}
profiles:
  careful:
    <<: *base
    description: Slow
    parameters:
      {temperature: 0.2, maxTokens: 800, topP: 1, stop: [END], seed: -7, extra: {logit_bias: {}}}
  quick: *base
"""


def test_a_whole_file_is_read() -> None:
    settings = good_settings(FULL)
    assert (settings.prompts, settings.inputs) == ("texts", ("data", "more"))
    demo, main, claude, editor = settings.backends
    assert (demo.kind, demo.description) == (BackendKind.SCRIPTED, "Offline")
    assert demo.replies is not None
    assert main.kind is BackendKind.OPENAI
    assert main.location == Location(SETTINGS_FILE, 8, 3)
    assert main.base_url == "http://127.0.0.1:8080/v1?a=b"
    assert (main.capacity, main.permits, main.queue) == (8, 4, 0)
    assert main.timeouts == Timeouts(connect=5, read=None, total=0.5)
    assert main.retry == RetryPolicy(attempts=1, base_delay=0, max_delay=30.0)
    assert main.headers == (
        ("X-Team", HeaderValue(text="docs")),
        ("x-key", HeaderValue(env="TEAM_KEY")),
    )
    assert (main.structured, main.max_tokens_field) == (Structured.PROMPT, "max_completion_tokens")
    assert main.credential is not None
    assert (main.credential.kind, main.credential.value) == (
        CredentialKind.ENV,
        ("OPENAI_API_KEY",),
    )
    assert main.credential.location == Location(SETTINGS_FILE, 11, 17)
    assert claude.credential is not None
    assert str(claude.credential) == "command:prog"
    assert (editor.timeouts, editor.retry, editor.capacity) == (Timeouts(), RetryPolicy(), None)
    careful, quick = settings.profiles
    assert (careful.backend, careful.model, careful.description) == ("main", "some-model", "Slow")
    assert careful.parameters == Parameters(
        temperature=0.2,
        max_tokens=800,
        top_p=1,
        stop=("END",),
        seed=-7,
        extra=Json.of({"logit_bias": {}}),
    )
    assert quick.parameters == Parameters()


def test_without_a_file_there_is_an_echo() -> None:
    """A fresh install runs."""
    settings = default_settings(SETTINGS_FILE)
    (backend,) = settings.backends
    (profile,) = settings.profiles
    assert (backend.kind, backend.replies) == (BackendKind.SCRIPTED, None)
    assert (profile.name, profile.backend) == ("default", backend.name)


def test_a_file_has_what_it_says_and_no_more() -> None:
    settings = good_settings("version: 1\n")
    assert (settings.backends, settings.profiles) == ((), ())
    assert (settings.prompts, settings.inputs) == ("prompts", (".",))


def backend(text: str, kind: str = "openai") -> tuple[bool, list[str]]:
    """Whether a backend with these keys can be used, and the problems of it."""
    url = "" if "baseUrl" in text else "baseUrl: 'http://h'\n    "
    settings, problems = settings_of(f"backends:\n  b:\n    kind: {kind}\n    {url}{text}\n")
    assert settings is not None
    cut = f"{SETTINGS_FILE}:{4 + bool(url)}:"
    return bool(settings.backends), [problem.removeprefix(cut) for problem in problems]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (
            "apiKey: some-key",
            "'apiKey' is not a key here; use `credential: {env: NAME}`",
        ),
        (
            "credential: ${OPENAI_API_KEY}",
            "${OPENAI_API_KEY} is not expanded; write `credential: {env: OPENAI_API_KEY}`",
        ),
        (
            "credential: $OPENAI_API_KEY",
            "${OPENAI_API_KEY} is not expanded; write `credential: {env: OPENAI_API_KEY}`",
        ),
        (
            "credential: API_KEY",
            "the environment variable API_KEY is asked for by `credential: {env: API_KEY}`",
        ),
        (
            "credential: {env: '${OPENAI_API_KEY}'}",
            "write the variable's bare name: {env: OPENAI_API_KEY}",
        ),
        (
            "credential: {file: '${HOME}/key'}",
            (
                "'file' is not expanded: ${HOME} stands for nothing here; where a value may come "
                "from the environment it is written {env: HOME}"
            ),
        ),
        (
            "headers: {X-Key: 'a ${TEAM_KEY}'}",
            (
                "the header X-Key is not expanded: ${TEAM_KEY} stands for nothing here; where a "
                "value may come from the environment it is written {env: TEAM_KEY}"
            ),
        ),
        (
            "headers: {X-Key: {env: '${TEAM_KEY}'}}",
            "write the variable's bare name: {env: TEAM_KEY}",
        ),
        (
            "baseUrl: 'http://h/${TENANT}'",
            (
                "'baseUrl' is not expanded: ${TENANT} stands for nothing here; where a value may "
                "come from the environment it is written {env: TENANT}"
            ),
        ),
    ],
)
def test_a_placeholder_is_a_problem_that_names_the_variable(written: str, words: str) -> None:
    """K-10."""
    usable, (problem,) = backend(written)
    assert not usable
    assert problem.split(": ", 1)[1] == words


@pytest.mark.parametrize(
    "written",
    [
        "credential: sk-canary-AAAA",
        "credential: CANARYAAAA0123",
        "credential: [sk-canary-AAAA]",
        "credential: 12345canary",
        "credential: {env: sk-canary-AAAA}",
        "credential: {key: sk-canary-AAAA}",
        "credential: {env: A, value: sk-canary-AAAA}",
        "credential: {env: [sk-canary-AAAA]}",
        "credential: {command: sk-canary-AAAA}",
        'headers: {Authorization: "sk-canary-AAAA\\r\\nX: y"}',
        'headers: {Authorization: "sk-canary-AAAA\\u00e9"}',
        "headers: {Authorization: [sk-canary-AAAA]}",
        "baseUrl: 'http://me:sk-canary-AAAA@h/'",
        "baseUrl: 'sk-canary-AAAA'",
        "baseUrl: 'http://h/ sk-canary-AAAA'",
    ],
)
def test_no_problem_repeats_what_may_be_a_key(written: str) -> None:
    """SEC-1."""
    usable, problems = backend(written)
    assert not usable
    assert problems
    assert "canary" not in "".join(problems).lower()


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("capacity: 0", "15: 'capacity' must be 1 or more"),
        ("permits: 1.5", "14: 'permits' must be an integer; this is a number"),
        ("queue: -1", "12: 'queue' must be 0 or more"),
        ("capacity: true", "15: 'capacity' must be an integer; this is true or false"),
        ("capacity: '5'", "15: 'capacity' must be an integer; this is text"),
        ("timeouts: {read: 0}", "22: 'read' must be more than 0"),
        ("timeouts: {read: .inf}", "22: 'read' must be a finite number"),
        ("timeouts: {write: 1}", "16: 'write' is not a key here"),
        ("timeouts: 5", "15: 'timeouts' must be a mapping, not a number"),
        ("retry: {attempts: 0}", "23: 'attempts' must be 1 or more"),
        ("retry: {max_delay: 1}", "13: 'max_delay' is not a key here; did you mean 'maxDelay'?"),
        (
            "structured: natve",
            "17: 'structured' must be one of native, prompt; did you mean 'native'?",
        ),
        ("baseURL: x", "5: 'baseURL' is not a key here; did you mean 'baseUrl'?"),
        ("headers: {a b: c}", "15: this is no header's name"),
        ('headers: {"a\\r\\nb": c}', "15: a name in 'headers' is blank or unprintable"),
        (
            "headers: {Content-Length: '5'}",
            "15: the header Content-Length is set by the connection itself",
        ),
        (
            "headers: {X-A: b, x-a: c}",
            "23: the header x-a is there twice; names differ in more than case",
        ),
        (
            "headers: {X-A: 5}",
            "20: a header's value must be text or {env: NAME}, not a number; put it in quotes",
        ),
        ("credential: {}", "17: 'credential' needs exactly one of env, file, command and client"),
        (
            "credential: {env: A, file: b}",
            "17: 'credential' needs exactly one of env, file, command and client",
        ),
        ("credential: {command: []}", "27: 'command' names no program"),
        ("credential: {env: 'a-b'}", "23: 'env' must be the name of an environment variable"),
        ("baseUrl: ftp://h", "14: 'baseUrl' must be an http:// or https:// URL"),
        ("baseUrl: 'http://'", "14: 'baseUrl' must be an http:// or https:// URL"),
        ("baseUrl: 'http://a:b@h'", "14: 'baseUrl' holds a login; give the key as `credential`"),
        ("baseUrl: 'http://h:99999'", "14: 'baseUrl' is no URL"),
        ("baseUrl: 'http://h#x'", "14: 'baseUrl' holds a fragment (#...), which is never sent"),
        ("baseUrl: 'http://h\\n'", "14: 'baseUrl' holds characters that a URL cannot hold"),
        ("baseUrl:", "5: 'baseUrl' is missing in backends.b"),
    ],
)
def test_what_a_backend_may_not_say(written: str, problem: str) -> None:
    """SEC-4."""
    usable, problems = backend(
        written.replace("\\n'", '\\n"').replace("'http://h\\n", '"http://h\\n')
    )
    assert not usable
    assert problems == [problem]


def test_a_backend_of_another_kind_may_keep_its_keys() -> None:
    """So that a provider can be swapped for a script and back by one word."""
    usable, problems = backend("credential: {env: A}\n    replies: []", kind="scripted")
    assert usable
    assert not problems
    _settings, problems = settings_of("backends: {b: {kind: opnai}}")
    assert problems == [
        (
            f"{SETTINGS_FILE}:1:22: 'kind' must be one of openai, anthropic, scripted, client; "
            "did you mean 'openai'?"
        )
    ]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("temperature: -1", "'temperature' must be 0 or more"),
        ("temperature: .nan", "'temperature' must be a finite number"),
        ("temperature: true", "'temperature' must be a number; this is true or false"),
        ("temperature: '1'", "'temperature' must be a number; this is text"),
        ("maxTokens: 0", "'maxTokens' must be 1 or more"),
        ("topP: 1.5", "'topP' must be 1 or less"),
        ("stop: END", "'stop' must be a list; this is text"),
        ("stop: [1]", "'stop' must be text; put it in quotes; this is a number"),
        ("stop: ['']", "an entry of 'stop' is empty"),
        ("seed: 1.0", "'seed' must be an integer; this is a number"),
        ("extra: [1]", "'extra' must be a mapping; this is a list"),
        ("extra: {a: .inf}", "JSON has no infinite numbers and no NaN"),
        ("max_tokens: 5", "'max_tokens' is not a key here; did you mean 'maxTokens'?"),
    ],
)
def test_what_parameters_may_not_say(written: str, problem: str) -> None:
    """SEC-4."""
    text = (
        "backends: {b: {kind: client}}\n"
        f"profiles: {{p: {{backend: b, model: m, parameters: {{{written}}}}}}}"
    )
    settings, problems = settings_of(text)
    assert settings is not None
    assert settings.profiles == ()
    assert [one.split(": ", 1)[1] for one in problems] == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1:1: the file is empty; write `version: 1`, or delete it"),
        ("5", "1:1: the settings must be a mapping, not a number"),
        ("version: 2", "1:10: this is version 2; only version 1 can be read"),
        ("version: '1'", "1:10: 'version' must be an integer; this is text"),
        (
            "prompts: ../up",
            "1:10: 'prompts' must name folders below the workspace's root, with slashes",
        ),
        (
            "prompts: /abs",
            "1:10: 'prompts' must name folders below the workspace's root, with slashes",
        ),
        (
            "inputs: [a/../..]",
            "1:9: 'inputs' must name folders below the workspace's root, with slashes",
        ),
        ("inputs: data", "1:9: 'inputs' must be a list; this is text"),
    ],
)
def test_nothing_is_taken_from_a_file_that_is_wrong_at_its_base(text: str, problem: str) -> None:
    """SEC-3, SEC-4."""
    settings, problems = settings_of(text)
    assert settings is None
    assert problems == [f"{SETTINGS_FILE}:{problem}"]


def test_a_broken_part_leaves_the_others_usable() -> None:
    settings, problems = settings_of(
        "backend: {}\n"
        "backends:\n"
        "  good: {kind: client}\n"
        "  bad: {kind: client, capacity: 0}\n"
        "  worse: text\n"
        "profiles:\n"
        "  good: {backend: good, model: m}\n"
        "  bad: {backend: good}\n"
        "  lost: {backend: god, model: m}\n"
        "  broken: {backend: bad, model: m}\n"
    )
    assert settings is not None
    assert [one.name for one in settings.backends] == ["good"]
    assert [one.name for one in settings.profiles] == ["good", "lost", "broken"]
    assert [one.removeprefix(f"{SETTINGS_FILE}:") for one in problems] == [
        "4:33: 'capacity' must be 1 or more",
        "5:10: the backend 'worse' must be a mapping, not text",
        "8:8: 'model' is missing in profiles.bad",
        "1:1: 'backend' is not a key here; did you mean 'backends'?",
        "9:19: there is no backend 'god'; did you mean 'good'? There are: good, bad, worse",
    ]


def test_a_parameter_given_twice_is_a_problem() -> None:
    """P-09."""
    _, problems = settings_of("profiles: {p: {parameters: {maxTokens: 1, maxTokens: 2}}}")
    assert f"{SETTINGS_FILE}:1:43: 'maxTokens' is there twice" in problems[0]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none.yaml", "promptkit.yaml:1:41: the file 'none.yaml' does not exist"),
        ("../out.yaml", "promptkit.yaml:1:41: the file 'out.yaml' lies outside the workspace"),
        ("map.yaml", "map.yaml:1:1: replies must be a list, not a mapping"),
        ("bad.yaml", "bad.yaml:2:3: 'contnt' is not a key here; did you mean 'content'?"),
        ("syntax.yaml", "syntax.yaml:1:2: not YAML: "),
    ],
)
def test_a_file_of_replies_that_cannot_be_used_is_a_problem(
    tmp_path: Path, name: str, problem: str
) -> None:
    """SEC-3, SEC-4."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "out.yaml").write_text("- content: x")
    (root / "map.yaml").write_text("a: 1")
    (root / "bad.yaml").write_text("- content: x\n- contnt: x\n  json: 1\n")
    (root / "syntax.yaml").write_text("[")
    settings, problems = settings_of(f"backends: {{b: {{kind: scripted, replies: {name}}}}}", root)
    assert settings is not None
    assert settings.backends == ()
    assert problems[0].startswith(problem)


def test_a_file_of_replies_is_found_beside_the_settings(tmp_path: Path) -> None:
    (tmp_path / "replies.yaml").write_text("- content: a\n- content: b\n")
    settings = good_settings("backends: {b: {kind: scripted, replies: replies.yaml}}", tmp_path)
    replies = settings.backends[0].replies
    assert replies is not None
    assert [reply.content and reply.content.source for reply in replies] == ["a", "b"]
    assert replies[1].location == Location("replies.yaml", 2, 3)
