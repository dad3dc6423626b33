"""What a prompt definition says, as values."""

from attrs import frozen

from promptkit_rpc.conversation.message import Role
from promptkit_rpc.definitions.template import Template
from promptkit_rpc.errors import Location
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import TEXT, Contract


@frozen(kw_only=True)
class InputDefinition:
    """An input: its name in templates and the template of its path."""

    name: str
    file: Template
    location: Location


@frozen(kw_only=True)
class VariableDefinition:
    """A declared variable: a JSON Schema for its value and, where it may be left out, a default."""

    name: str
    schema: Json
    default: Json | None = None
    location: Location


@frozen(kw_only=True)
class MessageTemplate:
    """One message as authored."""

    role: Role
    content: Template
    cache: Json | None = None
    location: Location


@frozen(kw_only=True)
class PromptDefinition:
    """A prompt. `id` is its path below the prompts folder without the suffix, with slashes."""

    id: str
    location: Location
    description: str | None = None
    profile: str | None = None
    session: Template | None = None
    inputs: tuple[InputDefinition, ...] = ()
    variables: tuple[VariableDefinition, ...] = ()
    messages: tuple[MessageTemplate, ...]
    output: Contract = TEXT
