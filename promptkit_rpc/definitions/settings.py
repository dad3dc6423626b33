"""What `promptkit.yaml` says, as values. Durations are in seconds."""

from enum import StrEnum

from attrs import field, frozen

from promptkit_rpc.definitions.template import Template
from promptkit_rpc.errors import Location
from promptkit_rpc.generation import FinishReason, Parameters
from promptkit_rpc.jsontext import Json
from promptkit_rpc.usage import TokenCounts


class BackendKind(StrEnum):
    """What a backend speaks."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    SCRIPTED = "scripted"
    CLIENT = "client"


class CredentialKind(StrEnum):
    """Where a credential comes from."""

    ENV = "env"
    FILE = "file"
    COMMAND = "command"
    CLIENT = "client"


@frozen
class CredentialSource:
    """A place, never a value: a variable's name, a path, a command's words, a client's name."""

    kind: CredentialKind
    value: tuple[str, ...]
    location: Location = field(eq=False)

    def __str__(self) -> str:
        # Of a command the program alone: among its words there may be a key.
        return f"{self.kind.value}:{self.value[0]}"


@frozen
class HeaderValue:
    """A header's value as written, or the name of the environment variable that holds it."""

    text: str | None = None
    env: str | None = None


@frozen(kw_only=True)
class Timeouts:
    """Limits of one attempt, in seconds; None is no limit."""

    connect: float | None = 10.0
    read: float | None = 300.0
    total: float | None = None


@frozen(kw_only=True)
class RetryPolicy:
    """`attempts` counts the first one; delays are in seconds."""

    attempts: int = 3
    base_delay: float = 0.5
    max_delay: float = 30.0


class Structured(StrEnum):
    """How a provider is asked for structured output."""

    NATIVE = "native"
    PROMPT = "prompt"


@frozen(kw_only=True)
class Match:
    """When a scripted reply answers: all given conditions hold. `regex` is searched."""

    prompt_id: str | None = None
    contains: str | None = None
    regex: str | None = None


@frozen(kw_only=True)
class Fault:
    """What a scripted backend does instead of answering: an HTTP-like refusal, or a broken call.

    `kind` is one of connectionReset, timeout, malformed, brokenBody; `retry_after` in seconds.
    """

    kind: str | None = None
    status: int | None = None
    retry_after: float | None = None
    body: Json | None = None


@frozen(kw_only=True)
class Reply:
    """One entry of a script. Exactly one of content, json, chunks, fault is set.

    `delay` is in seconds; `times` None is any number of uses.
    """

    match: Match | None = None
    content: Template | None = None
    json: Json | None = None
    chunks: tuple[str, ...] | None = None
    fault: Fault | None = None
    usage: TokenCounts | None = None
    finish_reason: FinishReason = FinishReason.STOP
    refusal: str | None = None
    delay: float = 0.0
    times: int | None = None
    location: Location = field(eq=False)


@frozen(kw_only=True)
class BackendSettings:
    """A provider endpoint. `capacity` admits runs, `permits` bounds generations in flight."""

    name: str
    kind: BackendKind
    location: Location = field(eq=False)
    description: str | None = None
    base_url: str | None = None
    credential: CredentialSource | None = None
    capacity: int | None = None
    permits: int | None = None
    queue: int | None = None
    timeouts: Timeouts = Timeouts()
    retry: RetryPolicy = RetryPolicy()
    headers: tuple[tuple[str, HeaderValue], ...] = ()
    structured: Structured = Structured.NATIVE
    max_tokens_field: str | None = None
    replies: tuple[Reply, ...] | None = None


@frozen(kw_only=True)
class ProfileSettings:
    """A backend plus a model plus generation parameters."""

    name: str
    location: Location = field(eq=False)
    description: str | None = None
    backend: str
    model: str
    parameters: Parameters = Parameters()  # noqa: RUF009 - a frozen value


@frozen(kw_only=True)
class Settings:
    """The whole file, each part in the order written."""

    prompts: str = "prompts"
    inputs: tuple[str, ...] = (".",)
    backends: tuple[BackendSettings, ...] = ()
    profiles: tuple[ProfileSettings, ...] = ()
