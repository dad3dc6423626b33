"""JSON Schemas of the two definition files, for editors. The readers in `definitions/` decide.

What a schema cannot say (folders that climb, templates, names of environment variables) is left to
them. A key with nothing after it counts as absent, so every key that may be absent may be null.
"""

from enum import StrEnum
from typing import Any

from promptkit_rpc.conversation.message import Role
from promptkit_rpc.definitions.endpoints import NETWORKED
from promptkit_rpc.definitions.fields import MOST
from promptkit_rpc.definitions.replies import FaultKind
from promptkit_rpc.definitions.settings import BackendKind, Structured
from promptkit_rpc.generation import FinishReason
from promptkit_rpc.output.contract import Format

Json = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_FREE = "^(x-|_meta$)"
_IDENTIFIER = "^[^\\W\\d]\\w*$"


def prompt_schema() -> Json:
    """`prompts/**/*.prompt.yaml`."""
    return _document(
        "PromptKit prompt",
        _mapping(
            "A prompt: messages with templates, and what the answer must look like.",
            ["messages"],
            description=_text("One line for lists and hovers.", blank=True),
            profile=_text("The profile to use where a request names none."),
            session=_template("Template of the session id."),
            inputs=_names(
                "Files whose text templates find as `inputs.<name>`.",
                _mapping(
                    "An input.",
                    ["file"],
                    file=_template(
                        "Path template, relative to the workspace,"
                        " inside one of the folders of `inputs`."
                    ),
                ),
                pattern=_IDENTIFIER,
            ),
            variables=_names(
                "Declared variables: a JSON Schema each, with `default` where it may be absent.",
                {"type": ["object", "null"], "description": "A JSON Schema, and `default`."},
                pattern=_IDENTIFIER,
                excluded="inputs",
            ),
            messages=_list(
                "The messages, in the order they are sent.",
                _mapping(
                    "One message.",
                    ["role", "content"],
                    role=_word("Who speaks.", Role),
                    content=_template("Jinja template of the text; rendered exactly."),
                    cache={
                        "type": "object",
                        "description": "Cache metadata: kept in history, sent where supported.",
                    },
                ),
            )
            | {"minItems": 1},
            output=_output(),
        ),
    )


def settings_schema() -> Json:
    """`promptkit.yaml`."""
    return _document(
        "PromptKit settings",
        _mapping(
            "Backends, profiles and folders of a workspace.",
            [],
            version={"const": 1, "description": "The version of this file's format."},
            prompts=_text("Folder of the prompts below the root; `prompts` if absent."),
            inputs=_list(
                "Folders that prompt inputs may be read from; the root if absent.", _entry()
            ),
            backends=_names("Provider endpoints.", _backend(), free=True),
            profiles=_names("A backend, a model and parameters each.", _profile(), free=True),
        ),
    )


def _output() -> Json:
    given = [{"required": ["schema"]}, {"required": ["schemaFile"]}]
    output = _mapping(
        "What the answer must look like.",
        [],
        format=_word("Any text (the default), any JSON, or JSON that fits a schema.", Format),
        schema={
            "type": ["object", "boolean"],
            "description": "JSON Schema (2020-12, local references).",
        },
        schemaFile=_text("A JSON or YAML file with the schema; relative to this file."),
        repairs=_integer("How often to ask again when the answer does not fit; 0 if absent.", 0),
    )
    wants = {"properties": {"format": {"const": Format.SCHEMA.value}}, "required": ["format"]}
    return output | {"if": wants, "then": {"oneOf": given}, "else": {"not": {"anyOf": given}}}


def _backend() -> Json:
    networked = sorted(kind.value for kind in NETWORKED)
    return _mapping(
        "A provider endpoint.",
        ["kind"],
        kind=_word("What it speaks.", BackendKind),
        description=_text("One line for lists and hovers.", blank=True),
        baseUrl={
            "type": "string",
            "pattern": "^https?://",
            "description": "The provider's address, without a login.",
        },
        credential=_credential(),
        capacity=_integer("Runs admitted at a time; unlimited if absent.", 1),
        permits=_integer("Calls in flight at a time; as capacity if absent.", 1),
        queue=_integer("Runs that may wait for a lease; unlimited if absent.", 0),
        timeouts=_timeouts(),
        retry=_retry(),
        headers=_names(
            "Headers sent along.",
            {
                "oneOf": [
                    {"type": "string", "description": "The value."},
                    _mapping("Where the value is.", ["env"], env=_text("An environment variable.")),
                ]
            },
        ),
        structured=_word("How structured output is asked for; `native` if absent.", Structured),
        maxTokensField=_text("The provider's name of `maxTokens`."),
        replies={
            "description": "For `scripted`: the replies, or a file of them.",
            "oneOf": [_entry(), _list("The replies, in order.", _reply())],
        },
    ) | {
        "if": {"properties": {"kind": {"enum": networked}}, "required": ["kind"]},
        "then": {"required": ["baseUrl"]},
    }


def _timeouts() -> Json:
    return _mapping(
        "Limits of one attempt, in seconds; null is none.",
        [],
        connect=_positive("Seconds to connect."),
        read=_positive("Seconds between two pieces of the answer."),
        total=_positive("Seconds for the attempt."),
    )


