"""Values by chance: from a JSON Schema, and what could be made of them to break a reader."""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

Json = Any

DEEP = 450
"""Deeper than any message may be nested."""

HUGE = 200_000
"""Characters of a huge text: more than a pipe or a buffer holds."""

_LONG = "@an integer of five thousand digits@"

ODD: tuple[Json, ...] = (
    None, True, False, 0, 1, -1, 1.5, -0.0, 1e308, 2**53, 2**63, 2**64, -(2**70), "", " ", "\0",
    "\ud800", "a\udfffb", "\u2028", "𝄞", "é", "__proto__", "{{ 7 * 7 }}", "{% raw %}", "../../etc",
    "/etc/passwd", "file:///", "C:\\", "default", "-", "null", "NaN", [], {}, [[]], {"": ""},
    [None], {"$ref": "#"}, {"jsonrpc": "2.0"}, {"type": []}, float("inf"), float("nan"),
)  # fmt: skip
"""Values that have broken something somewhere."""


class Dice:
    """Chance with a seed, so that what was thrown once can be thrown again."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.random = random.Random(seed)  # noqa: S311 - dice, not keys

    def one(self, *choices: Any) -> Any:
        """Any of these."""
        return self.random.choice(choices)

    def often(self, chance: float) -> bool:
        """True with a chance from 0 to 1."""
        return self.random.random() < chance

    def upto(self, most: int) -> int:
        """From 0 to this."""
        return self.random.randint(0, most)

    def text(self) -> str:
        """Some text: mostly short, sometimes huge, of characters of every sort."""
        if self.often(0.01):
            return self.one("x", "é", "𝄞", "{", '"', "\\", "\n") * HUGE
        alphabet = "abc XYZ019_-./\\'\"{}[]%#:,\n\t\r\0éß\u2028𝄞\ufeff"
        return "".join(self.random.choices(alphabet, k=self.upto(20)))

    def value(self, depth: int = 3) -> Json:
        """Any JSON value, and some that are none."""
        kind = self.upto(9)
        if kind < 4 or not depth:
            return self.one(*ODD)
        if kind < 6:
            return self.text()
        if kind == 6:
            return self.random.randint(-(10**25), 10**25)
        if kind == 7:
            return self.one(self.nested(DEEP), _LONG, self.random.random())
        if kind == 8:
            return [self.value(depth - 1) for _ in range(self.upto(4))]
        return {self.text(): self.value(depth - 1) for _ in range(self.upto(4))}

    def nested(self, depth: int) -> Json:
        """Arrays or objects inside each other."""
        value: Json = None
        for _ in range(self.upto(depth)):
            value = [value] if self.often(0.5) else {"a": value}
        return value


class Maker:
    """Makes values of a schema's types. What is named in `known` is mostly taken from there."""

    def __init__(self, dice: Dice, definitions: Mapping[str, Json]) -> None:
        self._dice = dice
        self._definitions = definitions
        self.known: dict[str, Callable[[], Json]] = {}
        self.always: frozenset[str] = frozenset()
        """Members that are never left out."""

    def of(self, name: str) -> Json:
        """A valid value of a type."""
        return self.make(self._definitions[name])

    def make(self, schema: Json, name: str = "") -> Json:  # noqa: PLR0911 - one a keyword
        """A value of a schema; `name` is that of the member it is for."""
        dice = self._dice
        if name in self.known and dice.often(0.9):
            return self.known[name]()
        match schema:
            case {"$ref": str(ref)}:
                return self.of(ref.rpartition("/")[2])
            case {"const": constant}:
                return constant
            case {"enum": words}:
                return dice.one(*words)
            case {"oneOf": choices} | {"anyOf": choices}:
                return self.make(dice.one(*choices), name)
            case {"type": str(kind)}:
                return self._typed(kind, schema)
            case {"type": kinds}:
                return self.make({**schema, "type": dice.one(*kinds)}, name)
            case _:
                return dice.value(1)

    def _typed(self, kind: str, schema: Json) -> Json:  # noqa: PLR0911 - one a type
        dice = self._dice
        match kind:
            case "object" if "properties" in schema:
                required = self.always.union(schema.get("required", ()))
                return {
                    name: self.make(inner, name)
                    for name, inner in schema["properties"].items()
                    if name in required or dice.often(0.3)
                }
            case "object":
                return {dice.text(): dice.value(1) for _ in range(dice.upto(2))}
            case "array":
                return [self.make(schema.get("items", True)) for _ in range(dice.upto(3))]
            case "integer":
                return schema.get("minimum", -5) + dice.upto(20)
            case "number":
                return dice.one(0, 1, 0.5, 2.0, -1)
            case "boolean":
                return dice.often(0.5)
            case "null":
                return None
            case _:
                return dice.text()


def mutated(dice: Dice, value: Json) -> Json:
    """The value with a few things changed somewhere inside."""
    for _ in range(1 + dice.upto(2)):
        value = _changed(dice, value)
    return value


def _changed(dice: Dice, value: Json) -> Json:
    if isinstance(value, dict) and value and dice.often(0.8):
        inner: dict[str, Json] = {**value}
        name = dice.one(*inner)
        match dice.upto(6):
            case 0:
                del inner[name]
            case 1:
                inner[dice.one(dice.text(), name.upper(), f"{name} ", "_meta", "__class__")] = (
                    dice.value()
                )
            case 2:
                inner[name] = dice.value()
            case _:
                inner[name] = _changed(dice, inner[name])
        return inner
    if isinstance(value, list) and value and dice.often(0.8):
        items: list[Json] = [*value]
        if dice.often(0.2):
            return items * dice.upto(50)
        at = dice.upto(len(items) - 1)
        items[at] = _changed(dice, items[at])
        return items
    return dice.value()


def damaged(dice: Dice, data: bytes) -> bytes:
    """The bytes with a few of them changed, lost, or told twice."""
    for _ in range(1 + dice.upto(3)):
        at, length = dice.upto(len(data)), dice.upto(6)
        match dice.upto(3):
            case 0:
                data = data[:at] + data[at + length :]
            case 1:
                data = data[:at] + data[at : at + length] + data[at:]
            case 2:
                data = data[:at] + dice.random.randbytes(length) + data[at + length :]
            case _:
                data = data[:at] + dice.one(*_SCRAPS) + data[at:]
    return data


_SCRAPS = (
    b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\0", b"\xff", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b'"id":1,', b'"jsonrpc":"1.0",', b"NaN", b"-", b"1e999", b"9" * 5000,
    b"\\ud800", b"[" * 500, b"null", b"/*", b"\n", b"\r", b"\t", b"- ", b"? ", b"&a ", b"*a",
    b"|\n", b"!!python/object:os ", b"<<: ", b": ", b"{{", b"}}", b"{%", b"%}", b"#",
    b"---\n", b"...\n",
)  # fmt: skip


def encoded(value: Json) -> bytes:
    """JSON of a value as it is, lone surrogates escaped, NaN and the like as usual."""
    return json.dumps(value).encode().replace(b'"%b"' % _LONG.encode(), b"9" * 5000)
