"""Prompts, profiles and backends as defined. Nothing is rendered, called or revealed."""

from typing import Annotated

from attrs import field, frozen

from promptkit_rpc.conversation.message import Role
from promptkit_rpc.definitions.settings import BackendKind, Structured
from promptkit_rpc.rpc.protocol.base import Count, Doc, JsonObject, JsonSchema, Positive
from promptkit_rpc.rpc.protocol.engine import EngineParams
from promptkit_rpc.rpc.protocol.message import Location, OutputContract, Parameters


@frozen(kw_only=True)
class PromptParams(EngineParams):
    """Names a prompt."""

    prompt_id: Annotated[str, Doc("Path of the prompt below the prompts folder, no suffix.")]


@frozen(kw_only=True)
class ProfileParams(EngineParams):
    """Names a profile."""

    profile: Annotated[str, Doc("Its name.")]


@frozen(kw_only=True)
class BackendParams(EngineParams):
    """Names a backend."""

    backend: Annotated[str, Doc("Its name.")]


@frozen(kw_only=True)
class PromptItem:
    """A prompt in a list."""

    name: Annotated[str, Doc("Its id.")]
    description: Annotated[str | None, Doc("One line.")] = None
    profile: Annotated[str | None, Doc("Its default profile.")] = None
    location: Annotated[Location, Doc("Its file.")]


@frozen(kw_only=True)
class ProfileItem:
    """A profile in a list."""

    name: Annotated[str, Doc("Its name.")]
    description: Annotated[str | None, Doc("One line.")] = None
    backend: Annotated[str, Doc("Its backend.")]
    model: Annotated[str, Doc("Its model.")]


@frozen(kw_only=True)
class BackendItem:
    """A backend in a list."""

    name: Annotated[str, Doc("Its name.")]
    description: Annotated[str | None, Doc("One line.")] = None
    kind: Annotated[BackendKind, Doc("What it speaks.")]


@frozen(kw_only=True)
class PromptList:
    """All prompts, by id."""

    items: Annotated[tuple[PromptItem, ...], Doc("In the order of their ids.")]


@frozen(kw_only=True)
class ProfileList:
    """All profiles."""

    items: Annotated[tuple[ProfileItem, ...], Doc("In the order of the file.")]


@frozen(kw_only=True)
class BackendList:
    """All backends."""

    items: Annotated[tuple[BackendItem, ...], Doc("In the order of the file.")]


@frozen(kw_only=True)
class InputInspection:
    """An input of a prompt."""

    name: Annotated[str, Doc("`inputs.<name>` in templates.")]
    file: Annotated[str, Doc("The template of its path.")]


@frozen(kw_only=True)
class VariableInspection:
    """A declared variable of a prompt."""

    name: Annotated[str, Doc("Its name in templates.")]
    schema: Annotated[JsonSchema, Doc("What its value must fit.")]
    required: Annotated[bool, Doc("Whether it has no default.")]
    default: Annotated[object, Doc("Its value where the request gives none.")] = None


@frozen(kw_only=True)
class MessageInspection:
    """A message of a prompt as authored."""

    role: Annotated[Role, Doc("Who speaks.")]
    content: Annotated[str, Doc("The template.")] = field(repr=False)
    cache: Annotated[JsonObject | None, Doc("Cache metadata.")] = None


@frozen(kw_only=True)
class PromptInspection:
    """A prompt as authored."""

    prompt_id: Annotated[str, Doc("The prompt.")]
    description: Annotated[str | None, Doc("One line.")] = None
    location: Annotated[Location, Doc("Its file.")]
    profile: Annotated[str | None, Doc("Its default profile.")] = None
    session: Annotated[str | None, Doc("The template of its session id.")] = None
    inputs: Annotated[tuple[InputInspection, ...], Doc("Files it reads.")]
    variables: Annotated[tuple[VariableInspection, ...], Doc("Variables it declares.")]
    messages: Annotated[tuple[MessageInspection, ...], Doc("Its messages, in order.")]
    output: Annotated[OutputContract, Doc("Its output contract.")]


@frozen(kw_only=True)
class ProfileInspection:
    """A profile."""

    profile: Annotated[str, Doc("Its name.")]
    description: Annotated[str | None, Doc("One line.")] = None
    location: Annotated[Location, Doc("Where it is defined.")]
    backend: Annotated[str, Doc("Its backend.")]
    model: Annotated[str, Doc("Its model.")]
    parameters: Annotated[Parameters, Doc("Its generation parameters.")]


@frozen(kw_only=True)
class TimeoutsInspection:
    """Limits of one attempt; absent: none."""

    connect_ms: Annotated[Count | None, Doc("Milliseconds to connect.")] = None
    read_ms: Annotated[Count | None, Doc("Milliseconds between two pieces of the answer.")] = None
    total_ms: Annotated[Count | None, Doc("Milliseconds for the attempt.")] = None


@frozen(kw_only=True)
class RetryInspection:
    """How failed calls are repeated."""

    attempts: Annotated[Positive, Doc("The most calls, the first one counted.")]
    base_delay_ms: Annotated[Count, Doc("Milliseconds, doubled at each retry.")]
    max_delay_ms: Annotated[Count, Doc("The longest wait in milliseconds.")]


@frozen(kw_only=True)
class HeaderInspection:
    """A header that is sent. Its value is never shown."""

    name: Annotated[str, Doc("Its name.")]
    env: Annotated[str | None, Doc("The environment variable that holds its value.")] = None


@frozen(kw_only=True)
class BackendInspection:
    """A backend. Query values of its address and its keys are not shown."""

    backend: Annotated[str, Doc("Its name.")]
    description: Annotated[str | None, Doc("One line.")] = None
    location: Annotated[Location, Doc("Where it is defined.")]
    kind: Annotated[BackendKind, Doc("What it speaks.")]
    base_url: Annotated[str | None, Doc("Its address.")] = None
    credential_source: Annotated[str | None, Doc("Where the key comes from, like `env:NAME`.")] = (
        None
    )
    capacity: Annotated[Count | None, Doc("Runs admitted at a time; absent: unlimited.")] = None
    permits: Annotated[Count | None, Doc("Calls in flight at a time; absent: as capacity.")] = None
    queue: Annotated[Count | None, Doc("Runs that may wait; absent: unlimited.")] = None
    timeouts: Annotated[TimeoutsInspection, Doc("Limits of one attempt.")]
    retry: Annotated[RetryInspection, Doc("How failed calls are repeated.")]
    headers: Annotated[tuple[HeaderInspection, ...], Doc("Headers sent along.")]
    structured: Annotated[Structured, Doc("How structured output is asked for.")]
    max_tokens_field: Annotated[str | None, Doc("The provider's name of `maxTokens`.")] = None
