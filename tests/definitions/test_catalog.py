"""The workspace on disk: what is found, what is read again, and what is left alone."""

from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.definitions import catalog as catalogs
from promptkit_rpc.definitions.catalog import (
    Workspace,
    check,
    read_prompt_text,
    read_settings_text,
)
from promptkit_rpc.errors import (
    BackendNotFound,
    ConfigInvalid,
    Location,
    ProfileNotFound,
    PromptInvalid,
    PromptNotFound,
)
from tests.support import workspace as files
from tests.support.definitions import shown


@pytest.fixture
def ws(tmp_path: Path) -> files.Workspace:
    return files.Workspace(tmp_path / "ws").scripted().prompt("a/one", "1", profile="p")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is parsed, as it is parsed: prompt ids, and `settings`."""
    found: list[str] = []
    prompt, settings = catalogs.read_prompt, catalogs.read_settings

    def read_prompt(root: Any, folder: Any, prompt_id: str) -> Any:
        found.append(prompt_id)
        return prompt(root, folder, prompt_id)

    def read_settings(*args: Any) -> Any:
        found.append("settings")
        return settings(*args)

    monkeypatch.setattr(catalogs, "read_prompt", read_prompt)
    monkeypatch.setattr(catalogs, "read_settings", read_settings)
    return found


def test_an_id_is_the_path_below_the_prompts_folder(ws: files.Workspace) -> None:
    ws.prompt("b", "2").prompt("a/deep/three", "3").write("prompts/notes.txt", "x")
    ws.write("prompts/.hidden.prompt.yaml", "x").write("prompts/.git/x.prompt.yaml", "x")
    catalog = Workspace(ws.root).reload()
    assert [prompt.id for prompt in catalog.prompts()] == ["a/deep/three", "a/one", "b"]
    assert catalog.prompt("a/one").location.file == "prompts/a/one.prompt.yaml"
    assert not catalog.problems


def test_the_prompts_folder_can_be_another(ws: files.Workspace) -> None:
    ws.settings(backends={}, profiles={}, prompts="texts/mine").write(
        "texts/mine/x.prompt.yaml", "messages: [{role: user, content: x}]"
    )
    workspace = Workspace(ws.root)
    assert workspace.current("x").prompt("x").location.file == "texts/mine/x.prompt.yaml"
    assert [prompt.id for prompt in workspace.reload().prompts()] == ["x"]


def test_a_workspace_without_settings_has_an_echo(tmp_path: Path) -> None:
    catalog = Workspace(tmp_path).reload()
    assert catalog.profile("default").backend == "scripted"
    assert not catalog.problems
    assert catalog.prompts() == ()
    (tmp_path / "promptkit.yaml").write_text("version: 1")
    with pytest.raises(ProfileNotFound):
        Workspace(tmp_path).current().profile("default")


@pytest.mark.parametrize(
    "prompt_id",
    [
        *("../out", "a/../a/one", "a/../../prompts/a/one", "/a/one", "a//one", "a/one/", "./a/one"),
        *(
            "",
            ".",
            "..",
            "a",
            "a/one\0",
            "a\\one",
            "link",
            "folder/out",
            "n" * 5000,
            "\ud800",
            "A/one",
        ),
        *("a/one.prompt.yaml", "a/one\n", ".hidden"),
    ],
)
def test_an_id_that_leads_nowhere_is_not_found_whether_it_exists_or_not(
    ws: files.Workspace, prompt_id: str
) -> None:
    """SEC-3."""
    outside = files.Workspace(ws.root.parent / "outside").write("out.prompt.yaml", "CANARY")
    ws.write("out.prompt.yaml", "x").write("prompts/.hidden.prompt.yaml", "x")
    (ws.root / "prompts/link.prompt.yaml").symlink_to(outside.root / "out.prompt.yaml")
    (ws.root / "prompts/folder").symlink_to(outside.root)
    for workspace in (Workspace(ws.root), Workspace(ws.root)):
        workspace.reload()
        with pytest.raises(PromptNotFound) as caught:
            workspace.current(prompt_id).prompt(prompt_id)
        assert str(ws.root) not in caught.value.message


def test_a_prompt_that_is_not_there_is_told_with_one_that_is_like_it(ws: files.Workspace) -> None:
    with pytest.raises(PromptNotFound, match=r"no prompt 'a/on'; did you mean 'a/one'\?"):
        Workspace(ws.root).current("a/on").prompt("a/on")


def test_nothing_is_taken_from_the_working_directory(
    ws: files.Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-15."""
    here = files.Workspace(ws.root.parent / "here").prompt("hello", "x")
    here.write("prompts/hello.yaml", "x")
    monkeypatch.chdir(here.root)
    with pytest.raises(PromptNotFound):
        Workspace(ws.root).current("hello").prompt("hello")


