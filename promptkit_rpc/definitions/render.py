"""Renders a whole prompt: variables checked, inputs read, every message in its order."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from promptkit_rpc.conversation.message import Message
from promptkit_rpc.definitions.catalog import Workspace
from promptkit_rpc.definitions.inputs import InputPlace, read_inputs
from promptkit_rpc.definitions.prompt import PromptDefinition
from promptkit_rpc.definitions.settings import Settings
from promptkit_rpc.definitions.template import render_all
from promptkit_rpc.definitions.variables import RESERVED, with_defaults
from promptkit_rpc.errors import TemplateFailed


@frozen
class Rendered:
    """The messages of a prompt, and its session id if it has a template that gives one."""

    messages: tuple[Message, ...]
    session_id: str | None


async def render_prompt(
    prompt: PromptDefinition, variables: Mapping[str, Any], workspace: Workspace, settings: Settings
) -> Rendered:
    """The prompt over the given variables, which are data and are not changed.

    Variables that are not declared are accepted; declared ones without a default are needed, and
    their values must fit. An empty session id is none.

    Raises:
        TemplateFailed: a variable is missing or does not fit, or a template fails.
        InputFailed: an input cannot be read.
    """
    filled = _variables(prompt, variables)
    filled[RESERVED] = await _inputs(prompt, filled, workspace, settings)
    templates = [message.content for message in prompt.messages]
    if prompt.session is not None:
        templates.append(prompt.session)
    texts = await render_all(templates, filled)
    messages = tuple(
        Message(template.role, text, template.cache)
        for template, text in zip(prompt.messages, texts, strict=False)
    )
    session_id = texts[-1] if prompt.session is not None else None
    return Rendered(messages, session_id or None)


def _variables(prompt: PromptDefinition, given: Mapping[str, Any]) -> dict[str, Any]:
    filled, fault = with_defaults(prompt.variables, given)
    if RESERVED in given:
        words = f"the variable {RESERVED!r} stands for the prompt's inputs; take another name"
        fault = words, prompt.location
    if fault is not None:
        words, location = fault
        raise TemplateFailed(f"{location}: {words}", location=location)
    return filled


async def _inputs(
    prompt: PromptDefinition, variables: Mapping[str, Any], workspace: Workspace, settings: Settings
) -> dict[str, str]:
    if not prompt.inputs:
        return {}
    paths = await render_all([one.file for one in prompt.inputs], variables)
    places = [InputPlace(one, path) for one, path in zip(prompt.inputs, paths, strict=True)]
    return await read_inputs(places, workspace.files, workspace.input_roots(settings))