def _retry() -> Json:
    return _mapping(
        "How failed calls are repeated.",
        [],
        attempts=_integer("The most calls, the first one counted.", 1),
        baseDelay=_number("Seconds, doubled at each retry.", 0),
        maxDelay=_number("The longest wait in seconds.", 0),
    )


def _credential() -> Json:
    kinds: Json = {
        "env": _text("The environment variable that holds the key."),
        "file": _text("The file that holds the key."),
        "command": _list("The program that prints the key, and its arguments.", _entry())
        | {"minItems": 1},
        "client": _text("The name under which the connected client keeps the key."),
    }
    place = _mapping("Where the key is found; never the key itself.", [], **kinds)
    return place | {"oneOf": [{"required": [kind]} for kind in kinds]}


def _profile() -> Json:
    return _mapping(
        "A backend plus a model plus generation parameters.",
        ["backend", "model"],
        description=_text("One line for lists and hovers.", blank=True),
        backend=_text("The backend's name."),
        model=_text("The model's name at the provider."),
        parameters=_mapping(
            "Generation parameters, under one name each whatever the backend.",
            [],
            temperature=_number("Sampling temperature.", 0),
            maxTokens=_integer("The most tokens to answer with.", 1),
            topP=_number("Nucleus sampling.", 0) | {"maximum": 1},
            stop=_list("Texts that end the answer.", _entry()),
            seed={"type": "integer", "description": "Seed, where the provider has one."},
            extra={"type": "object", "description": "Goes to the provider as it is."},
        ),
    )


def _reply() -> Json:
    counts = (
        "inputTokens outputTokens totalTokens cachedInputTokens cacheCreationTokens reasoningTokens"
    )
    reply = _mapping(
        "One scripted reply.",
        [],
        match=_mapping(
            "When it answers: all that is given holds.",
            [],
            promptId=_text("The prompt's id."),
            contains=_text("A part of the last message."),
            regex=_text("A regular expression found in the last message."),
        ),
        content=_template("The answer: Jinja over messages, lastUser, promptId, model, turn."),
        json={"description": "The answer, as JSON."},
        chunks=_list("The answer in streamed pieces.", _entry()),
        fault=_mapping(
            "What happens instead of an answer.",
            [],
            kind=_word("How the call breaks.", FaultKind),
            status={
                "type": "integer",
                "minimum": 200,
                "maximum": 599,
                "description": "The HTTP status that refuses it.",
            },
            retryAfter=_number("Seconds to wait, as the refusal says.", 0),
            body={"description": "The refusal's body."},
        )
        | {"oneOf": [{"required": ["kind"]}, {"required": ["status"]}]},
        usage=_mapping(
            "Reported usage; what is absent is unknown.",
            [],
            **{name: _integer("A count of tokens.", 0) for name in counts.split()},
        ),
        finishReason=_word("Why the answer ended; `stop` if absent.", FinishReason),
        refusal=_text("The model's words where it refuses.", blank=True),
        delay=_number("Seconds before the answer.", 0),
        times=_integer("How often it may answer; any number if absent.", 0),
    )
    return reply | {
        "oneOf": [{"required": [kind]} for kind in ("content", "json", "chunks", "fault")]
    }


# Pieces ------------------------------------------------------------------------------------------


def _document(title: str, schema: Json) -> Json:
    return {"$schema": _DIALECT, "title": title} | schema


def _mapping(doc: str, required: list[str], /, **properties: Json) -> Json:
    schema: Json = {
        "type": "object",
        "description": doc,
        "properties": {
            name: schema if name in required else _or_null(schema)
            for name, schema in properties.items()
        },
        "patternProperties": {_FREE: True},
        "additionalProperties": False,
    }
    return schema | {"required": required} if required else schema


def _names(
    doc: str, schema: Json, *, pattern: str = "\\S", excluded: str | None = None, free: bool = False
) -> Json:
    names: Json = {"pattern": pattern}
    if excluded is not None:
        names["not"] = {"const": excluded}
    made: Json = {
        "type": "object",
        "description": doc,
        "propertyNames": names,
        "additionalProperties": schema,
    }
    return made | {"patternProperties": {_FREE: True}} if free else made


def _or_null(schema: Json) -> Json:
    kind = schema.get("type")
    if isinstance(kind, str) and not {"enum", "pattern", "if", "oneOf"} & schema.keys():
        return schema | {"type": [kind, "null"]}
    if "const" in schema or kind is not None or "oneOf" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return schema


def _text(doc: str, *, blank: bool = False) -> Json:
    schema: Json = {"type": "string", "description": doc}
    return schema if blank else schema | {"pattern": "\\S"}


def _template(doc: str) -> Json:
    return {"type": "string", "description": doc}


def _entry() -> Json:
    return {"type": "string", "minLength": 1}


def _word(doc: str, words: type[StrEnum]) -> Json:
    return {"type": "string", "description": doc, "enum": [word.value for word in words]}


def _list(doc: str, items: Json) -> Json:
    return {"type": "array", "description": doc, "items": items}


def _integer(doc: str, least: int) -> Json:
    return {"type": "integer", "minimum": least, "maximum": MOST, "description": doc}


def _number(doc: str, least: int) -> Json:
    return {"type": "number", "minimum": least, "description": doc}


def _positive(doc: str) -> Json:
    return {"type": "number", "exclusiveMinimum": 0, "description": doc}