def test_links_inside_are_followed_and_those_that_lead_out_are_told(ws: files.Workspace) -> None:
    """SEC-3."""
    outside = files.Workspace(ws.root.parent / "outside").write("x.prompt.yaml", "CANARY")
    (ws.root / "prompts/same").symlink_to("a")
    (ws.root / "prompts/loop").symlink_to("..")
    (ws.root / "prompts/a/up").symlink_to("..")
    (ws.root / "prompts/out").symlink_to(outside.root)
    (ws.root / "prompts/two.prompt.yaml").symlink_to("a/one.prompt.yaml")
    (ws.root / "prompts/gone.prompt.yaml").symlink_to("nowhere")
    catalog = Workspace(ws.root).reload()
    assert [prompt.id for prompt in catalog.prompts()] == ["a/one", "same/one", "two"]
    assert shown(catalog.problems) == [
        "prompts/loop:1:1: leads out of the prompts folder and is not read",
        "prompts/out:1:1: leads out of the prompts folder and is not read",
        "prompts/gone.prompt.yaml:1:1: the file does not exist",
    ]


def test_a_link_that_leads_to_itself_breaks_itself_only(ws: files.Workspace) -> None:
    """SEC-4."""
    for name in ("folder", "round.prompt.yaml"):
        (ws.root / "prompts" / name).symlink_to(name)
    catalog = Workspace(ws.root).reload()
    assert [prompt.id for prompt in catalog.prompts()] == ["a/one"]
    assert shown(catalog.problems) == [
        "prompts/round.prompt.yaml:1:1: the file cannot be read: Too many levels of symbolic links"
    ]


def test_a_prompts_folder_that_leads_out_holds_nothing(tmp_path: Path) -> None:
    """SEC-3."""
    outside = files.Workspace(tmp_path / "outside").write("x.prompt.yaml", "CANARY")
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/prompts").symlink_to(outside.root)
    workspace = Workspace(tmp_path / "ws")
    assert shown(workspace.reload().problems) == [
        "prompts:1:1: the prompts folder lies outside the workspace"
    ]
    with pytest.raises(PromptNotFound):
        workspace.current("x").prompt("x")


def test_ids_that_differ_only_in_spelling_are_told_of_in_both_files(ws: files.Workspace) -> None:
    """P-09: whatever the order they are read in."""
    ws.prompt("A/One", "x").write("prompts/b.prompt.yml", "x")
    assert shown(Workspace(ws.root).reload().problems) == [
        "prompts/b.prompt.yml:1:1: this file is not read; prompts are named *.prompt.yaml",
        "prompts/A/One.prompt.yaml:1:1: the id 'A/One' differs from 'a/one' only in its spelling",
        "prompts/a/one.prompt.yaml:1:1: the id 'a/one' differs from 'A/One' only in its spelling",
    ]


def test_a_name_that_cannot_be_an_id_is_told_of(ws: files.Workspace) -> None:
    ws.write("prompts/a\nb.prompt.yaml", "x").write("prompts/.prompt.yaml", "x")
    assert shown(Workspace(ws.root).reload().problems) == [
        "prompts/a?b.prompt.yaml:1:1: this name cannot be a prompt's id; use printable characters"
    ]


def test_one_prompt_is_read_without_the_others(ws: files.Workspace, reads: list[str]) -> None:
    ws.prompt("b", "2")
    workspace = Workspace(ws.root)
    workspace.current("b").prompt("b")
    assert reads == ["settings", "b"]


def test_what_did_not_change_is_not_read_again(ws: files.Workspace, reads: list[str]) -> None:
    ws.prompt("b", "2")
    workspace = Workspace(ws.root)
    first = workspace.reload()
    reads.clear()
    assert workspace.reload() is first
    assert workspace.current("b") is first
    assert workspace.current() is first
    assert not reads


