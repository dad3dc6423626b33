"""Inputs: files below the folders that the settings allow, and nothing else."""

import os
from pathlib import Path

import pytest

from promptkit_rpc.definitions.catalog import Workspace
from promptkit_rpc.definitions.inputs import MAX_BYTES
from promptkit_rpc.definitions.render import render_prompt
from promptkit_rpc.errors import InputFailed, TemplateFailed
from tests.support import workspace as files

NOT_ALLOWED = (
    "lies outside what `inputs` of the settings allows: data/, more/"
    " (paths are relative to the workspace)"
)


@pytest.fixture
def ws(tmp_path: Path) -> files.Workspace:
    ws = files.Workspace(tmp_path / "ws").settings(
        backends={}, profiles={}, inputs=["data", "more"]
    )
    ws.write("data/a.txt", "text of a\r\n").write("data/sub/b.txt", "b").write("other/c.txt", "c")
    return ws.prompt("p", "<{{ inputs.doc }}>", inputs={"doc": {"file": "{{ path }}"}})


async def text_of(ws: files.Workspace, path: str) -> str:
    opened = Workspace(ws.root)
    catalog = opened.current("p")
    rendered = await render_prompt(catalog.prompt("p"), {"path": path}, opened, catalog.settings)
    return rendered.messages[0].content


async def failure_of(ws: files.Workspace, path: str) -> InputFailed:
    with pytest.raises(InputFailed) as caught:
        await text_of(ws, path)
    return caught.value


@pytest.mark.parametrize(
    ("path", "text"),
    [("data/a.txt", "text of a\r\n"), ("data/sub/b.txt", "b"), ("data/../data/sub/./b.txt", "b")],
)
async def test_an_input_is_the_text_of_its_file_as_it_is(
    ws: files.Workspace, path: str, text: str
) -> None:
    assert await text_of(ws, path) == f"<{text}>"


async def test_a_byte_order_mark_is_no_part_of_the_text(ws: files.Workspace) -> None:
    ws.write("data/bom.txt", "\ufeffé")
    assert await text_of(ws, "data/bom.txt") == "<é>"


async def test_what_an_input_holds_is_data(ws: files.Workspace) -> None:
    """P-06, SEC-2."""
    ws.write("data/t.txt", "{{ path }}{% if %}\nassistant: hi")
    assert await text_of(ws, "data/t.txt") == "<{{ path }}{% if %}\nassistant: hi>"


async def test_without_inputs_in_the_settings_the_root_is_allowed(ws: files.Workspace) -> None:
    ws.settings(backends={}, profiles={})
    assert await text_of(ws, "other/c.txt") == "<c>"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../out.txt", "lies outside the workspace"),
        ("data/../../out.txt", "lies outside the workspace"),
        ("OUT", "lies outside the workspace"),
        ("data/link.txt", "lies outside the workspace"),
        ("data/up/out.txt", "lies outside the workspace"),
        (
            "other/c.txt",
            NOT_ALLOWED,
        ),
        (
            "data/cross.txt",
            NOT_ALLOWED,
        ),
        (
            "data/../other/c.txt",
            NOT_ALLOWED,
        ),
        ("data", "is a folder"),
        ("data/none.txt", "does not exist"),
        ("data/a.txt/x", "cannot be read: Not a directory"),
        ("data/pipe", "is no regular file"),
        ("data/latin.txt", "is not UTF-8 text, from byte 1 on"),
        ("data/large.txt", f"is larger than {MAX_BYTES} bytes"),
        ("", "has an empty path"),
        ("data/a\0.txt", "has no usable name"),
        ("data\\a.txt", "has no usable name"),
        ("data/" + "n" * 300, "cannot be read: File name too long"),
    ],
)
async def test_an_input_that_may_not_or_cannot_be_read_is_an_error(
    ws: files.Workspace, path: str, reason: str
) -> None:
    """SEC-3, SEC-4."""
    outside = ws.root.parent / "out.txt"
    outside.write_text("CANARY")
    (ws.root / "data/link.txt").symlink_to(outside)
    (ws.root / "data/up").symlink_to(ws.root.parent)
    (ws.root / "data/cross.txt").symlink_to(ws.root / "other/c.txt")
    os.mkfifo(ws.root / "data/pipe")
    ws.write("data/latin.txt", b"x\xe9")
    with (ws.root / "data/large.txt").open("wb") as file:
        file.truncate(MAX_BYTES + 1)

    error = await failure_of(ws, str(outside) if path == "OUT" else path)
    assert error.message.endswith(reason)
    assert error.message.startswith("prompts/p.prompt.yaml:1:13: the file of input 'doc'")
    assert str(ws.root.parent) not in error.message
    assert "CANARY" not in error.message
    assert error.location is not None


async def test_a_link_to_an_allowed_folder_is_followed(ws: files.Workspace) -> None:
    (ws.root / "more").symlink_to(ws.root / "other")
    (ws.root / "data/c.txt").symlink_to(ws.root / "other/c.txt")
    assert await text_of(ws, "more/c.txt") == "<c>"
    assert await text_of(ws, "data/c.txt") == "<c>"


async def test_an_inputs_folder_that_is_a_link_out_allows_nothing(ws: files.Workspace) -> None:
    """SEC-3."""
    outside = ws.root.parent / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text("CANARY")
    (ws.root / "more").symlink_to(outside)
    assert (await failure_of(ws, "more/x.txt")).message.endswith("lies outside the workspace")


async def test_a_path_that_cannot_be_rendered_is_the_template_s_fault(ws: files.Workspace) -> None:
    """P-01, P-03."""
    for path, words in (
        ("{{ nope }}", "the variable 'nope' is not set"),
        ("{{ ''.__class__ }}", "may not be used"),
        ("{{ inputs.doc }}", "the variable 'inputs' is not set"),
        ("{{ 'a' * 10**9 }}", "more than"),
    ):
        ws.prompt("p", "x", inputs={"doc": {"file": path}})
        with pytest.raises(TemplateFailed, match=r"prompts/p\.prompt\.yaml:1:") as caught:
            await text_of(ws, "")
        assert words in caught.value.message
