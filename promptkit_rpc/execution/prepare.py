"""Preparation: resolves and renders one request into a plan of exactly what will be sent."""

from attrs import evolve, field, frozen

from promptkit_rpc.conversation.history import History
from promptkit_rpc.definitions.catalog import Catalog, Workspace
from promptkit_rpc.definitions.fields import listing
from promptkit_rpc.definitions.prompt import PromptDefinition
from promptkit_rpc.definitions.render import render_prompt
from promptkit_rpc.definitions.settings import ProfileSettings
from promptkit_rpc.errors import ContractInvalid, PreparedClaimed, ProfileMissing
from promptkit_rpc.execution.observe import Observer
from promptkit_rpc.execution.provider import Provider
from promptkit_rpc.execution.request import RunRequest, StreamSink
from promptkit_rpc.generation import Parameters
from promptkit_rpc.output.contract import Contract, Format
from promptkit_rpc.output.validate import check_schema
from promptkit_rpc.secret import Secret


@frozen(kw_only=True)
class Plan:
    """What one run will send, to whom, and what becomes of the answer. Holds no lease."""

    prompt_id: str
    profile: str
    model: str
    parameters: Parameters
    contract: Contract
    history: History
    session_id: str | None
    parent_run_id: str | None
    capture: bool
    timeout: float | None
    provider: Provider = field(repr=False)
    credential: Secret | None = field(repr=False)
    observers: tuple[Observer, ...] = field(repr=False)
    stream: StreamSink | None = field(repr=False)

    @property
    def backend(self) -> str:
        """The backend's name."""
        return self.provider.settings.name

    @property
    def credential_source(self) -> str | None:
        """Where the credential will come from: `request`, `env:NAME` and the like, or None."""
        if self.credential is not None:
            return "request"
        source = self.provider.settings.credential
        return None if source is None else str(source)


class Prepared:
    """A plan that can be executed once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._claimed = False

    @property
    def claimed(self) -> bool:
        """Whether it was executed or discarded."""
        return self._claimed

    def claim(self) -> Plan:
        """Takes the plan, once.

        Raises:
            PreparedClaimed: it was executed or discarded before.
        """
        if self._claimed:
            raise PreparedClaimed("this prepared execution was executed or discarded before")
        self._claimed = True
        return self.plan

    def __repr__(self) -> str:
        return f"<Prepared {self.plan.prompt_id}{', claimed' if self._claimed else ''}>"


@frozen(kw_only=True)
class Resolved:
    """The definitions a request stands on, read once so that they belong together."""

    catalog: Catalog
    prompt: PromptDefinition
    profile: ProfileSettings
    provider: Provider


def choose_profile(request: RunRequest, prompt: PromptDefinition, catalog: Catalog) -> str:
    """The name of the request's profile, else of the prompt's.

    Raises:
        ProfileMissing: neither names one.
    """
    name = request.profile if request.profile is not None else prompt.profile
    if name is None:
        there_are = listing([profile.name for profile in catalog.settings.profiles])
        raise ProfileMissing(
            f"prompt {prompt.id!r} has no default profile and the request names none;"
            f" give `profile` in either; {there_are}",
            location=prompt.location,
        )
    return name


async def prepare(request: RunRequest, found: Resolved, workspace: Workspace) -> Plan:
    """Renders every message and reads every input; nothing is sent and nothing is admitted.

    Raises:
        TemplateFailed, InputFailed: a message cannot be rendered.
        ContractInvalid: the request's schema cannot be used.
    """
    contract = found.prompt.output if request.output is None else _checked(request.output)
    prompt = found.prompt
    if request.session_id is not None:
        prompt = evolve(prompt, session=None)
    rendered = await render_prompt(prompt, request.variables, workspace, found.catalog.settings)
    source = request.continue_from
    return Plan(
        prompt_id=prompt.id,
        profile=found.profile.name,
        model=found.profile.model,
        parameters=found.profile.parameters.overridden(request.parameters),
        contract=contract,
        history=History(
            (*rendered.messages, *request.messages), source.history if source else None
        ),
        session_id=rendered.session_id if request.session_id is None else request.session_id,
        parent_run_id=source.run_id if source else None,
        capture=request.capture or source is not None,
        timeout=request.timeout,
        provider=found.provider,
        credential=request.credential,
        observers=request.observers,
        stream=request.stream,
    )


def _checked(contract: Contract) -> Contract:
    problem = None
    if contract.format is not Format.SCHEMA:
        if contract.schema is not None:
            problem = f"is used with format schema only; the format is {contract.format.value}"
    elif contract.schema is None:
        problem = "is missing; format schema needs one"
    else:
        problem = check_schema(contract.schema)
    if problem is not None:
        raise ContractInvalid(f"output.schema: {problem}")
    return contract
