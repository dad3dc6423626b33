"""An immutable picture of what a workspace defines. What is broken fails when it is asked for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NoReturn

from promptkit_rpc.definitions.fields import choices, suggestion
from promptkit_rpc.definitions.folder import SUFFIX
from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.definitions.prompt import PromptDefinition
from promptkit_rpc.definitions.reading import PromptFile, SettingsFile
from promptkit_rpc.definitions.settings import BackendSettings, ProfileSettings, Settings
from promptkit_rpc.errors import (
    BackendNotFound,
    ConfigInvalid,
    Location,
    ProfileNotFound,
    PromptInvalid,
    PromptNotFound,
)

_TOP_LEVEL = 1
_PARTS = 32
_NAMED = 3


class Catalog:
    """Settings and prompts as they were read.

    `odd` holds problems of names and of what is not there, `missing` what to say of ids that were
    looked for in vain.
    """

    def __init__(
        self,
        config: SettingsFile,
        files: Mapping[str, PromptFile],
        odd: tuple[Problem, ...] = (),
        missing: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._config = config
        self._files = files
        self._odd = odd
        self._missing = missing

    def is_of(
        self, config: SettingsFile, files: Mapping[str, PromptFile], odd: tuple[Problem, ...]
    ) -> bool:
        """Whether this is a picture of just these."""
        return self._config is config and self._files is files and self._odd is odd

    @property
    def settings(self) -> Settings:
        """The settings, without the backends and profiles that are broken.

        Raises:
            ConfigInvalid: nothing of the settings file can be used.
        """
        if self._config.settings is None:
            _refuse(self._config.problems)
        return self._config.settings

    def backend(self, name: str) -> BackendSettings:
        """A backend's settings.

        Raises:
            BackendNotFound, ConfigInvalid: there is none; it is broken.
        """
        for backend in self.settings.backends:
            if backend.name == name:
                return backend
        self._refuse_part("backends", name)
        hint = choices(name, [backend.name for backend in self.settings.backends])
        raise BackendNotFound(f"there is no backend {name!r}{hint}")

    def profile(self, name: str) -> ProfileSettings:
        """A profile's settings; that its backend exists is not checked.

        Raises:
            ProfileNotFound, ConfigInvalid: there is none; it is broken.
        """
        for profile in self.settings.profiles:
            if profile.name == name:
                return profile
        self._refuse_part("profiles", name)
        hint = choices(name, [profile.name for profile in self.settings.profiles])
        raise ProfileNotFound(f"there is no profile {name!r}{hint}")

    def prompt(self, prompt_id: str) -> PromptDefinition:
        """A prompt's definition.

        Raises:
            PromptNotFound, PromptInvalid: there is none; its file has problems.
        """
        file = self._files.get(prompt_id)
        if file is None:
            raise PromptNotFound(self._missing.get(prompt_id) or not_found(prompt_id, self._files))
        if file.definition is None:
            first, *more = file.problems
            raise PromptInvalid(_words(first, len(more)), location=first.location)
        return file.definition

    def prompts(self) -> tuple[PromptDefinition, ...]:
        """Every valid prompt that was read, by id."""
        found = (self._files[prompt_id].definition for prompt_id in sorted(self._files))
        return tuple(definition for definition in found if definition is not None)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem of everything that was read: settings first, then prompts by id."""
        return (*self.settings_problems, *self.prompt_problems)

    @property
    def settings_problems(self) -> tuple[Problem, ...]:
        """The problems of the settings file and of what it names."""
        return self._config.problems

    @cached_property
    def prompt_problems(self) -> tuple[Problem, ...]:
        """The problems of prompt files, of their names, and of what they refer to."""
        found = list(self._odd)
        for prompt_id in sorted(self._files):
            file = self._files[prompt_id]
            found += file.problems
            found += self._dangling(file)
        return tuple(found)

    def dangling(self, file: PromptFile) -> tuple[Problem, ...]:
        """The problems of what a prompt's file refers to in the settings."""
        return tuple(self._dangling(file))

    def _dangling(self, file: PromptFile) -> Iterator[Problem]:
        prompt, settings = file.definition, self._config.settings
        if prompt is None or prompt.profile is None or file.profile is None or settings is None:
            return
        broken = {problem.path[:2] for problem in self._config.problems}
        names = [profile.name for profile in settings.profiles]
        if prompt.profile in names or ("profiles", prompt.profile) in broken:
            return
        span = file.profile
        yield Problem(
            location=Location(prompt.location.file, span.line, span.column),
            message=f"there is no profile {prompt.profile!r}{choices(prompt.profile, names)}",
            end_line=span.end_line,
            end_column=span.end_column,
            code="reference",
            path=("profile",),
        )

    def _refuse_part(self, part: str, name: str) -> None:
        """Raises if a name is missing because it is broken, or because the file is, at its top."""
        own = [problem for problem in self._config.problems if problem.path[:2] == (part, name)]
        top = [problem for problem in self._config.problems if len(problem.path) <= _TOP_LEVEL]
        if own or top:
            _refuse(own or top)


def not_found(prompt_id: str, known: Sequence[str] | Mapping[str, object]) -> str:
    """What to say when there is no such prompt, with an id that is like it."""
    return f"there is no prompt {prompt_id!r}{_ids_like(prompt_id, known)}"


def _ids_like(name: str, known: Iterable[str]) -> str:
    """Ids that end as a name does, which may be a file's; else one that is spelled like it."""
    plain = name.removesuffix(SUFFIX)
    parts = plain.split("/")
    ends = ["/".join(parts[start:]) for start in range(min(len(parts), _PARTS))]
    whole = next((end for end in ends if end in known), None)
    found = [one for one in known if one.rpartition("/")[2] == parts[-1]]
    if whole is not None or found:
        likely = [whole] if whole is not None else found[:_NAMED]
        return f"; did you mean {' or '.join(map(repr, likely))}?"
    return suggestion(plain, known)


def _refuse(problems: Sequence[Problem]) -> NoReturn:
    first, *more = problems
    raise ConfigInvalid(_words(first, len(more)), location=first.location)


def _words(first: Problem, more: int) -> str:
    return str(first) if not more else f"{first} (and {more} more)"
