"""What each request does, one file a noun; a file is loaded with the first request for its noun."""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

HANDLERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "promptkit/run": ("run", "run"),
        "promptkit/prepare": ("prepared", "prepare"),
        "promptkit/coordinate": ("coordinate", "coordinate"),
        "promptkit/prepared/details": ("prepared", "details"),
        "promptkit/prepared/execute": ("prepared", "execute"),
        "promptkit/prepared/discard": ("prepared", "discard"),
        "promptkit/exchange/details": ("exchange", "details"),
        "promptkit/exchange/release": ("exchange", "release"),
        "promptkit/group/create": ("group", "create"),
        "promptkit/group/snapshot": ("group", "snapshot"),
        "promptkit/group/release": ("group", "release"),
        "promptkit/engine/open": ("engine", "open_"),
        "promptkit/engine/close": ("engine", "close"),
        "promptkit/engine/reload": ("engine", "reload"),
        "promptkit/prompt/list": ("resource", "list_prompts"),
        "promptkit/prompt/inspect": ("resource", "inspect_prompt"),
        "promptkit/profile/list": ("resource", "list_profiles"),
        "promptkit/profile/inspect": ("resource", "inspect_profile"),
        "promptkit/backend/list": ("resource", "list_backends"),
        "promptkit/backend/inspect": ("resource", "inspect_backend"),
        "promptkit/session/status": ("status", "status"),
    }
)
"""By method: the file here and the function in it."""


def handler_of(method: str) -> Callable[..., Any]:
    """`(state, params, call)` to the result, or an awaitable of it."""
    noun, verb = HANDLERS[method]
    return getattr(import_module(f"{__name__}.{noun}"), verb)


def params_of(handler: Callable[..., Any]) -> Any:
    """The wire type of the params that a handler takes."""
    _, params, *_ = handler.__annotations__.values()
    return params
