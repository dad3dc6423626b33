"""Reads the files that prompts take as inputs. No message names a place outside the workspace."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from posixpath import normpath

from attrs import frozen

from promptkit_rpc.definitions.files import FileRefused, Root, check_file, read_regular
from promptkit_rpc.definitions.prompt import InputDefinition
from promptkit_rpc.errors import InputFailed

MAX_BYTES = 16 * 1024 * 1024
"""Bytes of one input."""

_SHOWN = 200


@frozen
class InputPlace:
    """An input with the path its template gave, relative to the workspace's root."""

    definition: InputDefinition
    path: str


def fault_of(definition: InputDefinition, root: Root, allowed: Sequence[Root]) -> str | None:
    """Why an input cannot be read now, where its path is always the same; nothing is read."""
    path = definition.file.constant
    if path is None:
        return None
    try:
        check_file(_confined(path, root, allowed))
    except FileRefused as error:
        return _words(InputPlace(definition, path), str(error))
    return None


async def read_inputs(
    places: Sequence[InputPlace], root: Root, allowed: Sequence[Root]
) -> dict[str, str]:
    """The texts of inputs by name, read off the event loop. A byte-order mark is left out.

    Raises:
        InputFailed: a file lies outside the allowed folders, or is no readable UTF-8 text.
    """
    return await asyncio.to_thread(_read_all, places, root, allowed)


def _read_all(places: Sequence[InputPlace], root: Root, allowed: Sequence[Root]) -> dict[str, str]:
    return {place.definition.name: _read(place, root, allowed) for place in places}


def _read(place: InputPlace, root: Root, allowed: Sequence[Root]) -> str:
    try:
        data, _ = read_regular(_confined(place.path, root, allowed), MAX_BYTES)
        return data.decode("utf-8-sig")
    except FileRefused as error:
        raise _failed(place, str(error)) from None
    except UnicodeDecodeError as error:
        raise _failed(place, f"is not UTF-8 text, from byte {error.start} on") from None


def _confined(path: str, root: Root, allowed: Sequence[Root]) -> Path:
    if not path:
        raise FileRefused("has an empty path")
    real = root.resolve(normpath(path))
    if not any(real.is_relative_to(folder.folder) for folder in allowed):
        names = ", ".join(_name(folder, root) for folder in allowed) or "no folder"
        raise FileRefused(
            f"lies outside what `inputs` of the settings allows: {names}"
            " (paths are relative to the workspace)"
        )
    return real


def _name(folder: Root, root: Root) -> str:
    name = folder.folder.relative_to(root.folder).as_posix()
    return "the workspace" if name == "." else f"{name}/"


def _failed(place: InputPlace, reason: str) -> InputFailed:
    location = place.definition.location
    return InputFailed(f"{location}: {_words(place, reason)}", location=location)


def _words(place: InputPlace, reason: str) -> str:
    """Shows the path only where it stays below the root by its own words."""
    plain = normpath(place.path) if place.path else ""
    climbs = plain.startswith(("/", "..")) or not plain.isprintable() or "\\" in plain
    shown = f", {plain[:_SHOWN]!r}," if plain and not climbs else ""
    return f"the file of input {place.definition.name!r}{shown} {reason}"
