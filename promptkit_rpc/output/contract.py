"""What an answer must look like. Says nothing of how a provider is asked for it."""

from enum import StrEnum

from attrs import frozen

from promptkit_rpc.jsontext import Json


class Format(StrEnum):
    """The three kinds of contract."""

    TEXT = "text"
    JSON = "json"
    SCHEMA = "schema"


@frozen(kw_only=True)
class Contract:
    """Format, a JSON Schema (2020-12) as authored for `schema`, and how often to ask again."""

    format: Format = Format.TEXT
    schema: Json | None = None
    repairs: int = 0


TEXT = Contract()


class Status(StrEnum):
    """The verdict on one answer."""

    VALID = "valid"
    INVALID = "invalid"
    NOT_REQUIRED = "notRequired"


UNCHECKED = "unchecked"
"""Stands for a schema's keyword where a check did not come to its end."""


@frozen(kw_only=True)
class Violation:
    """One fault: a JSON pointer into the answer, the keyword broken, and where in the schema."""

    path: str
    keyword: str
    message: str
    schema_path: str | None = None


@frozen(kw_only=True)
class Validation:
    """The verdict, every violation, and the decoded answer where there is one."""

    status: Status
    violations: tuple[Violation, ...] = ()
    structured: Json | None = None
