"""What the command line says to a person who is new to it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from promptkit_rpc.cli import main
from promptkit_rpc.commands.init import write_samples
from tests.support.process import ROOT
from tests.support.workspace import Workspace

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws").scripted().prompt("research/study", "{{ a }}", profile="p")


def told(capsys: Captured, *arguments: str, code: int = 1) -> str:
    """What a command that fails says."""
    try:
        ended = main(arguments)
    except SystemExit as stop:
        ended = stop.code
    assert ended == code
    return capsys.readouterr().err


def test_a_folder_that_is_none_is_named(capsys: Captured, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    for command in (["run", "hello"], ["check"]):
        assert f"{nowhere} is no folder" in told(capsys, *command, "--root", nowhere)


def test_a_settings_file_that_was_asked_for_must_be_there(capsys: Captured, ws: Workspace) -> None:
    root = str(ws.root)
    path = os.path.join(root, "nope.yaml")  # noqa: PTH118 - as it is printed
    words = f"{path}:1:1: the settings file does not exist"
    assert words in told(capsys, "run", "research/study", "--root", root, "--config", "nope.yaml")
    assert main(["check", "--root", root, "--config", "nope.yaml"]) == 1
    assert words in capsys.readouterr().out
    (ws.root / "promptkit.yaml").unlink()
    ws.prompt("research/study", "hi")
    assert main(["check", "--root", root]) == 0


def test_a_workspace_without_prompts_is_doubted(capsys: Captured, tmp_path: Path) -> None:
    words = told(capsys, "check", "--root", str(tmp_path))
    assert words == f"no prompts in {tmp_path}/prompts; is this the workspace? (--root)\n"


@pytest.mark.parametrize("name", ["study", "study.prompt.yaml", "prompts/research/study"])
def test_a_prompt_is_found_by_what_people_call_it(
    capsys: Captured, ws: Workspace, name: str
) -> None:
    words = told(capsys, "run", name, "--root", str(ws.root))
    assert f"there is no prompt {name!r}; did you mean 'research/study'?" in words
    assert str(ws.root) in words


def test_a_missing_profile_says_which_there_are(capsys: Captured, ws: Workspace) -> None:
    ws.prompt("bare", "hi")
    words = told(capsys, "run", "bare", "--root", str(ws.root))
    assert words.endswith(
        "bare.prompt.yaml:1:1: prompt 'bare' names no profile; give one with --profile,"
        " or write `profile` in the prompt; there are: p\n"
    )
    words = told(capsys, "run", "bare", "--root", str(ws.root), "--profile", "q")
    assert "there is no profile 'q'; there are: p" in words


def test_a_variable_is_asked_for_as_it_is_given(capsys: Captured, ws: Workspace) -> None:
    ws.prompt("n", "{{ n }}", profile="p", variables={"n": {"type": "integer"}})
    root = ("--root", str(ws.root))
    assert "is not set; give it with --var a=…\n" in told(capsys, "run", "research/study", *root)
    assert "is not set; give it with --var n=…\n" in told(capsys, "run", "n", *root)
    words = told(capsys, "run", "n", "--var", "n=3", *root)
    assert "must be an integer; for a number write --var n:=3\n" in words
    words = told(capsys, "run", "n", "--var", "n:=bridge", *root, code=2)
    assert "; for text write n=bridge\n" in words


@pytest.mark.parametrize(
    "wrong",
    [["--timeout", "0"], ["--timeout", "nan"], ["--timeout", "x"], ["--var", "x"], ["--no"]],
)
def test_a_wrong_call_shows_the_usage_of_its_command(
    capsys: Captured, ws: Workspace, wrong: list[str]
) -> None:
    words = told(capsys, "run", "research/study", "--root", str(ws.root), *wrong, code=2)
    assert words.startswith("usage: promptkit-rpc run ")


def test_places_can_be_opened_from_where_one_is(
    capsys: Captured, ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.write("prompts/bad.prompt.yaml", "messages: 1\n")
    monkeypatch.chdir(ws.root.parent)
    assert main(["check", "--root", "ws"]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("ws/prompts/bad.prompt.yaml:1:11: ")
    assert captured.err == "1 prompt read, 1 problem\n"
    assert "ws/prompts/bad.prompt.yaml:1:11: " in told(capsys, "run", "bad", "--root", "ws")


def test_an_answer_that_breaks_its_contract_is_told_with_its_place(
    capsys: Captured, ws: Workspace
) -> None:
    usage = {"inputTokens": 4, "outputTokens": 4}
    ws.scripted({"content": '{"n": "x"}', "usage": usage}, {"content": "1"})
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    output = {"format": "schema", "schema": schema, "repairs": 1}
    ws.prompt("n", "hi", profile="p", output=output)
    words = told(capsys, "run", "n", "--root", str(ws.root))
    assert "breaks its contract (1 violation); asking again" in words
    assert "\npromptkit-rpc run: the answer breaks its contract\nanswer/n: " in words
    ws.scripted({"content": "1", "usage": usage})
    words = told(capsys, "run", "n", "--root", str(ws.root))
    assert "completed; tokens: 8 in, 8 out\npromptkit-rpc run: the answer breaks its" in words


def test_samples_are_not_written_into_a_file(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "afile").write_text("")
    for folder in (tmp_path / "afile", tmp_path / "afile/below"):
        assert f"{tmp_path}/afile is a file; name a folder" in told(capsys, "init", str(folder))


def test_samples_have_no_problem(capsys: Captured, tmp_path: Path) -> None:
    write_samples(tmp_path)
    assert main(["check", "--root", str(tmp_path)]) == 0
    assert "6 prompts read, no problems" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(capsys: Captured) -> None:
    for command in ("init", "schema"):
        words = told(capsys, command, "/proc/none/x")
        assert words == f"promptkit-rpc {command}: /proc/none: No such file or directory\n"


def test_output_that_cannot_be_written_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is so short that it stays in a buffer until the end."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    write_samples(tmp_path)
    (tmp_path / "prompts/bad.prompt.yaml").write_text("messages: 1\n")
    command, root = [sys.executable, "-m", "promptkit_rpc"], ["--root", str(tmp_path)]
    run = [*command, "run", "hello", "--var", "name=Ada", *root]
    check = [*command, "check", *root]
    schema = [*command, "schema", "--markdown"]
    readable, unread = os.pipe()
    os.close(readable)
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        for asked in (run, check, schema):
            name, *_ = asked[3:]
            for sink in (full, unread):
                done = subprocess.run(
                    asked, cwd=ROOT, stdout=sink, stderr=subprocess.PIPE, text=True, check=False
                )
                assert done.returncode == 1
                assert "Traceback" not in done.stderr
                assert "Exception" not in done.stderr
                told = f"promptkit-rpc {name}: standard output: No space left on device\n"
                assert done.stderr.endswith(told) is (sink == full)
    finally:
        os.close(unread)
        os.close(full)


def test_a_server_in_a_terminal_says_what_it_waits_for() -> None:
    controller, terminal = os.openpty()
    try:
        server = subprocess.Popen(
            [sys.executable, "-m", "promptkit_rpc", "serve"],
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.write(controller, b"\x04")
        _, said = server.communicate(timeout=20)
    finally:
        os.close(controller)
        os.close(terminal)
    assert said == (
        "promptkit-rpc: waits for messages of a program on standard input;"
        " try `promptkit-rpc run` or `--help`\n"
    )
