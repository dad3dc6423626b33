"""A whole prompt rendered: every message in order, and nothing else changed."""

import copy
from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.definitions.catalog import Workspace
from promptkit_rpc.definitions.render import Rendered, render_prompt
from promptkit_rpc.errors import Location, TemplateFailed
from promptkit_rpc.jsontext import Json
from tests.support import workspace as files


@pytest.fixture
def ws(tmp_path: Path) -> files.Workspace:
    return files.Workspace(tmp_path / "ws").scripted()


async def rendered(ws: files.Workspace, **variables: Any) -> Rendered:
    opened = Workspace(ws.root)
    catalog = opened.current("p")
    return await render_prompt(catalog.prompt("p"), variables, opened, catalog.settings)


async def test_every_message_is_rendered_in_order_with_role_and_cache(ws: files.Workspace) -> None:
    """ENG-1, CFG-7: as authored, and nothing moved because of its role."""
    ws.write("a.txt", "A").prompt(
        "p",
        ("user", "{{ q }}\n"),
        {"role": "system", "content": "  {{ inputs.a }}{{ n }} ", "cache": {"type": "ephemeral"}},
        ("assistant", ""),
        ("developer", "{% if q %}yes{% endif %}"),
        inputs={"a": {"file": "a.txt"}},
        variables={"n": {"type": "integer", "default": 2}},
        session="s-{{ q }}",
    )
    assert await rendered(ws, q="Q") == Rendered(
        messages=(
            Message(Role.USER, "Q\n"),
            Message(Role.SYSTEM, "  A2 ", Json.of({"type": "ephemeral"})),
            Message(Role.ASSISTANT, ""),
            Message(Role.DEVELOPER, "yes"),
        ),
        session_id="s-Q",
    )


async def test_without_a_session_template_or_with_an_empty_one_there_is_no_session(
    ws: files.Workspace,
) -> None:
    """CFG-5."""
    ws.prompt("p", "x")
    assert (await rendered(ws)).session_id is None
    ws.prompt("p", "x", session="{{ s }}")
    assert (await rendered(ws, s="")).session_id is None


async def test_a_variable_that_is_not_set_fails_in_the_session_template_too(
    ws: files.Workspace,
) -> None:
    """P-01."""
    ws.prompt("p", "x", session="case-{{ case }}")
    with pytest.raises(TemplateFailed, match=r"1:13: the variable 'case' is not set"):
        await rendered(ws)


@pytest.mark.parametrize("source", ["{{ ''.__class__ }}", "{{ 'a' * 10**9 }}", "{{ x.append(1) }}"])
async def test_the_session_template_is_in_the_sandbox_too(ws: files.Workspace, source: str) -> None:
    """P-03."""
    ws.prompt("p", "x", session=source)
    x = [1]
    with pytest.raises(TemplateFailed):
        await rendered(ws, x=x)
    assert x == [1]


async def test_values_are_checked_before_anything_is_rendered(ws: files.Workspace) -> None:
    ws.prompt("p", "{{ nope }}", variables={"n": {"type": "integer"}})
    with pytest.raises(TemplateFailed) as caught:
        await rendered(ws, n="5")
    assert caught.value.message == (
        "prompts/p.prompt.yaml:1:16: the variable 'n' must be an integer"
    )
    assert caught.value.location == Location("prompts/p.prompt.yaml", 1, 16)
    with pytest.raises(TemplateFailed, match="the variable 'n' is not set; give it an integer"):
        await rendered(ws)


async def test_the_name_of_the_inputs_is_taken(ws: files.Workspace) -> None:
    ws.prompt("p", "x")
    with pytest.raises(TemplateFailed, match="'inputs' stands for the prompt's inputs"):
        await rendered(ws, inputs={})


async def test_variables_stay_as_they_are(ws: files.Workspace) -> None:
    ws.prompt(
        "p",
        "{% set a = 1 %}{{ a }}{{ l|sort }}{{ d }}",
        variables={"extra": {"default": [1]}},
    )
    variables: dict[str, Any] = {"a": "x", "l": [2, 1], "d": {"k": {}}}
    before = copy.deepcopy(variables)
    assert (await rendered(ws, **variables)).messages[0].content == "1[1, 2]{'k': {}}"
    assert variables == before


async def test_any_unicode_key_and_integer_passes_through(ws: files.Workspace) -> None:
    ws.prompt("p", "{{ v['my-key'] }} {{ v.n }} {{ v['']['😀'] }}")
    value = {"my-key": "a", "n": 12345678901234567890123, "": {"😀": "b"}}
    assert (await rendered(ws, v=value)).messages[0].content == "a 12345678901234567890123 b"


async def test_a_rendering_needs_its_files_only_once(ws: files.Workspace) -> None:
    """OWN-2: what was rendered is text, whatever becomes of the files."""
    ws.write("a.txt", "A").write("prompts/i.txt", "I")
    ws.prompt("p", "{{ inputs.a }}{% include 'i.txt' %}", inputs={"a": {"file": "a.txt"}})
    result = await rendered(ws)
    for path in ("a.txt", "prompts/i.txt", "prompts/p.prompt.yaml"):
        (ws.root / path).unlink()
    assert result.messages == (Message(Role.USER, "AI"),)
