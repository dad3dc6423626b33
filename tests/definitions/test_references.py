"""What definitions refer to that is not there: told before anything runs."""

from pathlib import Path

import pytest

from promptkit_rpc.definitions.catalog import Workspace, read_prompt_text
from tests.support import workspace as files
from tests.support.definitions import shown


@pytest.fixture
def ws(tmp_path: Path) -> files.Workspace:
    return files.Workspace(tmp_path / "ws").scripted()


def problems(ws: files.Workspace, prompt: str) -> list[str]:
    ws.write("prompts/p.prompt.yaml", prompt)
    return shown(Workspace(ws.root).reload().problems)


def content(text: str) -> str:
    return "inputs:\n  text: {file: '{{ x }}'}\nmessages:\n- role: user\n  content: |\n" + "".join(
        f"    {line}\n" for line in text.splitlines()
    )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("a.txt", "'a.txt', does not exist"),
        ("data", "'data', is a folder"),
        ("../a.txt", "lies outside the workspace"),
        ("/etc/passwd", "lies outside the workspace"),
    ],
)
def test_an_input_with_a_constant_path_is_looked_for(
    ws: files.Workspace, path: str, words: str
) -> None:
    ws.write("data/here.txt", "x")
    text = f"inputs:\n  doc: {{file: {path}}}\nmessages: [{{role: user, content: hi}}]"
    (problem,) = problems(ws, text)
    assert problem.startswith("prompts/p.prompt.yaml:2:3: the file of input 'doc'")
    assert problem.endswith(words)
    assert not problems(ws, text.replace(path, "data/here.txt"))


def test_an_input_that_appears_is_no_problem_any_more(ws: files.Workspace) -> None:
    """Nothing that is read again names it."""
    ws.prompt("p", "hi", inputs={"doc": {"file": "a.txt"}})
    workspace = Workspace(ws.root)
    assert len(workspace.reload().problems) == 1
    ws.write("a.txt", "x")
    assert not workspace.reload().problems


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\n{{ inputs.txet }}", 7),
        ("{% if 1 %}\n{{ inputs['txet'] }}{% endif %}", 7),
    ],
)
def test_an_input_that_is_not_declared_is_told(ws: files.Workspace, text: str, line: int) -> None:
    (problem,) = problems(ws, content(text))
    assert problem == (
        f"prompts/p.prompt.yaml:{line}:1: there is no input 'txet' in this prompt;"
        " did you mean 'text'?"
    )


@pytest.mark.parametrize(
    "text",
    [
        "{{ inputs.text }}{{ anything }}",
        "{% if inputs.txet is defined %}{{ inputs.txet }}{% endif %}",
        "{{ inputs.txet | default('none') }}",
        "{% for name, text in inputs.items() %}{{ name }}{% endfor %}",
        "{{ inputs[name] }}",
        "{% set inputs = {'txet': 1} %}{{ inputs.txet }}",
    ],
)
def test_what_may_work_is_left_alone(ws: files.Workspace, text: str) -> None:
    assert not problems(ws, content(text))


def test_a_file_to_include_by_a_constant_name_is_looked_for(ws: files.Workspace) -> None:
    text = "one\n{% include 'parts/a.txt' %}\n{% include 'b' ignore missing %}{% include x %}"
    (problem,) = problems(ws, content(text))
    assert problem == (
        "prompts/p.prompt.yaml:7:1: the file to include, 'parts/a.txt', does not exist in prompts/;"
        " includes are relative to the prompts folder"
    )
    ws.write("prompts/parts/a.txt", "a")
    assert not problems(ws, content(text))


def test_an_unsaved_prompt_is_looked_at_likewise(ws: files.Workspace) -> None:
    path = ws.root / "prompts/new.prompt.yaml"
    _, found = read_prompt_text(Workspace(ws.root), path, content("{{ inputs.txet }}"))
    assert len(found) == 1


def test_a_folder_of_inputs_that_is_not_there_is_told_with_its_place(ws: files.Workspace) -> None:
    ws.write("promptkit.yaml", "version: 1\ninputs:\n- data\n- nofolder\n").write("data/x", "")
    (problem,) = shown(Workspace(ws.root).reload().problems)
    assert problem == (
        "promptkit.yaml:4:3: the folder 'nofolder' does not exist;"
        " `inputs` names folders of the workspace"
    )


def test_a_reply_to_a_prompt_that_is_not_there_is_told(ws: files.Workspace) -> None:
    replies = (
        "- {match: {promptId: studdy}, content: a}\n- {match: {promptId: broken}, content: b}\n"
    )
    ws.write("promptkit.yaml", "backends: {demo: {kind: scripted, replies: replies.yaml}}\n")
    ws.write("replies.yaml", replies).prompt("study", "x").write("prompts/broken.prompt.yaml", "{}")
    assert shown(Workspace(ws.root).reload().problems)[0] == (
        "replies.yaml:1:3: this reply is never given: there is no prompt 'studdy';"
        " did you mean 'study'?"
    )


def test_a_profile_with_two_faults_has_both_told(ws: files.Workspace) -> None:
    ws.write("promptkit.yaml", "profiles:\n  p:\n    backend: demo\n    parameters: {topP: 2}\n")
    assert shown(Workspace(ws.root).reload().problems) == [
        "promptkit.yaml:3:5: 'model' is missing in profiles.p",
        "promptkit.yaml:4:24: 'topP' must be 1 or less",
        "promptkit.yaml:3:14: there is no backend 'demo'; there are none yet",
    ]
