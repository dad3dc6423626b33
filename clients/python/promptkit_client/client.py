"""A session with a server, method by method."""

import itertools
from collections.abc import AsyncIterator, Sequence
from typing import Any, Unpack

from promptkit_client._host import Branch
from promptkit_client._session import Session
from promptkit_client._watching import Watched
from promptkit_client.errors import PromptKitError
from promptkit_client.handles import Group, Prepared
from promptkit_client.requests import (
    Engine,
    Exchange,
    NextAction,
    RunOptions,
    Turn,
    WatchedRunOptions,
    action_params,
    engine_id,
    group_ids,
    milliseconds,
    run_id,
    run_params,
    split,
)
from promptkit_client.types import (
    BackendInspection,
    BackendItem,
    BackendList,
    CoordinateResult,
    EngineOpened,
    EngineReloaded,
    ExchangeDetails,
    GroupCreated,
    PrepareResult,
    Problem,
    ProfileInspection,
    ProfileItem,
    ProfileList,
    PromptInspection,
    PromptItem,
    PromptList,
    RunResult,
    ServerCapabilities,
    SessionStatus,
)


class Client:
    """What a server does for its client; `connect` makes one.

    Every method raises `PromptKitError` (or a subclass by kind) for what the server refuses, and
    `ConnectionLost` when it is gone. Cancelling the task cancels the request.
    """

    def __init__(self, session: Session, capabilities: ServerCapabilities) -> None:
        self.capabilities = capabilities
        self._session = session
        self._numbers = itertools.count(1)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Any method by its name, params and result as on the wire."""
        return await self._session.connection.request(method, params)

    # Runs

    async def run(
        self, prompt: str, *, capture: bool = False, **options: Unpack[WatchedRunOptions]
    ) -> RunResult:
        """Runs a prompt; `capture` keeps the exchange, so that it can be continued."""
        return await self._run({"capture": capture or None}, prompt, options)

    async def continue_(
        self, exchange: Exchange, prompt: str, **options: Unpack[WatchedRunOptions]
    ) -> RunResult:
        """Runs a prompt after a held exchange, which stays as it is; the new one is held too."""
        return await self._run({"continueFrom": run_id(exchange)}, prompt, options)

    async def prepare(
        self,
        prompt: str,
        *,
        capture: bool = False,
        continue_from: Exchange | None = None,
        **options: Unpack[RunOptions],
    ) -> Prepared:
        """Renders and resolves a run without sending anything."""
        params = {
            **run_params(prompt, options),
            "capture": capture or None,
            "continueFrom": None if continue_from is None else run_id(continue_from),
        }
        made = await self._session.call(PrepareResult, "promptkit/prepare", params)
        return Prepared(self._session, made.prepared_id, made.details)

    async def _run(
        self, params: dict[str, Any], prompt: str, options: WatchedRunOptions
    ) -> RunResult:
        asked, watched = split(options)
        params = {**run_params(prompt, asked), **params}
        return await self._session.call(RunResult, "promptkit/run", params, watched)

    # Branches

    async def coordinate(
        self,
        exchange: Exchange,
        next_action: NextAction,
        *,
        additional_turns: int,
        groups: Sequence[Group | str] = (),
        engine: Engine | None = None,
        callback_timeout: float | None = None,
        **watched: Unpack[Watched],
    ) -> CoordinateResult:
        """Drives a branch: `next_action` gets each turn and gives `Continue(…)` or `STOP`.

        What it raises is raised here, the very object. A cancel arrives in it as a
        `CancelledError` at its next await. If the task is cancelled while a result was still to
        be delivered, `late_result` finds it in the error; with `cancel` it is returned.
        """

        async def callback(turn: Turn) -> dict[str, Any]:
            return action_params(await next_action(turn))

        branch, name = Branch(callback), f"branch-{next(self._numbers)}"
        self._session.host.branches[name] = branch
        params = {
            "exchange": run_id(exchange),
            "additionalTurns": additional_turns,
            "coordinationId": name,
            "engineId": engine_id(engine),
            "groups": group_ids(groups) or None,
            "callbackTimeoutMs": callback_timeout and milliseconds(callback_timeout),
        }
        try:
            method = "promptkit/coordinate"
            return await self._session.call(CoordinateResult, method, params, watched)
        except PromptKitError as error:
            raise branch.original(error) from error.__cause__
        finally:
            await branch.settle(self._session.connection.patience)
            del self._session.host.branches[name]

    # Exchanges

    async def details(self, exchange: Exchange) -> ExchangeDetails:
        """All messages of a held exchange and the final answer."""
        return await self._page({"runId": run_id(exchange)})

    async def pages(self, exchange: Exchange, *, max_bytes: int) -> AsyncIterator[ExchangeDetails]:
        """The same in pages of at most so many bytes of messages, but at least one message."""
        params: dict[str, Any] = {"runId": run_id(exchange), "maxBytes": max_bytes}
        while True:
            page = await self._page(params)
            yield page
            if page.next_cursor is None:
                return
            params["cursor"] = page.next_cursor

    async def release(self, exchange: Exchange) -> None:
        """Lets go of a held exchange early; those built on it stay."""
        await self._session.do("promptkit/exchange/release", {"runId": run_id(exchange)})

    async def _page(self, params: dict[str, Any]) -> ExchangeDetails:
        return await self._session.call(ExchangeDetails, "promptkit/exchange/details", params)

    # Groups and engines

    async def group(self) -> Group:
        """A new, empty group."""
        made = await self._session.call(GroupCreated, "promptkit/group/create", {})
        return Group(self._session, made.group_id)

    async def open_engine(self, root: str | None = None, config: str | None = None) -> EngineOpened:
        """Opens another configuration; `problems` lists the faults of its files."""
        params = {"root": root, "config": config}
        return await self._session.call(EngineOpened, "promptkit/engine/open", params)

    async def close_engine(self, engine: Engine | None = None) -> None:
        """Closes an engine; its runs finish, its exchanges stay."""
        await self._session.do("promptkit/engine/close", {"engineId": engine_id(engine)})

    async def reload(self, engine: Engine | None = None) -> tuple[Problem, ...]:
        """Reads changed files again, and gives the faults of all."""
        params = {"engineId": engine_id(engine)}
        method = "promptkit/engine/reload"
        return (await self._session.call(EngineReloaded, method, params)).problems

    # Resources

    async def prompts(self, engine: Engine | None = None) -> tuple[PromptItem, ...]:
        """Every prompt, by id."""
        params = {"engineId": engine_id(engine)}
        return (await self._session.call(PromptList, "promptkit/prompt/list", params)).items

    async def prompt(self, name: str, engine: Engine | None = None) -> PromptInspection:
        """A prompt as authored."""
        params = {"engineId": engine_id(engine), "promptId": name}
        return await self._session.call(PromptInspection, "promptkit/prompt/inspect", params)

    async def profiles(self, engine: Engine | None = None) -> tuple[ProfileItem, ...]:
        """Every profile."""
        params = {"engineId": engine_id(engine)}
        return (await self._session.call(ProfileList, "promptkit/profile/list", params)).items

    async def profile(self, name: str, engine: Engine | None = None) -> ProfileInspection:
        """A profile."""
        params = {"engineId": engine_id(engine), "profile": name}
        return await self._session.call(ProfileInspection, "promptkit/profile/inspect", params)

    async def backends(self, engine: Engine | None = None) -> tuple[BackendItem, ...]:
        """Every backend."""
        params = {"engineId": engine_id(engine)}
        return (await self._session.call(BackendList, "promptkit/backend/list", params)).items

    async def backend(self, name: str, engine: Engine | None = None) -> BackendInspection:
        """A backend; of a key only where it would come from."""
        params = {"engineId": engine_id(engine), "backend": name}
        return await self._session.call(BackendInspection, "promptkit/backend/inspect", params)

    async def status(self) -> SessionStatus:
        """What is held, and how busy each backend is."""
        return await self._session.call(SessionStatus, "promptkit/session/status", {})
