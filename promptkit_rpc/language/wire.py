"""The language server library's reading and writing, made strict and silent.

Knows no method and no feature.
"""

import logging
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from pygls.protocol import default_converter

MAX_FAULTS = 20
"""How many faults are told of one message."""

Fault = tuple[str, str]
"""Where in a message, and what is wrong there. Values are never quoted."""

_WANTED = {str: "a string", bool: "true or false", int: "an integer"}
_SNAKE = re.compile(r"_([a-z])")


def silence() -> None:
    """Ends the library's logging, which holds whole messages, whatever the level of the others."""
    logger = logging.getLogger("pygls")
    logger.setLevel(logging.CRITICAL + 1)
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


def converter() -> Any:
    """Reads and writes the types of the language server protocol; `true` is not 1 here either."""
    made = default_converter()
    for plain in _WANTED:
        made.register_structure_hook(plain, _strictly)
    return made


class _Mistaken(TypeError):  # noqa: N818 - it says what the value is
    """Its text may be shown; that of any other error may hold what the client sent."""


def _strictly(value: Any, wanted: type) -> Any:
    """A plain value, or the member it stands for of an enumeration that is made of such."""
    plain = next(one for one in _WANTED if issubclass(wanted, one))
    if type(value) is not plain:
        raise _Mistaken(f"must be {_WANTED[plain]}")
    return value if wanted is plain else wanted(value)


def faults_of(error: BaseException | None) -> tuple[Fault, ...]:
    """The faults of a message, from the error that reading it ended with."""
    found = () if error is None else tuple(islice(_faults(error, ""), MAX_FAULTS))
    return found or (("params", "cannot be used"),)


def told(faults: tuple[Fault, ...]) -> str:
    """The faults in one sentence."""
    return "; ".join(f"{path}: {message}" for path, message in faults)


def _faults(error: BaseException, path: str) -> Iterator[Fault]:
    """Every fault below; the library notes at each error the attribute or index it belongs to."""
    for note in getattr(error, "__notes__", ()):
        name, index = getattr(note, "name", None), getattr(note, "index", None)
        if isinstance(name, str):
            wire = _SNAKE.sub(lambda found: found[1].upper(), name)
            path = f"{path}.{wire}" if path else wire
        elif isinstance(index, int):
            path = f"{path}[{index}]"
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _faults(one, path)
    elif isinstance(error, KeyError):
        yield path, "is required"
    else:
        yield path, str(error) if isinstance(error, _Mistaken) else "is not what LSP has there"
