"""The kinds of backend, each loaded when the first of its kind is used."""

from promptkit_rpc.generation import Backend

__all__ = ["Backend"]
