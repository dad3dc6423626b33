"""Turns a prompt file's tree into a definition, reporting every problem there is."""

import posixpath

from promptkit_rpc.conversation.message import Role
from promptkit_rpc.definitions.beside import Beside
from promptkit_rpc.definitions.fields import Fields
from promptkit_rpc.definitions.files import FileRefused
from promptkit_rpc.definitions.problem import Problem, Problems, Span
from promptkit_rpc.definitions.prompt import InputDefinition, MessageTemplate, PromptDefinition
from promptkit_rpc.definitions.template import Sandbox
from promptkit_rpc.definitions.tree import Node
from promptkit_rpc.definitions.variables import parse_variables
from promptkit_rpc.errors import Location
from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import TEXT, Contract, Format


def parse_prompt(
    node: Node | None, *, prompt_id: str, file: str, beside: Beside, sandbox: Sandbox
) -> tuple[PromptDefinition | None, tuple[Problem, ...]]:
    """A prompt definition, or None where anything in its file is wrong."""
    problems = Problems(file)
    if node is None:
        problems.add(Span(1, 1, 1, 2), "the file is empty; a prompt needs `messages`", code="empty")
        return None, problems.all()
    fields = Fields.of(node, problems, (), "a prompt")
    if fields is None:
        return None, problems.all()
    prompt = PromptDefinition(
        id=prompt_id,
        location=fields.location,
        description=fields.text("description", blank=True),
        profile=fields.text("profile"),
        session=fields.template("session", sandbox),
        inputs=_inputs(fields, sandbox),
        variables=parse_variables(fields),
        messages=_messages(fields, sandbox),
        output=_output(fields, beside),
    )
    fields.finish()
    return None if problems.count else prompt, problems.all()


def _inputs(fields: Fields, sandbox: Sandbox) -> tuple[InputDefinition, ...]:
    found: list[InputDefinition] = []
    for entry in fields.named("inputs"):
        path = (*fields.path, "inputs", entry.key)
        if not entry.key.isidentifier():
            message = f"{entry.key!r} cannot be an input's name; use letters, digits and _"
            fields.problems.add(entry.key_span, message, code="name", path=path)
            continue
        place = Fields.of(entry.value, fields.problems, path, f"the input {entry.key!r}")
        if place is None:
            continue
        place.need("file")
        file = place.template("file", sandbox)
        place.finish()
        if file is not None:
            location = Location(fields.problems.file, entry.key_span.line, entry.key_span.column)
            found.append(InputDefinition(name=entry.key, file=file, location=location))
    return tuple(found)


def _messages(fields: Fields, sandbox: Sandbox) -> tuple[MessageTemplate, ...]:
    fields.need("messages")
    items = fields.items("messages")
    if items is None:
        return ()
    if not items:
        fields.wrong("messages", "'messages' holds no message")
    found = [_message(item, fields, number, sandbox) for number, item in enumerate(items)]
    return tuple(message for message in found if message is not None)


def _message(node: Node, fields: Fields, number: int, sandbox: Sandbox) -> MessageTemplate | None:
    message = Fields.of(node, fields.problems, (*fields.path, "messages", str(number)), "a message")
    if message is None:
        return None
    message.need("role")
    role = message.choice("role", Role)
    message.need("content")
    content = message.template("content", sandbox)
    cache = message.json("cache", mapping=True)
    message.finish()
    if role is None or content is None:
        return None
    return MessageTemplate(role=role, content=content, cache=cache, location=message.location)


def _output(fields: Fields, beside: Beside) -> Contract:
    output = fields.fields("output")
    if output is None:
        return TEXT
    chosen = output.choice("format", Format) or Format.TEXT
    repairs = output.integer("repairs", least=0) or 0
    schema = _schema(output, chosen, beside)
    output.finish()
    return Contract(format=chosen, schema=schema, repairs=repairs)


def _schema(output: Fields, chosen: Format, beside: Beside) -> Json | None:
    given = [key for key in ("schema", "schemaFile") if output.take(key) is not None]
    wanted = chosen is Format.SCHEMA
    if wanted and not given:
        output.wrong("format", "a schema is missing: give `schema` or `schemaFile`", code="missing")
    if given and not wanted:
        output.wrong(given[0], f"{given[0]!r} is used with `format: schema` only")
    if len(given) > 1:
        output.wrong("schemaFile", "give `schema` or `schemaFile`, not both")
    if not given or not wanted:
        return None
    return _schema_inside(output) if given[0] == "schema" else _schema_file(output, beside)


def _schema_inside(output: Fields) -> Json | None:
    schema = output.json("schema")
    return None if schema is None or not _compiles(output, "schema", schema) else schema


def _schema_file(output: Fields, beside: Beside) -> Json | None:
    name = output.text("schemaFile")
    if name is None:
        return None
    try:
        file, schema, problems = beside.json(output.problems.file, name)
    except FileRefused as error:
        output.wrong("schemaFile", f"the file {posixpath.basename(name)!r} {error}", code="file")
        return None
    for problem in problems:
        output.problems.include(problem)
    if schema is None or not _compiles(output, "schemaFile", schema, file):
        return None
    return schema


def _compiles(output: Fields, key: str, schema: Json, file: str | None = None) -> bool:
    from promptkit_rpc.output.validate import check_schema  # noqa: PLC0415 - 25 ms

    fault = check_schema(schema)
    if fault is None:
        return True
    where = "" if file is None else f" in {file}"
    output.wrong(key, f"the schema{where} cannot be used: {fault}", code="schema")
    return False
