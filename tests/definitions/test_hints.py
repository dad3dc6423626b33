"""What is asked for under a wrong name: what there is instead."""

from pathlib import Path

import pytest

from promptkit_rpc.definitions.catalog import Workspace
from promptkit_rpc.errors import ConfigInvalid, ProfileNotFound, PromptNotFound
from tests.support import workspace as files
from tests.support.definitions import shown


@pytest.fixture
def ws(tmp_path: Path) -> files.Workspace:
    return files.Workspace(tmp_path / "ws").scripted().prompt("a/one", "1", profile="p")


def test_a_settings_file_of_another_name_must_be_there(ws: files.Workspace) -> None:
    """The usual one may be missing."""
    workspace = Workspace(ws.root, "nope.yaml")
    assert shown(workspace.reload().problems) == [
        "nope.yaml:1:1: the settings file does not exist",
    ]
    with pytest.raises(ConfigInvalid):
        workspace.current("a/one").profile("p")
    ws.write("nope.yaml", (ws.root / "promptkit.yaml").read_text())
    assert workspace.current("a/one").profile("p").name == "p"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("one", "; did you mean 'a/one'?"),
        ("one.prompt.yaml", "; did you mean 'a/one'?"),
        ("./prompts/a/one.prompt.yaml", "; did you mean 'a/one'?"),
        ("b/one", "; did you mean 'a/one'?"),
        ("a/oen", "; did you mean 'a/one'?"),
        ("two", "; did you mean 'a/two' or 'b/two'?"),
        ("zebra", ""),
    ],
)
def test_an_id_is_suggested_for_what_people_call_a_prompt(
    ws: files.Workspace, name: str, hint: str
) -> None:
    ws.prompt("a/two", "2").prompt("b/two", "2")
    with pytest.raises(PromptNotFound) as caught:
        Workspace(ws.root).current(name).prompt(name)
    assert caught.value.message == f"there is no prompt {name!r}{hint}"


def test_a_long_list_of_names_is_cut(ws: files.Workspace) -> None:
    names = [f"p{number}" for number in range(12)]
    profile = {"backend": "script", "model": "m"}
    ws.settings(backends={"script": {"kind": "scripted"}}, profiles=dict.fromkeys(names, profile))
    with pytest.raises(ProfileNotFound) as caught:
        Workspace(ws.root).current().profile("zebra")
    assert caught.value.message.endswith("; there are: " + ", ".join(names[:10]) + " and 2 more")


def test_a_root_that_does_not_exist_is_a_problem(tmp_path: Path) -> None:
    catalog = Workspace(tmp_path / "none").reload()
    assert shown(catalog.problems) == [
        f"promptkit.yaml:1:1: the workspace's folder {str(tmp_path / 'none')!r} does not exist"
    ]
    with pytest.raises(ConfigInvalid):
        catalog.profile("default")
