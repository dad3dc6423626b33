"""JSON pointers, RFC 6901."""

from collections.abc import Iterable


def pointer(path: Iterable[str | int]) -> str:
    """The pointer to a place given by names and indexes; the empty text is the whole value."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
