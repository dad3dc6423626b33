"""What templates may include: files below the prompts folder, as they are now."""

import os
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.definitions.catalog import Workspace
from promptkit_rpc.definitions.render import render_prompt
from promptkit_rpc.definitions.sandbox.engine import MAX_CODE
from promptkit_rpc.definitions.template import render
from promptkit_rpc.errors import Location, TemplateFailed
from tests.support import workspace as files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "ws"


async def text_of(root: Path, **variables: Any) -> str:
    opened = Workspace(root)
    catalog = opened.current("p")
    rendered = await render_prompt(catalog.prompt("p"), variables, opened, catalog.settings)
    return rendered.messages[0].content


async def failure_of(root: Path, **variables: Any) -> TemplateFailed:
    with pytest.raises(TemplateFailed) as caught:
        await text_of(root, **variables)
    return caught.value


async def test_a_file_below_the_prompts_folder_is_included_with_the_variables(root: Path) -> None:
    ws = files.Workspace(root).scripted().write("prompts/parts/rules.txt", "Be {{ how }}.\r\n")
    ws.prompt("p", "A {% include 'parts/rules.txt' %}B")
    assert await text_of(root, how="kind") == "A Be kind.\r\nB"


async def test_an_included_file_keeps_its_line_ends(root: Path) -> None:
    """P-13: as an input does, and the lines of a fault are counted all the same."""
    ws = files.Workspace(root).scripted().write("prompts/a.txt", b"1\r\n2\r3\n{{ 'x\ry' }}\r\n")
    ws.prompt("p", "{% include 'a.txt' %}")
    assert await text_of(root) == "1\r\n2\r3\nx\ry\r\n"
    ws.write("prompts/a.txt", b"1\r\n2\r\n{{ nothing }}")
    assert (await failure_of(root)).location == Location("prompts/a.txt", 3)


async def test_an_included_file_holds_no_more_code_than_a_template(root: Path) -> None:
    """P-03: compiling it is bounded too, and the fault names the file."""
    ws = files.Workspace(root).scripted()
    ws.write("prompts/a.txt", "{{ 1 }}" * (MAX_CODE // 7 + 1))
    for how in ("{% include 'a.txt' %}", "{% extends 'a.txt' %}", "{% import 'a.txt' as a %}"):
        ws.prompt("p", how)
        failure = await failure_of(root)
        assert f"{MAX_CODE} characters of code" in failure.message
        assert failure.location == Location("prompts/a.txt", 1)


async def test_macros_are_imported_and_layouts_extended(root: Path) -> None:
    ws = files.Workspace(root).scripted()
    ws.write("prompts/macros.txt", "{% macro m(x) %}[{{ x }}]{% endmacro %}")
    ws.write("prompts/layout.txt", "<{% block body %}{% endblock %}>")
    ws.prompt(
        "p",
        "{% extends 'layout.txt' %}{% import 'macros.txt' as ms %}{% from 'macros.txt' import m %}"
        "{% block body %}{% from 'macros.txt' import m %}{{ m(a) }}{{ super() }}{% endblock %}",
    )
    assert await text_of(root, a=1) == "<[1]>"


async def test_a_changed_file_is_included_as_it_is_now(root: Path) -> None:
    ws = files.Workspace(root).scripted().write("prompts/a.txt", "one")
    ws.prompt("p", "{% include 'a.txt' %}")
    opened = Workspace(root)
    texts: list[str] = []
    for text in ("one", "two"):
        ws.write("prompts/a.txt", text)
        catalog = opened.current("p")
        rendered = await render_prompt(catalog.prompt("p"), {}, opened, catalog.settings)
        texts.append(rendered.messages[0].content)
    assert texts == ["one", "two"]


@pytest.mark.parametrize(
    "name",
    [
        "../outside.txt",
        "parts/../../outside.txt",
        "/etc/passwd",
        "link.txt",
        "folder/inner.txt",
        "..\\outside.txt",
        "a\\b",
        "pipe",
        "parts",
        "none.txt",
        "latin.txt",
        "",
        "a\0b",
    ],
)
async def test_what_lies_outside_or_is_no_text_cannot_be_included(root: Path, name: str) -> None:
    """SEC-3."""
    ws = files.Workspace(root).scripted().write("prompts/parts/x", "x")
    ws.write("prompts/latin.txt", b"\xe9").write("outside.txt", "CANARY").write(
        "dir/inner.txt", "CANARY"
    )
    (root / "prompts/link.txt").symlink_to(root / "outside.txt")
    (root / "prompts/folder").symlink_to(root / "dir")
    os.mkfifo(root / "prompts/pipe")
    ws.prompt("p", "{% include name %}")

    error = await failure_of(root, name=name)
    assert "CANARY" not in error.message
    assert str(root) not in error.message
    assert "/etc" not in error.message
    assert error.location is not None
    assert error.location.file == "prompts/p.prompt.yaml"


async def test_a_missing_file_may_be_ignored_and_one_outside_is_like_missing(root: Path) -> None:
    ws = files.Workspace(root).scripted().write("outside.txt", "CANARY").write("prompts/b", "b")
    ws.prompt("p", "{% include '../outside.txt' ignore missing %}{% include ['a', 'b'] %}")
    assert await text_of(root) == "b"


async def test_nothing_is_taken_from_the_working_directory(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-15."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/a.txt").write_text("CANARY")
    (tmp_path / "a.txt").write_text("CANARY")
    files.Workspace(root).scripted().prompt("p", "{% include 'a.txt' %}")
    error = await failure_of(root)
    assert "the file to include, 'a.txt', does not exist" in error.message


async def test_a_fault_in_an_included_file_tells_its_own_place(root: Path) -> None:
    ws = files.Workspace(root).scripted().write("prompts/a.txt", "one\n{{ nope }}")
    ws.write("prompts/b.txt", "\n\n{% for %}").prompt("p", "{% include name %}")
    error = await failure_of(root, name="a.txt")
    assert error.location == Location("prompts/a.txt", 2)
    assert "'nope' is not set" in error.message
    error = await failure_of(root, name="b.txt")
    assert error.location == Location("prompts/b.txt", 3)


@pytest.mark.parametrize(
    ("a", "words"),
    [
        ("{% include 'a.txt' %}", "nested too deep"),
        ("{% for i in range(99999) %}{% include 'b.txt' %}{% endfor %}", "more than 2000000 steps"),
        ("{% set x = 'a' * 10**7 %}{{ x }}{{ x }}", "more than 16777216 characters"),
    ],
)
async def test_limits_hold_across_files(root: Path, a: str, words: str) -> None:
    """P-03."""
    loop = "{% for i in range(99999) %}{% endfor %}"
    ws = files.Workspace(root).scripted().write("prompts/a.txt", a).write("prompts/b.txt", loop)
    ws.prompt("p", "{% include 'a.txt' %}")
    assert words in (await failure_of(root)).message


async def test_scripted_replies_include_nothing(root: Path) -> None:
    ws = files.Workspace(root).scripted({"content": "{% include 'a.txt' %}"})
    ws.write("prompts/a.txt", "x")
    replies = Workspace(root).current().backend("script").replies
    assert replies is not None
    assert replies[0].content is not None
    with pytest.raises(TemplateFailed, match="nothing can be included here"):
        await render(replies[0].content, {})
