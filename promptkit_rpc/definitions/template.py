"""Placeholder: the sandboxed template engine is written next."""


class Template:
    """A compiled template."""