def test_what_changed_is_read_again_and_a_snapshot_stays(
    ws: files.Workspace, reads: list[str]
) -> None:
    ws.prompt("b", "2")
    workspace = Workspace(ws.root)
    first = workspace.reload()
    ws.prompt("b", "two").prompt("c", "3")
    reads.clear()

    second = workspace.current("b")
    assert reads == ["b"]
    assert second.prompt("b").messages[0].content.source == "two"
    assert workspace.reload().prompt("c")
    assert reads == ["b", "c"]
    (ws.root / "prompts/b.prompt.yaml").unlink()
    with pytest.raises(PromptNotFound):
        workspace.current("b").prompt("b")
    assert [prompt.id for prompt in workspace.reload().prompts()] == ["a/one", "c"]
    assert [prompt.id for prompt in first.prompts()] == ["a/one", "b"]
    assert first.prompt("b").messages[0].content.source == "2"


def test_a_change_of_the_same_length_is_noticed_at_once(ws: files.Workspace) -> None:
    workspace = Workspace(ws.root, clock=lambda: 0.0)
    for number in range(30):
        text = f"{number:02}"
        ws.prompt("b", text)
        assert workspace.current("b").prompt("b").messages[0].content.source == text


def test_a_changed_schema_file_or_script_is_read_again(ws: files.Workspace) -> None:
    ws.write("prompts/s.json", '{"type": "object"}').write("replies.yaml", "- content: one")
    ws.settings(
        backends={"script": {"kind": "scripted", "replies": "replies.yaml"}}, profiles={}
    ).prompt("b", "x", output={"format": "schema", "schemaFile": "s.json"})
    workspace = Workspace(ws.root)
    before = workspace.current("b")
    ws.write("prompts/s.json", '{"type": "array"}').write("replies.yaml", "- content: two")
    after = workspace.current("b")
    assert before.prompt("b").output != after.prompt("b").output
    assert before.backend("script") != after.backend("script")
    (ws.root / "prompts/s.json").unlink()
    with pytest.raises(PromptInvalid, match=r"the file 's\.json' does not exist"):
        workspace.current("b").prompt("b")


def test_settings_that_move_the_prompts_take_effect(ws: files.Workspace) -> None:
    workspace = Workspace(ws.root)
    workspace.reload()
    ws.settings(backends={}, profiles={}, prompts="texts")
    with pytest.raises(PromptNotFound):
        workspace.current("a/one").prompt("a/one")
    assert shown(workspace.reload().problems) == [
        "promptkit.yaml:1:59: the prompts folder 'texts' does not exist"
    ]


def test_a_broken_prompt_breaks_itself_only(ws: files.Workspace) -> None:
    """SEC-4."""
    ws.write("prompts/bad.prompt.yaml", "messages:\n  - role: usr\n    contnt: x\n")
    ws.write("prompts/syntax.prompt.yaml", "a: [").write("prompts/dup.prompt.yaml", "a: 1\na: 2\n")
    catalog = Workspace(ws.root).reload()
    assert [prompt.id for prompt in catalog.prompts()] == ["a/one"]
    with pytest.raises(PromptInvalid) as caught:
        catalog.prompt("bad")
    assert caught.value.location == Location("prompts/bad.prompt.yaml", 2, 11)
    assert caught.value.message == (
        "prompts/bad.prompt.yaml:2:11: 'role' must be one of system, developer, user, assistant; "
        "did you mean 'user'? (and 2 more)"
    )
    for prompt_id in ("syntax", "dup"):
        with pytest.raises(PromptInvalid):
            catalog.prompt(prompt_id)


def test_a_key_given_twice_spoils_a_prompt_that_could_be_used_otherwise(
    ws: files.Workspace,
) -> None:
    """P-09."""
    ws.write("prompts/b.prompt.yaml", "messages: [{role: user, role: user, content: x}]\n")
    with pytest.raises(PromptInvalid, match="1:25: 'role' is there twice"):
        Workspace(ws.root).current("b").prompt("b")


def test_a_prompt_s_own_file_may_not_be_odd(ws: files.Workspace) -> None:
    """SEC-4."""
    (ws.root / "prompts/dir.prompt.yaml").mkdir()
    with pytest.raises(PromptInvalid, match="the file is a folder"):
        Workspace(ws.root).current("dir").prompt("dir")


def test_broken_settings_break_what_needs_them_only(ws: files.Workspace) -> None:
    """SEC-4."""
    ws.write("promptkit.yaml", "backends:\n  b: {kind: [}\n")
    catalog = Workspace(ws.root).reload()
    assert catalog.prompt("a/one")
    for ask in (
        lambda: catalog.settings,
        lambda: catalog.profile("p"),
        lambda: catalog.backend("b"),
    ):
        with pytest.raises(ConfigInvalid, match=r"promptkit\.yaml:2:14: not YAML"):
            ask()
    assert [problem.location.file for problem in catalog.problems] == ["promptkit.yaml"]


