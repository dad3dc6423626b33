"""Turns the tree of `promptkit.yaml` into settings; a broken backend or profile breaks itself only.

Without a file there is one backend `scripted`, which echoes, and one profile `default` on it.
"""

import posixpath

from attrs import evolve

from promptkit_rpc.definitions.beside import Beside
from promptkit_rpc.definitions.endpoints import parse_backend
from promptkit_rpc.definitions.fields import FREE, Fields, choices
from promptkit_rpc.definitions.problem import Problem, Problems, Span
from promptkit_rpc.definitions.settings import (
    BackendKind,
    BackendSettings,
    ProfileSettings,
    Settings,
)
from promptkit_rpc.definitions.tree import Entry, MapNode, Node, ScalarNode
from promptkit_rpc.errors import Location
from promptkit_rpc.generation import Parameters

VERSION = 1
_EMPTY = "the file is empty; write `version: 1`, or delete it"

Parsed = tuple[Settings | None, tuple[Problem, ...]]


def default_settings(file: str) -> Settings:
    """What a workspace without `promptkit.yaml` has, so that a fresh install runs."""
    nowhere = Location(file)
    return Settings(
        backends=(
            BackendSettings(
                name="scripted",
                kind=BackendKind.SCRIPTED,
                location=nowhere,
                description="Echoes the last user message, without a network",
            ),
        ),
        profiles=(
            ProfileSettings(name="default", location=nowhere, backend="scripted", model="echo"),
        ),
    )


def parse_settings(node: Node | None, *, file: str, beside: Beside) -> Parsed:
    """The settings, without the backends and profiles that are broken.

    None where nothing of the file can be trusted: its version or its folders are wrong, or it is
    no mapping. A problem's `path` starts with `backends`, `profiles` or another top-level key.
    """
    problems = Problems(file)
    if node is None:
        problems.add(Span(1, 1, 1, 2), _EMPTY, code="empty")
        return None, problems.all()
    fields = Fields.of(node, problems, (), "the settings")
    if fields is None:
        return None, problems.all()
    base = _base(fields)
    trusted = not problems.count
    backends = _backends(fields, beside)
    profiles = _profiles(fields)
    fields.finish()
    settings = evolve(base, backends=backends, profiles=profiles)
    _check_references(fields)
    return settings if trusted else None, problems.all()


def _base(fields: Fields) -> Settings:
    if fields.has("version"):
        version = fields.integer("version")
        if version is not None and version != VERSION:
            message = f"this is version {version}; only version {VERSION} can be read"
            fields.wrong("version", message)
    prompts = fields.text("prompts")
    if prompts is not None:
        prompts = _folder(fields, "prompts", prompts)
    folders = fields.texts("inputs")
    default = Settings()
    inputs = default.inputs
    if folders is not None:
        inputs = tuple(_folder(fields, "inputs", folder) for folder in folders)
    return Settings(prompts=prompts or default.prompts, inputs=inputs)


def _folder(fields: Fields, key: str, name: str) -> str:
    """A folder below the root, its name made plain."""
    plain = posixpath.normpath(name)
    climbs = plain.startswith(("/", "../")) or plain == ".."
    if climbs or "\\" in name or "\0" in name:
        message = f"{key!r} must name folders below the workspace's root, with slashes"
        fields.wrong(key, message, code="folder")
    return plain


def _backends(fields: Fields, beside: Beside) -> tuple[BackendSettings, ...]:
    found: list[BackendSettings] = []
    problems = fields.problems
    for entry in fields.named("backends", free=True):
        before = problems.count
        backend = parse_backend(entry, problems, ("backends", entry.key), beside)
        if backend is not None and problems.count == before:
            found.append(backend)
    return tuple(found)


def _profiles(fields: Fields) -> tuple[ProfileSettings, ...]:
    found: list[ProfileSettings] = []
    for entry in fields.named("profiles", free=True):
        before = fields.problems.count
        profile = _profile(entry, fields.problems)
        if profile is not None and fields.problems.count == before:
            found.append(profile)
    return tuple(found)


def _profile(entry: Entry, problems: Problems) -> ProfileSettings | None:
    path = ("profiles", entry.key)
    fields = Fields.of(entry.value, problems, path, f"the profile {entry.key!r}")
    if fields is None:
        return None
    fields.need("backend")
    fields.need("model")
    profile = ProfileSettings(
        name=entry.key,
        location=Location(problems.file, entry.key_span.line, entry.key_span.column),
        description=fields.text("description", blank=True),
        backend=fields.text("backend") or "",
        model=fields.text("model") or "",
        parameters=_parameters(fields),
    )
    fields.finish()
    return profile


def _parameters(fields: Fields) -> Parameters:
    parameters = fields.fields("parameters")
    if parameters is None:
        return Parameters()
    found = Parameters(
        temperature=parameters.number("temperature", least=0),
        max_tokens=parameters.integer("maxTokens", least=1),
        top_p=parameters.number("topP", least=0, most=1),
        stop=parameters.texts("stop"),
        seed=parameters.integer("seed"),
        extra=parameters.json("extra", mapping=True),
    )
    parameters.finish()
    return found


def _check_references(fields: Fields) -> None:
    """Reports profiles that name a backend the file does not have."""
    named = [entry.key for entry in _entries(fields.node, "backends")]
    profiles = {
        entry.key: entry.value
        for entry in _entries(fields.node, "profiles")
        if not FREE.fullmatch(entry.key)
    }
    for name, profile in profiles.items():
        node = profile.get("backend") if isinstance(profile, MapNode) else None
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            continue
        if node.value.strip() and node.value not in named:
            message = f"there is no backend {node.value!r}{choices(node.value, named)}"
            path = ("profiles", name, "backend")
            fields.problems.add(node.span, message, code="reference", path=path)


def _entries(node: MapNode, key: str) -> tuple[Entry, ...]:
    found = node.get(key)
    return found.entries if isinstance(found, MapNode) else ()
