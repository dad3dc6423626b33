"""Reads definitions in tests, from text and from disk."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from promptkit_rpc.definitions import source
from promptkit_rpc.definitions.beside import Beside
from promptkit_rpc.definitions.files import Root
from promptkit_rpc.definitions.parse import parse_prompt
from promptkit_rpc.definitions.parse_settings import parse_settings
from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.definitions.prompt import PromptDefinition
from promptkit_rpc.definitions.settings import Settings
from promptkit_rpc.definitions.template import Sandbox, Template
from promptkit_rpc.definitions.tree import plain
from promptkit_rpc.errors import Location

PROMPT_FILE = "prompts/p.prompt.yaml"
SETTINGS_FILE = "promptkit.yaml"


def value_of(text: str) -> Any:
    """The plain data of a YAML text without problems."""
    node, problems = source.read_text("f.yaml", text)
    assert not problems, [str(problem) for problem in problems]
    assert node is not None
    return plain(node)


def problems_of(text: str | bytes) -> list[str]:
    """The problems of a YAML text, as `file:line:column: message`."""
    read: Callable[..., source.Result] = (
        source.read_text if isinstance(text, str) else source.read_bytes
    )
    return shown(read("f.yaml", text)[1])


def shown(problems: Sequence[Problem]) -> list[str]:
    """Problems as a person reads them."""
    return [str(problem) for problem in problems]


def prompt_of(text: str, root: Path | None = None) -> tuple[PromptDefinition | None, list[str]]:
    """The prompt a text defines, as if it were `prompts/p.prompt.yaml`, and its problems."""
    node, problems = source.read_text(PROMPT_FILE, text)
    beside = Beside(Root(root or Path("/nonexistent")))
    prompt, more = parse_prompt(
        node, prompt_id="p", file=PROMPT_FILE, beside=beside, sandbox=Sandbox()
    )
    return prompt, shown((*problems, *more))


def good_prompt(text: str, root: Path | None = None) -> PromptDefinition:
    """The prompt of a text without problems."""
    prompt, problems = prompt_of(text, root)
    assert prompt is not None, problems
    assert not problems
    return prompt


def settings_of(text: str, root: Path | None = None) -> tuple[Settings | None, list[str]]:
    """The settings a text gives, as if it were `promptkit.yaml`, and their problems."""
    node, problems = source.read_text(SETTINGS_FILE, text)
    beside = Beside(Root(root or Path("/nonexistent")))
    settings, more = parse_settings(node, file=SETTINGS_FILE, beside=beside)
    return settings, shown((*problems, *more))


def good_settings(text: str, root: Path | None = None) -> Settings:
    """The settings of a text without problems."""
    settings, problems = settings_of(text, root)
    assert settings is not None, problems
    assert not problems
    return settings


def template(text: str, **more: Any) -> Template:
    """A template that stands at line 10 of a prompt file, line by line."""
    return Template(text, Location(PROMPT_FILE, 10, 1), lined=True, **more)