def test_a_broken_backend_or_profile_breaks_itself_only(ws: files.Workspace) -> None:
    ws.write(
        "promptkit.yaml",
        "backends:\n  good: {kind: client}\n  bad: {kind: clint}\n"
        "  dup: {kind: client, kind: client}\n"
        "profiles:\n  good: {backend: good, model: m}\n  bad: {backend: good}\n"
        "  lost: {backend: none, model: m}\n",
    )
    catalog = Workspace(ws.root).current()
    assert (catalog.backend("good").name, catalog.profile("good").model) == ("good", "m")
    with pytest.raises(ConfigInvalid, match=r"promptkit\.yaml:3:15: 'kind' must be one of"):
        catalog.backend("bad")
    with pytest.raises(ConfigInvalid, match=r"promptkit\.yaml:4:23: 'kind' is there twice"):
        catalog.backend("dup")
    with pytest.raises(ConfigInvalid, match=r"promptkit\.yaml:7:8: 'model' is missing"):
        catalog.profile("bad")
    assert catalog.profile("lost").backend == "none"
    with pytest.raises(BackendNotFound, match="no backend 'none'"):
        catalog.backend("none")
    with pytest.raises(ProfileNotFound, match=r"no profile 'godo'; did you mean 'good'\?"):
        catalog.profile("godo")


def test_a_wrong_key_at_the_top_is_told_when_something_is_missing(ws: files.Workspace) -> None:
    ws.write("promptkit.yaml", "profile:\n  p: {}\n")
    with pytest.raises(ConfigInvalid, match="'profile' is not a key here; did you mean 'profiles'"):
        Workspace(ws.root).current().profile("p")


def test_a_prompt_that_names_no_profile_of_the_workspace_is_told_of(ws: files.Workspace) -> None:
    ws.write("prompts/b.prompt.yaml", "messages: [{role: user, content: x}]\nprofile: q\n").prompt(
        "c", "x"
    )
    catalog = Workspace(ws.root).reload()
    assert shown(catalog.problems) == [
        "prompts/b.prompt.yaml:2:10: there is no profile 'q'; there are: p"
    ]
    assert catalog.prompt("b").profile == "q"


def test_check_lists_every_problem_settings_first(ws: files.Workspace) -> None:
    ws.write("promptkit.yaml", "version: 1\nbackends: {b: {kind: no}}\n")
    ws.write("prompts/z.prompt.yaml", "").write("prompts/a.prompt.yaml", "x: 1")
    assert [str(problem.location) for problem in check(ws.root)] == [
        "promptkit.yaml:2:22",
        "prompts/a.prompt.yaml:1:1",
        "prompts/a.prompt.yaml:1:1",
        "prompts/a/one.prompt.yaml:1:13",
        "prompts/z.prompt.yaml:1:1",
    ]


def test_settings_lie_inside_the_root(ws: files.Workspace) -> None:
    """SEC-3."""
    ws.root.parent.joinpath("out.yaml").write_text("version: 1")
    (ws.root / "link.yaml").symlink_to(ws.root.parent / "out.yaml")
    for config in ("../out.yaml", "link.yaml"):
        (problem,) = Workspace(ws.root, config).reload().problems
        assert problem.message == "the settings file lies outside the workspace"


def test_an_unsaved_text_is_read_as_if_it_were_the_file(ws: files.Workspace) -> None:
    workspace = Workspace(ws.root)
    path = ws.root / "prompts/a/one.prompt.yaml"
    ws.write("prompts/a/s.json", "{}")
    prompt, problems = read_prompt_text(
        workspace,
        path,
        "messages: [{role: user, content: new}]\nprofile: q\n"
        "output: {format: schema, schemaFile: s.json}\n",
    )
    assert prompt is not None
    assert prompt.id == "a/one"
    assert shown(problems) == [
        "prompts/a/one.prompt.yaml:2:10: there is no profile 'q'; there are: p"
    ]
    assert workspace.current("a/one").prompt("a/one").messages[0].content.source == "1"
    assert read_prompt_text(workspace, ws.root / "prompts/x.txt", "a: [") == (None, ())
    assert read_prompt_text(workspace, Path("/x.prompt.yaml"), "a: [") == (None, ())

    settings, problems = read_settings_text(workspace, "version: 1\nbackends: {b: {kind: client}}")
    assert settings is not None
    assert settings.backends[0].name == "b"
    assert not problems
    assert shown(read_settings_text(workspace, "version: 3")[1])
