"""Engines: loaded configurations, of which several can be open."""

from typing import Annotated

from attrs import frozen

from promptkit_rpc.rpc.protocol.base import Doc, Open
from promptkit_rpc.rpc.protocol.message import Location


@frozen(kw_only=True)
class EngineParams(Open):
    """Names an engine."""

    engine_id: Annotated[str | None, Doc("`default` if absent.")] = None


@frozen(kw_only=True)
class EngineOpenParams(Open):
    """Opens another configuration beside the ones that are open."""

    root: Annotated[
        str | None, Doc("A folder, as a path or file URI; relative to the workspace root.")
    ] = None
    config: Annotated[str | None, Doc("The settings file in it; `promptkit.yaml` if absent.")] = (
        None
    )


@frozen(kw_only=True)
class Problem:
    """A fault in a definition file. Only requests that need that file fail."""

    message: Annotated[str, Doc("What is wrong and what to do.")]
    location: Annotated[Location, Doc("Where.")]
    code: Annotated[str | None, Doc("A stable word for this sort of fault.")] = None


@frozen(kw_only=True)
class EngineOpened:
    """A new engine; a broken workspace opens too."""

    engine_id: Annotated[str, Doc("Names it in requests until it is closed.")]
    problems: Annotated[tuple[Problem, ...], Doc("Every fault found in its files.")]


@frozen(kw_only=True)
class EngineReloaded:
    """The configuration as it is now on disk."""

    problems: Annotated[tuple[Problem, ...], Doc("Every fault found in its files.")]
