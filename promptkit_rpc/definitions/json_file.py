"""Reads a JSON file strictly: no key twice, no infinities, and every fault with its place."""

import re
from typing import cast

from promptkit_rpc.definitions.problem import Problem, Problems, Span
from promptkit_rpc.jsontext import Json, JsonError, decode, encode

_MARK = b"\xef\xbb\xbf"
_TOKENS = rb'(?s)(?P<string>"(?:[^"\\]++|\\.)*+")(?P<colon>[ \t\r\n]*+:)?|(?P<open>{)|(?P<close>})'


def read_json(file: str, data: bytes) -> tuple[Json | None, tuple[Problem, ...]]:
    """The value of a file, or the first thing that is wrong with it.

    A byte-order mark may stand before it. Places are by line and column, in characters from 1.
    """
    text = data.removeprefix(_MARK)
    try:
        text.decode()
        value = decode(text)
        twice = _twice(text) if _may_lose_keys(text, encode(value)) else None
        return (Json.of(value), ()) if twice is None else (None, (_problem(file, text, *twice),))
    except UnicodeDecodeError as error:
        return None, (_problem(file, text, error.start, "the file is not UTF-8"),)
    except JsonError as error:
        reason = error.reason
        message = reason if reason.startswith("nested") else f"not JSON: {reason}"
        return None, (_problem(file, text, error.offset or 0, message),)


def _may_lose_keys(text: bytes, kept: bytes) -> bool:
    # A key that is lost takes its colon along; colons in strings stay, but for escaped ones.
    return text.count(b":") != kept.count(b":") or b"\\u003" in text


def _twice(text: bytes) -> tuple[int, str] | None:
    """The first key that stands twice in its object: where it does so, and the message for it."""
    objects: list[dict[str, int]] = []
    for token in re.finditer(_TOKENS, text):
        if token["open"]:
            objects.append({})
        elif token["close"]:
            objects.pop()
        elif token["colon"]:
            key = cast("str", decode(token["string"]))
            first = objects[-1].setdefault(key, token.start())
            if first != token.start():
                line, _ = _place(text, first)
                return token.start(), f"{key!r} is there twice; it was given first on line {line}"
    return None


def _place(text: bytes, offset: int) -> tuple[int, int]:
    before = text[:offset].decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _problem(file: str, text: bytes, offset: int, message: str) -> Problem:
    line, column = _place(text, offset)
    problems = Problems(file)
    problems.add(Span(line, column, line, column + 1), message, code="syntax")
    return problems.found[0]
