"""What definitions refer to that is not there, so that runs would fail. Nothing is rendered.

Looked at anew each time: what is missing may come without a change of the file that names it.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from promptkit_rpc.definitions.fields import suggestion
from promptkit_rpc.definitions.files import FileRefused, Root, is_folder
from promptkit_rpc.definitions.inputs import fault_of
from promptkit_rpc.definitions.problem import MAX_PROBLEMS, Problem
from promptkit_rpc.definitions.prompt import PromptDefinition
from promptkit_rpc.definitions.reading import SettingsFile
from promptkit_rpc.definitions.settings import Settings
from promptkit_rpc.definitions.template import Template
from promptkit_rpc.definitions.variables import RESERVED
from promptkit_rpc.errors import Location

_CODE = "reference"


def unmet_by_settings(
    file: SettingsFile, config: str, root: Root, prompt_ids: Collection[str]
) -> tuple[Problem, ...]:
    """Input folders that are not there, and replies to prompts that are not."""
    if file.settings is None:
        return ()
    found = [*_folders(file, config, root), *_replies(file.settings, prompt_ids)]
    return tuple(found[:MAX_PROBLEMS])


def _folders(file: SettingsFile, config: str, root: Root) -> Iterator[Problem]:
    names = () if file.settings is None else file.settings.inputs
    for name, span in zip(names, file.inputs, strict=False):
        try:
            fault = None if is_folder(root.resolve(name)) else "does not exist"
        except FileRefused as refused:
            fault = str(refused)
        if fault is not None:
            yield Problem(
                location=Location(config, span.line, span.column),
                message=f"the folder {name!r} {fault}; `inputs` names folders of the workspace",
                end_line=span.end_line,
                end_column=span.end_column,
                code="file",
                path=("inputs",),
            )


def _replies(settings: Settings, prompt_ids: Collection[str]) -> Iterator[Problem]:
    for backend in settings.backends:
        for reply in backend.replies or ():
            wanted = None if reply.match is None else reply.match.prompt_id
            if wanted is not None and wanted not in prompt_ids:
                message = f"this reply is never given: there is no prompt {wanted!r}"
                message += suggestion(wanted, prompt_ids)
                yield Problem(location=reply.location, message=message, code=_CODE)


def unmet_by_prompt(
    prompt: PromptDefinition, settings: Settings | None, root: Root, allowed: tuple[Root, ...]
) -> tuple[Problem, ...]:
    """Input files, included files and inputs that a prompt names by constant names, in vain.

    Without usable settings nothing is known of input files.
    """
    found = [] if settings is None else _files(prompt, root, allowed)
    return tuple(islice((*found, *_in_templates(prompt)), MAX_PROBLEMS))


def _files(prompt: PromptDefinition, root: Root, allowed: tuple[Root, ...]) -> list[Problem]:
    faults = ((one, fault_of(one, root, allowed)) for one in prompt.inputs)
    return [
        Problem(location=one.location, message=fault, code="file", path=(RESERVED, one.name))
        for one, fault in faults
        if fault is not None
    ]


def _in_templates(prompt: PromptDefinition) -> Iterator[Problem]:
    declared = [one.name for one in prompt.inputs]
    templates = [message.content for message in prompt.messages]
    if prompt.session is not None:
        templates.append(prompt.session)
    for template in templates:
        yield from _undeclared(template, declared)
        yield from _not_included(template)


def _undeclared(template: Template, declared: Iterable[str]) -> Iterator[Problem]:
    for name, location in template.members():
        if name not in declared:
            hint = suggestion(name, declared) or f"; declare it under `{RESERVED}`"
            message = f"there is no input {name!r} in this prompt{hint}"
            yield Problem(location=location, message=message, code=_CODE)


def _not_included(template: Template) -> Iterator[Problem]:
    for name, location in template.includes():
        fault = template.include_fault(name)
        if fault is not None:
            yield Problem(location=location, message=fault, code="file")
