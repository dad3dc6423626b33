"""A workspace as its editor has it."""

from pathlib import Path

import pytest
from lsprotocol import types

from promptkit_rpc.language.workspace import OpenText, OpenWorkspace, Report, local_path
from tests.support.workspace import Workspace, echoing

ASK = "prompts/ask.prompt.yaml"
GOOD = "messages: [{role: user, content: hi}]\n"
BAD = "messages: [{role: user, content: hi, tone: warm}]\n"


def opened(workspace: Workspace, file: str, text: str, version: int = 1) -> OpenText:
    path = workspace.root / file
    return OpenText(uri=path.as_uri(), path=path.resolve(), version=version, text=text)


def check(workspace: OpenWorkspace, *texts: OpenText) -> dict[str, Report]:
    """The reports by the last part of their URIs."""
    return {report.uri.rpartition("/")[2]: report for report in workspace.check(texts)}


def messages(report: Report) -> list[str]:
    return [one.message for one in report.diagnostics]


@pytest.fixture
def disk(tmp_path: Path) -> Workspace:
    return echoing(tmp_path)


def test_a_sound_workspace_is_reported_by_its_settings_alone(disk: Workspace) -> None:
    (report,) = OpenWorkspace(disk.root, None).check(())
    assert report == Report((disk.root / "promptkit.yaml").as_uri(), None, ())


def test_a_problem_on_disk_is_reported_without_a_version(disk: Workspace) -> None:
    disk.write(ASK, BAD)
    report = check(OpenWorkspace(disk.root, None))["ask.prompt.yaml"]
    assert report.version is None
    assert "tone" in report.diagnostics[0].message


def test_an_open_text_is_read_instead_of_its_file(disk: Workspace) -> None:
    """What is on disk plays no part while the document is open, good or bad."""
    workspace = OpenWorkspace(disk.root, None)
    shown = check(workspace, opened(disk, ASK, BAD, version=7))["ask.prompt.yaml"]
    assert (shown.version, len(shown.diagnostics)) == (7, 1)

    disk.write(ASK, BAD)
    shown = check(workspace, opened(disk, ASK, GOOD, version=8))["ask.prompt.yaml"]
    assert (shown.version, shown.diagnostics) == (8, ())

    assert check(workspace)["ask.prompt.yaml"].diagnostics, "closed, the file counts again"


def test_open_settings_decide_what_prompts_refer_to(disk: Workspace) -> None:
    """The editor's texts are checked against each other."""
    disk.prompt("other", "hi", profile="new")
    workspace = OpenWorkspace(disk.root, None)
    assert "no profile 'new'" in messages(check(workspace)["other.prompt.yaml"])[0]

    text = (disk.root / "promptkit.yaml").read_text(encoding="utf-8").replace('"p"', '"new"')
    reports = check(workspace, opened(disk, "promptkit.yaml", text))
    assert "other.prompt.yaml" not in reports
    assert "no profile 'p'" in messages(reports["ask.prompt.yaml"])[0]


def test_an_open_schema_is_read_instead_of_its_file(disk: Workspace) -> None:
    output = {"format": "schema", "schemaFile": "answer.json"}
    disk.prompt("ask", "hi", profile="p", output=output).write("prompts/answer.json", "{}")
    workspace = OpenWorkspace(disk.root, None)
    assert "answer.json" not in check(workspace)

    shown = check(workspace, opened(disk, "prompts/answer.json", '{"type": }', version=3))
    assert shown["answer.json"].version == 3
    assert shown["answer.json"].diagnostics[0].range.start == types.Position(0, 9)


def test_open_replies_are_read_instead_of_their_file(disk: Workspace) -> None:
    disk.settings(
        backends={"script": {"kind": "scripted", "replies": "replies.yaml"}},
        profiles={"p": {"backend": "script", "model": "m"}},
    ).write("replies.yaml", "- content: hello\n")
    workspace = OpenWorkspace(disk.root, None)
    assert "replies.yaml" not in check(workspace)

    shown = check(workspace, opened(disk, "replies.yaml", "- content: hello\n  mood: good\n"))
    assert shown["replies.yaml"].diagnostics[0].range.start == types.Position(1, 2)


