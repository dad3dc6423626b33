"""The façade: one loaded workspace, and what a call to it does, step by step.

Knows nothing of the wire; holds no conversation.
"""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from attrs import evolve, frozen

from promptkit_rpc.backends.credentials import resolve
from promptkit_rpc.backends.factory import load_kind, make_backend
from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.definitions.catalog import Catalog, Workspace
from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.definitions.prompt import PromptDefinition
from promptkit_rpc.definitions.settings import BackendSettings, ProfileSettings
from promptkit_rpc.errors import ConfigInvalid, EngineNotFound
from promptkit_rpc.execution.admission import Admission
from promptkit_rpc.execution.execute import execute
from promptkit_rpc.execution.observe import Observer
from promptkit_rpc.execution.prepare import Plan, Prepared, Resolved, choose_profile, prepare
from promptkit_rpc.execution.provider import Provider
from promptkit_rpc.execution.request import RunRequest, RunResult, StreamSink
from promptkit_rpc.secret import Secret
from promptkit_rpc.services import Services

if TYPE_CHECKING:
    from promptkit_rpc.coordination.actions import NextAction, Outcome


@frozen(kw_only=True)
class BackendLoad:
    """A backend's admission at one moment; None is unlimited."""

    name: str
    capacity: int | None
    leases: int
    waiting: int
    permits: int | None
    generating: int


