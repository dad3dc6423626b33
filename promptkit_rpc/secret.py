"""Secrets: a wrapper that shows nothing, and their removal from text that leaves the process."""


class Secret:
    """Holds a credential. Its repr, str, format, pickle and copies never show the value."""

    __slots__ = ("_value", "__weakref__")

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself; call it only where it goes on the wire."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"