def test_a_prompt_that_was_never_saved_is_checked(disk: Workspace) -> None:
    shown = check(OpenWorkspace(disk.root, None), opened(disk, "prompts/new.prompt.yaml", BAD))
    assert "tone" in messages(shown["new.prompt.yaml"])[0]


def test_a_workspace_without_settings_is_sound_and_its_unsaved_settings_are_checked(
    tmp_path: Path,
) -> None:
    disk = Workspace(tmp_path)
    workspace = OpenWorkspace(disk.root, None)
    assert check(workspace)["promptkit.yaml"].diagnostics == ()

    shown = check(workspace, opened(disk, "promptkit.yaml", "backend: {}\n"))
    assert "backend" in messages(shown["promptkit.yaml"])[0]


def test_a_document_that_is_no_definition_is_not_reported(disk: Workspace) -> None:
    workspace = OpenWorkspace(disk.root, None)
    shown = check(
        workspace,
        opened(disk, "notes.yaml", "a: [", version=1),
        opened(disk, "elsewhere/x.prompt.yaml", BAD, version=1),
    )
    assert shown["x.prompt.yaml"].diagnostics == (), "it defines nothing"
    assert shown.keys() == {"promptkit.yaml", "x.prompt.yaml"}


def test_another_settings_file_is_reported_under_its_name(disk: Workspace) -> None:
    disk.write("other.yaml", "version: 2\n")
    shown = check(OpenWorkspace(disk.root, "other.yaml"))
    assert "version 2" in messages(shown["other.yaml"])[0]


def test_a_document_opened_through_a_link_is_reported_as_the_editor_names_it(
    disk: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("links") / "here"
    link.symlink_to(disk.root)
    uri = (link / ASK).as_uri()
    path = local_path(uri)
    assert path is not None

    reports = OpenWorkspace(disk.root, None).check(
        [OpenText(uri=uri, path=path, version=1, text=BAD)]
    )
    assert [report.uri for report in reports if report.diagnostics] == [uri]


def test_a_root_behind_a_link_is_named_by_the_link(
    disk: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An editor knows its files by the names it opened them under."""
    disk.write(ASK, BAD)
    link = tmp_path_factory.mktemp("links") / "here"
    link.symlink_to(disk.root)

    reports = OpenWorkspace(link, None).check(())
    assert [r.uri for r in reports if r.diagnostics] == [(link / ASK).as_uri()]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_columns_of_a_file_on_disk_are_right_whatever_its_encoding(
    disk: Workspace, encoding: str
) -> None:
    text = 'messages:\n  - {role: user, content: "😀😀", tone: warm}\n'
    disk.write(ASK, text.encode(encoding))
    (shown,) = check(OpenWorkspace(disk.root, None))["ask.prompt.yaml"].diagnostics
    line = text.splitlines()[1]
    assert shown.range.start == types.Position(1, line.index("tone") + 2)
    assert shown.range.end.character - shown.range.start.character == len("tone")


@pytest.mark.parametrize(
    "uri", ["untitled:Untitled-1", "file://[/x", "file:", "http://h/x", "%", ""]
)
def test_a_uri_that_names_no_local_file_has_no_path(uri: str) -> None:
    """SEC-4."""
    assert local_path(uri) is None


def test_an_editor_may_escape_more_than_it_must(tmp_path: Path) -> None:
    file = tmp_path / "ä b.yaml"
    usual = file.as_uri()
    assert local_path(usual) == file
    assert local_path(usual.replace(".yaml", "%2Eyaml")) == file


def test_a_uri_with_nul_harms_nobody(disk: Workspace) -> None:
    """SEC-4."""
    uri = "file:///a%00b.prompt.yaml"
    path = local_path(uri)
    texts = [] if path is None else [OpenText(uri=uri, path=path, version=1, text=BAD)]
    OpenWorkspace(disk.root, None).check(texts)