class Engine:
    """One loaded configuration. Several can be open; exchanges belong to none of them."""

    def __init__(self, workspace: Workspace, services: Services) -> None:
        self._workspace = workspace
        self._services = services
        self._providers: dict[str, Provider] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    @classmethod
    def open(cls, root: Path, config: str = "promptkit.yaml", *, services: Services) -> Self:
        """Opens a workspace; a broken one opens too, and only what needs the broken part fails."""
        return cls(Workspace(root, config, services.time), services)

    @property
    def root(self) -> Path:
        """The workspace's folder."""
        return self._workspace.root

    async def run(self, request: RunRequest, signal: CancelSignal) -> RunResult:
        """Prepares and executes one request."""
        # A close in between takes no run away that was accepted before.
        return await self._execute((await self.prepare(request, signal)).claim(), signal)

    async def prepare(self, request: RunRequest, signal: CancelSignal) -> Prepared:
        """Resolves and renders; sends nothing. What it raises is listed at `execution.prepare`."""
        self.check_open()
        catalog = self._workspace.current(request.prompt_id)
        prompt = catalog.prompt(request.prompt_id)
        profile = catalog.profile(choose_profile(request, prompt, catalog))
        provider = self._provider(catalog.backend(profile.backend))
        found = Resolved(catalog=catalog, prompt=prompt, profile=profile, provider=provider)
        with signal.scope():
            return Prepared(await prepare(request, found, self._workspace))

    async def execute(
        self,
        prepared: Prepared,
        signal: CancelSignal,
        *,
        observers: tuple[Observer, ...] = (),
        stream: StreamSink | None = None,
    ) -> RunResult:
        """Executes a prepared run, once; observers and stream are added to the request's own.

        Raises:
            PreparedClaimed: it was executed or discarded before; no event is emitted.
        """
        self.check_open()
        plan = prepared.claim()
        if observers or stream is not None:
            plan = evolve(
                plan, observers=(*plan.observers, *observers), stream=stream or plan.stream
            )
        return await self._execute(plan, signal)

    async def _execute(self, plan: Plan, signal: CancelSignal) -> RunResult:
        try:
            return await execute(plan, self._services, signal, self._credential)
        finally:
            self._close_idle(plan.provider)

    async def coordinate(
        self,
        start: Exchange,
        next_action: "NextAction",
        *,
        additional_turns: int,
        signal: CancelSignal,
        observers: tuple[Observer, ...] = (),
    ) -> "Outcome":
        """Drives one branch with this engine; see `coordination.driver.coordinate`."""
        from promptkit_rpc.coordination.driver import coordinate  # noqa: PLC0415 - few coordinate

        return await coordinate(
            start,
            next_action,
            additional_turns=additional_turns,
            run=self.run,
            signal=signal,
            observers=observers,
        )

    def problems(self) -> tuple[Problem, ...]:
        """Every problem of the workspace, with its place."""
        return self._workspace.reload().problems

    async def reload(self) -> tuple[Problem, ...]:
        """Reads again what changed on disk, and answers the problems there are now.

        Files are read in a thread, so that a large workspace delays nobody.
        """
        self.check_open()
        catalog = await asyncio.to_thread(self._workspace.reload)
        self.check_open()
        with suppress(ConfigInvalid):  # then its problems say so, and what is in use stays
            for settings in catalog.settings.backends:
                if settings.name in self._providers:
                    self._provider(settings)
        return catalog.problems

    def prompts(self) -> tuple[PromptDefinition, ...]:
        """Every valid prompt, by id."""
        return self._catalog().prompts()

    def profiles(self) -> tuple[ProfileSettings, ...]:
        """Every profile, as written."""
        return self._workspace.current().settings.profiles

    def backends(self) -> tuple[BackendSettings, ...]:
        """Every backend, as written."""
        return self._workspace.current().settings.backends

    def inspect_prompt(self, prompt_id: str) -> PromptDefinition:
        """One prompt's definition; nothing is rendered."""
        return self._workspace.current(prompt_id).prompt(prompt_id)

    def inspect_profile(self, name: str) -> ProfileSettings:
        """One profile's definition."""
        return self._workspace.current().profile(name)

    def inspect_backend(self, name: str) -> BackendSettings:
        """One backend's definition; a credential shows only where it would come from."""
        return self._workspace.current().backend(name)

    def load(self) -> tuple[BackendLoad, ...]:
        """The admission of every backend used so far."""
        return tuple(_load(provider) for provider in self._providers.values())

    async def close(self) -> None:
        """Takes no new runs; runs in flight finish, and the last one closes its connections."""
        self._closed = True
        for provider in self._providers.values():
            provider.retire()
            self._close_idle(provider)
        if self._closing:
            await asyncio.wait(self._closing)

    def check_open(self) -> None:
        """Raises EngineNotFound once the engine is closed."""
        if self._closed:
            raise EngineNotFound("this engine is closed; open another")

    def _catalog(self) -> Catalog:
        return self._workspace.reload()

    async def _credential(self, plan: Plan, signal: CancelSignal) -> Secret | None:
        source = plan.provider.settings.credential
        if source is None:
            return None
        return await resolve(source, self.root, self._services.client_credential, signal)

    def _provider(self, settings: BackendSettings) -> Provider:
        """The provider for these settings: the one in use, unless they changed."""
        old = self._providers.get(settings.name)
        if old is not None and (old.settings is settings or old.settings == settings):
            return old
        limits = (settings.capacity, settings.permits, settings.queue)
        if old is None:
            admission = Admission(settings.name, *limits)
        else:
            admission = old.admission
            admission.resize(*limits)
            old.retire()
            self._close_idle(old)
        new = Provider(settings, make_backend(settings, self.root, self._services), admission)
        self._providers[settings.name] = new
        return new

    def _close_idle(self, provider: Provider) -> None:
        if provider.idle:
            task = asyncio.get_running_loop().create_task(provider.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


def preload(root: Path, config: str) -> None:
    """Imports what a workspace's backends need for a first call; takes a while, so use a thread.

    Opens nothing, and says nothing of settings that are broken.
    """
    with suppress(ConfigInvalid):
        for kind in {one.kind for one in Workspace(root, config).current().settings.backends}:
            load_kind(kind)


def _load(provider: Provider) -> BackendLoad:
    leases, permits = provider.admission.leases, provider.admission.permits
    return BackendLoad(
        name=provider.settings.name,
        capacity=leases.size,
        leases=leases.held,
        waiting=leases.waiting,
        permits=permits.size,
        generating=permits.held,
    )
