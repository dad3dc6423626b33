"""Request bodies in parts: small fields encoded now, messages as they were encoded before. Pure."""

from collections.abc import Iterable
from typing import Any

import msgspec

from promptkit_rpc.backends.unicode import well_formed
from promptkit_rpc.errors import GenerationFailed, Origin, Reason
from promptkit_rpc.generation import CallFailed
from promptkit_rpc.jsontext import Json

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def encoded(value: dict[str, str]) -> bytes:
    """A flat object as JSON in bytes of exact size; the encoder's own result may hold much more."""
    try:
        return bytes(memoryview(msgspec.json.encode(value)))
    except UnicodeEncodeError:
        return msgspec.json.encode({name: well_formed(text) for name, text in value.items()})


def spliced(
    fixed: dict[str, Any], fields: dict[str, Any], extra: Json | None, reserved: frozenset[str]
) -> bytes:
    """The beginning of a body: a JSON object that is not closed yet.

    Fields that are None are left out, and so are those that `extra` has too: it goes as it is.

    Raises:
        CallFailed: `extra` holds a reserved name.
    """
    theirs = b""
    if extra is not None:
        names = _MEMBERS.decode(extra.text)
        if taken := sorted(names.keys() & reserved):
            raise CallFailed(
                GenerationFailed(
                    f"the parameter extra may not hold {', '.join(taken)}: PromptKit sets it",
                    reason=Reason.BAD_REQUEST,
                    origin=Origin.PROMPTKIT,
                    billed=False,
                )
            )
        fields = {name: value for name, value in fields.items() if name not in names}
        theirs = extra.text.strip()[1:-1].strip()
    ours = {name: value for name, value in fields.items() if value is not None}
    head = msgspec.json.encode(fixed | ours)[:-1]
    return b"%b,%b" % (head, theirs) if theirs else head


def listed(head: list[bytes], fragments: Iterable[bytes], tail: list[bytes]) -> list[bytes]:
    """The parts of a body, its non-empty fragments separated by commas; nothing is joined here."""
    told = [fragment for fragment in fragments if fragment]
    between = [b","] * (2 * len(told) - 1)
    between[::2] = told
    return [*head, *between, *tail]
