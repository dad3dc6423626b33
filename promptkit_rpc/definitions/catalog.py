"""The workspace on disk: read again when it changed, and only what changed.

Safe to use from several threads: what is kept is replaced whole, and never changed.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from promptkit_rpc.definitions.files import NO_TEXTS, Clock, FileRefused, Root, Texts, is_folder
from promptkit_rpc.definitions.folder import SUFFIX, PromptsFolder
from promptkit_rpc.definitions.problem import Problem, Span
from promptkit_rpc.definitions.prompt import PromptDefinition
from promptkit_rpc.definitions.reading import (
    PromptFile,
    SettingsFile,
    no_folder,
    prompt_of_text,
    read_prompt,
    read_settings,
    settings_of_text,
    unchanged,
)
from promptkit_rpc.definitions.references import unmet_by_prompt, unmet_by_settings
from promptkit_rpc.definitions.settings import Settings
from promptkit_rpc.definitions.snapshot import Catalog, not_found
from promptkit_rpc.errors import Location

__all__ = ["Catalog", "Workspace", "check", "read_prompt_text", "read_settings_text"]


class Workspace:
    """A folder with a settings file and prompts.

    Args:
        root: the folder; everything a definition names must lie inside it.
        config: the settings file, relative to the root.
        clock: seconds since the epoch; without it files are read at every check, not just looked
            at, since a change may leave a fresh file's time stamp as it was.
        texts: what is read instead of files; it may change at any time.
    """

    def __init__(
        self,
        root: Path,
        config: str = "promptkit.yaml",
        clock: Clock | None = None,
        texts: Texts = NO_TEXTS,
    ) -> None:
        self._root = Root(root, texts)
        self._config_name = config
        self._clock = clock
        self._config: SettingsFile | None = None
        self._folder: PromptsFolder | None = None
        self._files: Mapping[str, PromptFile] = MappingProxyType({})
        self._odd: tuple[Problem, ...] = ()
        self._catalog: Catalog | None = None

    @property
    def root(self) -> Path:
        """The workspace's folder, its links followed."""
        return self._root.folder

    def current(self, prompt_id: str | None = None) -> Catalog:
        """The settings, and one prompt, as they are on disk now; other prompts as last read.

        A few `stat` calls when nothing changed. Prompts that nobody asked for are not in it; for
        all of them see `reload`.
        """
        config, folder = self._settings()
        if prompt_id is None:
            return self._snapshot(config, self._files)
        file = self._prompt(folder, prompt_id)
        if file is None:
            files = {one: file for one, file in self._files.items() if one != prompt_id}
            missing = {prompt_id: self._not_found(prompt_id, folder)}
            return Catalog(config, MappingProxyType(files), self._odd, MappingProxyType(missing))
        files = self._files
        if files.get(prompt_id) is not file:
            files = MappingProxyType({**files, prompt_id: file})
        return self._snapshot(config, files)

    def reload(self) -> Catalog:
        """Everything as it is on disk now; reads what changed since it was last read."""
        config, folder = self._settings()
        ids, odd = folder.scan()
        files: dict[str, PromptFile] = {}
        for prompt_id in ids:
            file = self._kept(prompt_id)
            files[prompt_id] = file or read_prompt(self._root, folder, prompt_id)
        odd = (*odd, *self._unmet(config, folder, files))
        if odd != self._odd:
            self._odd = odd
        same = files.keys() == self._files.keys() and all(
            self._files[one] is file for one, file in files.items()
        )
        return self._snapshot(config, self._files if same else MappingProxyType(files))

    def prompt_id_of(self, path: Path) -> str | None:
        """The id of the prompt that a file would define; None for any other file."""
        _, folder = self._settings()
        try:
            name = path.resolve().relative_to(self._root.folder / folder.name).as_posix()
        except (OSError, ValueError):
            return None
        return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else None

    def input_roots(self, settings: Settings) -> tuple[Root, ...]:
        """The folders that inputs may be read from, those that exist inside the workspace."""
        found: list[Root] = []
        for name in settings.inputs:
            try:
                found.append(self._root.folder_below(name))
            except FileRefused:
                continue
        return tuple(found)

    @property
    def files(self) -> Root:
        """The root that confines what is read."""
        return self._root

    def text_of_prompt(self, prompt_id: str, text: str) -> PromptFile:
        """What a prompt would be if its file held this text."""
        _, folder = self._settings()
        return prompt_of_text(self._root, folder, prompt_id, text)

    def text_of_settings(self, text: str) -> SettingsFile:
        """What the settings would be if their file held this text."""
        return settings_of_text(self._root, self._config_name, text)

    def _settings(self) -> tuple[SettingsFile, PromptsFolder]:
        config = self._config
        if config is None or not unchanged(config.seen, self._clock):
            config = self._config = read_settings(self._root, self._config_name)
        name = (config.settings or Settings()).prompts
        folder = self._folder
        if folder is None or folder.name != name:
            folder = self._folder = PromptsFolder(self._root, name, self._clock)
            self._files = MappingProxyType({})
            self._odd = ()
        return config, folder

    def _not_found(self, prompt_id: str, folder: PromptsFolder) -> str:
        if not is_folder(self._root.folder):
            return f"there is no prompt {prompt_id!r}: {no_folder(self._root.folder)}"
        return not_found(prompt_id, folder.scan()[0])

    def _kept(self, prompt_id: str) -> PromptFile | None:
        file = self._files.get(prompt_id)
        return file if file is not None and unchanged(file.seen, self._clock) else None

    def _prompt(self, folder: PromptsFolder, prompt_id: str) -> PromptFile | None:
        kept = self._kept(prompt_id)
        if kept is not None:
            return kept
        if not folder.holds(prompt_id):
            return None
        return read_prompt(self._root, folder, prompt_id)

    def _snapshot(self, config: SettingsFile, files: Mapping[str, PromptFile]) -> Catalog:
        catalog = self._catalog
        if catalog is None or not catalog.is_of(config, files, self._odd):
            self._files = files
            catalog = self._catalog = Catalog(config, files, self._odd)
        return catalog

    def unmet(self, prompt: PromptDefinition | None) -> tuple[Problem, ...]:
        """What a prompt refers to by constant names that is not there now."""
        settings = self._settings()[0].settings
        if prompt is None:
            return ()
        allowed = () if settings is None else self.input_roots(settings)
        return unmet_by_prompt(prompt, settings, self._root, allowed)

    def _unmet(
        self, config: SettingsFile, folder: PromptsFolder, files: Mapping[str, PromptFile]
    ) -> Iterator[Problem]:
        if folder.name != Settings().prompts:
            yield from self._folder_problem(config, folder)
        yield from unmet_by_settings(config, self._config_name, self._root, files)
        allowed = () if config.settings is None else self.input_roots(config.settings)
        for file in files.values():
            if file.definition is not None:
                yield from unmet_by_prompt(file.definition, config.settings, self._root, allowed)

    def _folder_problem(self, config: SettingsFile, folder: PromptsFolder) -> Iterator[Problem]:
        if is_folder(self._root.folder / folder.name):
            return
        span = config.prompts or Span(1, 1, 1, 2)
        yield Problem(
            location=Location(self._config_name, span.line, span.column),
            message=f"the prompts folder {folder.name!r} does not exist",
            end_line=span.end_line,
            end_column=span.end_column,
            code="file",
            path=("prompts",),
        )


def check(root: Path, config: str = "promptkit.yaml") -> list[Problem]:
    """Every problem of a workspace."""
    return list(Workspace(root, config).reload().problems)


def read_prompt_text(
    workspace: Workspace, path: Path, text: str
) -> tuple[PromptDefinition | None, tuple[Problem, ...]]:
    """What a prompt file would define if it held this text, and the problems of that.

    None without problems where the path is no prompt's.
    """
    prompt_id = workspace.prompt_id_of(path)
    if prompt_id is None:
        return None, ()
    file = workspace.text_of_prompt(prompt_id, text)
    catalog = workspace.current()
    unmet = workspace.unmet(file.definition)
    return file.definition, (*file.problems, *catalog.dangling(file), *unmet)


def read_settings_text(
    workspace: Workspace, text: str
) -> tuple[Settings | None, tuple[Problem, ...]]:
    """What the settings would be if their file held this text, and the problems of that."""
    file = workspace.text_of_settings(text)
    return file.settings, file.problems
