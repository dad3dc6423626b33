"""Reads the files that prompts take as inputs. No message names a place outside the workspace."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from posixpath import normpath

from attrs import frozen

from promptkit_rpc.definitions.files import FileRefused, Root, read_regular
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
        raise FileRefused("lies outside the folders that `inputs` of the settings allows")
    return real


def _failed(place: InputPlace, reason: str) -> InputFailed:
    """Shows the path only where it stays below the root by its own words."""
    location = place.definition.location
    plain = normpath(place.path) if place.path else ""
    climbs = plain.startswith(("/", "..")) or not plain.isprintable() or "\\" in plain
    shown = f", {plain[:_SHOWN]!r}," if plain and not climbs else ""
    message = f"{location}: the file of input {place.definition.name!r}{shown} {reason}"
    return InputFailed(message, location=location)
