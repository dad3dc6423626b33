"""Makes the backend a definition asks for; each kind is loaded when the first one is used."""

# Imports stand inside: a workspace of one kind must not pay for loading the others.
# ruff: noqa: PLC0415

from pathlib import Path
from typing import assert_never

from promptkit_rpc.backends.hiding import Hiding
from promptkit_rpc.definitions.settings import BackendKind, BackendSettings
from promptkit_rpc.generation import Backend
from promptkit_rpc.services import Services


def load_kind(kind: BackendKind) -> None:
    """Imports all that the first call of a backend of this kind would."""
    match kind:
        case BackendKind.OPENAI | BackendKind.ANTHROPIC:
            from promptkit_rpc.backends import anthropic, openai
            from promptkit_rpc.backends.http import endpoint

            del anthropic, openai, endpoint
        case BackendKind.SCRIPTED:
            from promptkit_rpc.backends import scripted

            del scripted
        case BackendKind.CLIENT:
            from promptkit_rpc.backends import client

            del client
        case _:
            assert_never(kind)


def make_backend(settings: BackendSettings, root: Path, services: Services) -> Backend:
    """A backend ready for its first call; nothing is connected yet. `root` is the workspace."""
    match settings.kind:
        case BackendKind.OPENAI:
            from promptkit_rpc.backends.openai import OpenAIBackend

            return OpenAIBackend(settings, root, services)
        case BackendKind.ANTHROPIC:
            from promptkit_rpc.backends.anthropic import AnthropicBackend

            return AnthropicBackend(settings, root, services)
        case BackendKind.SCRIPTED:
            from promptkit_rpc.backends.scripted import ScriptedBackend

            return Hiding(ScriptedBackend(settings, services))
        case BackendKind.CLIENT:
            from promptkit_rpc.backends.client import ClientBackend

            return Hiding(ClientBackend(settings, services))
        case _:
            assert_never(settings.kind)
