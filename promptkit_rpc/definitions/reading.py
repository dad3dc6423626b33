"""Reads one definition file, from disk or from an editor's text, with all that it names."""

import posixpath
from pathlib import Path

from attrs import evolve, field, frozen

from promptkit_rpc.definitions.beside import MAX_BYTES, Beside
from promptkit_rpc.definitions.files import Clock, FileRefused, Root, Seen, is_folder, is_missing
from promptkit_rpc.definitions.folder import PromptsFolder
from promptkit_rpc.definitions.parse import parse_prompt
from promptkit_rpc.definitions.parse_settings import default_settings, parse_settings
from promptkit_rpc.definitions.problem import Problem, Problems, Span
from promptkit_rpc.definitions.prompt import PromptDefinition
from promptkit_rpc.definitions.settings import Settings
from promptkit_rpc.definitions.source import Result, read_bytes, read_text
from promptkit_rpc.definitions.tree import ListNode, MapNode, Node

USUAL_CONFIG = "promptkit.yaml"
"""The settings file that may be absent; one of any other name was asked for."""


@frozen(kw_only=True)
class SettingsFile:
    """What `promptkit.yaml` says; None where nothing of it can be trusted.

    `inputs` and `prompts` are where it names those folders.
    """

    settings: Settings | None
    problems: tuple[Problem, ...] = ()
    inputs: tuple[Span, ...] = ()
    prompts: Span | None = None
    seen: tuple[Seen, ...] = field(default=(), eq=False, repr=False)


@frozen(kw_only=True)
class PromptFile:
    """What a prompt file says; None where it has any problem. `profile` is where it names one."""

    definition: PromptDefinition | None
    problems: tuple[Problem, ...] = ()
    profile: Span | None = None
    seen: tuple[Seen, ...] = field(default=(), eq=False, repr=False)


def read_settings(root: Root, config: str) -> SettingsFile:
    """The settings file as it is on disk; without the usual one, those of a fresh install."""
    beside = Beside(root)
    try:
        data = beside.read_below(config)
    except FileRefused as error:
        missing = is_missing(root.folder / config)
        there = is_folder(root.folder)
        if missing and there and posixpath.normpath(config) == USUAL_CONFIG:
            return SettingsFile(settings=default_settings(config), seen=tuple(beside.seen))
        problem = _at_start(
            config, f"the settings file {error}" if there else no_folder(root.folder)
        )
        return SettingsFile(settings=None, problems=(problem,), seen=tuple(beside.seen))
    return _settings(read_bytes(config, data), config, beside)


def settings_of_text(root: Root, config: str, text: str) -> SettingsFile:
    """The settings that a text says, read as if it stood in the settings file."""
    return _settings(read_text(config, text), config, Beside(root))


def _settings(result: Result, config: str, beside: Beside) -> SettingsFile:
    node, problems = result
    if node is None and problems:
        return SettingsFile(settings=None, problems=problems, seen=tuple(beside.seen))
    settings, more = parse_settings(node, file=config, beside=beside)
    placed = tuple(evolve(problem, path=_part_at(node, problem)) for problem in problems)
    if settings is not None:
        settings = _without(settings, placed)
    inputs = node.get("inputs") if isinstance(node, MapNode) else None
    prompts = node.get("prompts") if isinstance(node, MapNode) else None
    return SettingsFile(
        settings=settings,
        problems=(*placed, *more),
        inputs=tuple(one.span for one in inputs.items) if isinstance(inputs, ListNode) else (),
        prompts=None if prompts is None else prompts.span,
        seen=tuple(beside.seen),
    )


def _part_at(node: Node | None, problem: Problem) -> tuple[str, ...]:
    """The backend or profile that a problem of the text lies in, or nothing."""
    place = (problem.location.line or 0, problem.location.column or 0)
    for part in ("backends", "profiles"):
        found = node.get(part) if isinstance(node, MapNode) else None
        for entry in found.entries if isinstance(found, MapNode) else ():
            start, end = entry.key_span, entry.value.span
            if (start.line, start.column) <= place < (end.end_line, end.end_column):
                return part, entry.key
    return ()


def _without(settings: Settings, problems: tuple[Problem, ...]) -> Settings | None:
    """The settings less the parts that have problems; None when one has no part of its own."""
    broken = {problem.path for problem in problems}
    if () in broken:
        return None
    return evolve(
        settings,
        backends=tuple(b for b in settings.backends if ("backends", b.name) not in broken),
        profiles=tuple(p for p in settings.profiles if ("profiles", p.name) not in broken),
    )


def read_prompt(root: Root, folder: PromptsFolder, prompt_id: str) -> PromptFile:
    """A prompt file as it is on disk; that the id has one is known."""
    beside = Beside(root)
    file = folder.file(prompt_id)
    try:
        data = beside.read_below(file)
    except FileRefused as error:
        problem = _at_start(file, f"the file {error}")
        return PromptFile(definition=None, problems=(problem,), seen=tuple(beside.seen))
    return _prompt(read_bytes(file, data), prompt_id, folder, beside)


def prompt_of_text(root: Root, folder: PromptsFolder, prompt_id: str, text: str) -> PromptFile:
    """The prompt that a text says, read as if it stood in the id's file."""
    result = read_text(folder.file(prompt_id), text)
    return _prompt(result, prompt_id, folder, Beside(root))


def _prompt(result: Result, prompt_id: str, folder: PromptsFolder, beside: Beside) -> PromptFile:
    node, problems = result
    definition: PromptDefinition | None = None
    found = problems
    profile = node.get("profile") if isinstance(node, MapNode) else None
    if node is not None or not problems:
        definition, more = parse_prompt(
            node,
            prompt_id=prompt_id,
            file=folder.file(prompt_id),
            beside=beside,
            sandbox=folder.sandbox,
        )
        found = (*problems, *more)
    return PromptFile(
        definition=None if problems else definition,
        problems=found,
        profile=None if profile is None else profile.span,
        seen=tuple(beside.seen),
    )


def unchanged(seen: tuple[Seen, ...], clock: Clock | None) -> bool:
    """Whether every file a definition was read from is as it was."""
    return all(one.unchanged(clock, MAX_BYTES) for one in seen)


def no_folder(folder: Path) -> str:
    """What is wrong where there is no workspace."""
    return f"the workspace's folder {str(folder)!r} does not exist"


def _at_start(file: str, message: str) -> Problem:
    problems = Problems(file)
    problems.add(Span(1, 1, 1, 2), message, code="file")
    return problems.found[0]
