"""Verdicts on answers, and on schemas themselves."""

from typing import Any

import pytest

from promptkit_rpc.jsontext import Json
from promptkit_rpc.output.contract import TEXT, Contract, Format, Status, Validation
from promptkit_rpc.output.validate import check_schema, validate, validate_value

NAMED = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["name", "n"],
    "additionalProperties": False,
}
JSON = Contract(format=Format.JSON)
ANSWER = '{"name":"a","n":1}'


def contract(schema: Any) -> Contract:
    return Contract(format=Format.SCHEMA, schema=Json.of(schema))


async def verdict(
    content: str,
    asked: Contract | dict[str, Any] | bool = NAMED,  # noqa: FBT001 - a schema may be one
    finish_reason: str = "stop",
    refusal: str | None = None,
) -> Validation:
    if not isinstance(asked, Contract):
        asked = contract(asked)
    return await validate(asked, content, finish_reason, refusal)


def told(found: Validation) -> list[tuple[str, str, str | None]]:
    return [(one.path, one.keyword, one.schema_path) for one in found.violations]


async def test_text_needs_no_verdict_however_it_ended() -> None:
    """OUT-1, S-09."""
    for reason in ("stop", "length", "contentFilter", "refusal", "other"):
        found = await verdict("{", TEXT, reason)
        assert found == Validation(status=Status.NOT_REQUIRED)


@pytest.mark.parametrize(
    "content",
    [ANSWER, f" {ANSWER}\n", f"```json\n{ANSWER}", f"```JSON\r\n{ANSWER}\r\n```\r\n"],
)
async def test_an_answer_that_meets_its_schema_is_valid(content: str) -> None:
    """OUT-1, S-01. Its JSON is kept as it was spelled, without what stands around it."""
    found = await verdict(content)
    assert found == Validation(status=Status.VALID, structured=Json(ANSWER.encode()))


async def test_every_violation_is_reported_with_place_and_keyword() -> None:
    """OUT-2."""
    schema = {
        "properties": {
            "list": {"items": {"$ref": "#/$defs/row"}},
            "a/b": {"const": 1},
            "never": False,
        },
        "required": ["x"],
        "additionalProperties": False,
        "$defs": {"row": {"properties": {"n": {"type": "integer", "maximum": 5}}}},
    }
    content = '{"list":[{"n":1},{"n":9},{"n":"x"}],"a/b":2,"more":0,"never":1}'
    found = await verdict(content, schema)
    assert found.status is Status.INVALID
    assert sorted(told(found)) == [
        ("", "additionalProperties", "/additionalProperties"),
        ("", "required", "/required"),
        ("/a~1b", "const", "/properties/a~1b/const"),
        ("/list/1/n", "maximum", "/$defs/row/properties/n/maximum"),
        ("/list/2/n", "type", "/$defs/row/properties/n/type"),
        ("/never", "properties", "/properties/never"),
    ]
    assert found.structured == Json(content.encode())


async def test_a_choice_tells_what_is_wrong_inside_its_alternatives() -> None:
    """OUT-2."""
    point = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {"properties": {"p": {"anyOf": [point, {"type": "null"}]}}}
    assert told(await verdict('{"p":{"x":"1"}}', schema)) == [
        ("/p", "anyOf", "/properties/p/anyOf"),
        ("/p/x", "type", "/properties/p/anyOf/0/properties/x/type"),
    ]
    both = {"oneOf": [{"type": "integer"}, {"minimum": 0}]}
    assert told(await verdict("1", both)) == [("", "oneOf", "/oneOf")]


@pytest.mark.parametrize(
    "content",
    [
        "",
        f"{ANSWER}\n\nNote: I dropped the rest.",
        ANSWER + "}",
        f"{ANSWER}\n{ANSWER}",
        '<think>{"draft":0}</think>\n' + ANSWER,
        '{"name":"a","n":NaN}',
        '{"name":"a","n":-Infinity}',
        '{"name":"a","n":1e999}',
        '{"name":"a","n":01}',
        f'{{"name":"a","n":{"7" * 4301}}}',
        "{'name':'a','n':1}",
    ],
)
@pytest.mark.parametrize("asked", [JSON, contract(NAMED), contract({})])
async def test_what_is_no_strict_json_is_invalid_and_placed(content: str, asked: Contract) -> None:
    """S-03, S-18."""
    found = await verdict(content, asked)
    assert told(found) == [("", "json", None)]
    assert " at line " in found.violations[0].message
    assert (found.status, found.structured) == (Status.INVALID, None)


async def test_a_repeated_key_is_invalid_under_any_contract() -> None:
    """S-03."""
    for asked in (JSON, contract(NAMED)):
        found = await verdict('{"name":"a","n":1,"n":1}', asked)
        assert told(found) == [("/n", "json", None)]
        assert (found.status, found.structured) == (Status.INVALID, None)


async def test_integers_come_out_digit_for_digit() -> None:
    """S-16."""
    for digits in ("9224851642388483", "12345678901234567890", "7" * 4300):
        found = await verdict(f'{{"name":"a","n":{digits}}}')
        assert found.status is Status.VALID
        assert found.structured is not None
        assert found.structured.text.decode() == f'{{"name":"a","n":{digits}}}'
    exact = {"const": 12345678901234567890}
    assert (await verdict("12345678901234567890", exact)).status is Status.VALID
    assert (await verdict("12345678901234567891", exact)).status is Status.INVALID


@pytest.mark.parametrize("levels", [500, 2_000, 20_000, 200_000])
@pytest.mark.parametrize("asked", [JSON, contract({})])
async def test_a_very_deep_answer_is_invalid_and_no_accident(levels: int, asked: Contract) -> None:
    """S-07."""
    found = await verdict("[" * levels + "]" * levels, asked)
    assert told(found) == [("", "json", None)]
    assert "nested deeper than 400 levels" in found.violations[0].message


async def test_every_depth_up_to_the_limit_has_a_verdict() -> None:
    """S-07. Also where the validator itself does not go so deep."""
    schema = {"$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}}
    for levels in (200, 255, 256, 400):
        content = "[" * levels + "]" * levels
        assert (await verdict(content, {"$ref": "#/$defs/l", **schema})).status is Status.VALID
        for wrong in ({"type": "object"}, {"const": 1}, {"anyOf": [{"type": "null"}, False]}):
            found = await verdict(content, wrong)
            assert found.status is Status.INVALID
            assert found.violations
        inner = "[" * (levels - 1) + "1" + "]" * (levels - 1)
        found = await verdict(inner, {"$ref": "#/$defs/l", **schema})
        assert told(found) == [("/0" * (levels - 1), "type", "/$defs/l/type")]
    twins = f"[{'[' * 398 + ']' * 398},{'[' * 398 + ']' * 398}]"
    assert (await verdict(twins, {"uniqueItems": True})).status is Status.INVALID


@pytest.mark.parametrize(
    ("reason", "refusal", "keyword"),
    [
        ("stop", "I will not do that.", "refusal"),
        ("length", "I will not do that.", "refusal"),
        ("refusal", None, "refusal"),
        ("contentFilter", None, "contentFilter"),
    ],
)
@pytest.mark.parametrize("content", ["", ANSWER])
async def test_what_was_refused_or_filtered_is_never_valid(
    reason: str, refusal: str | None, keyword: str, content: str
) -> None:
    """S-11."""
    for asked in (JSON, contract(NAMED)):
        found = await verdict(content, asked, reason, refusal)
        assert told(found) == [("", keyword, None)]
        assert (found.status, found.structured) == (Status.INVALID, None)


async def test_what_was_cut_off_is_never_valid_and_told_as_such() -> None:
    """S-09."""
    found = await verdict('{"name":"aaa', NAMED, "length")
    assert [one.keyword for one in found.violations] == ["length", "json"]
    assert "token limit" in found.violations[0].message
    whole = await verdict(ANSWER, NAMED, "length")
    assert (whole.status, told(whole)) == (Status.INVALID, [("", "length", None)])
    assert whole.structured == Json(ANSWER.encode())


async def test_another_end_does_not_matter() -> None:
    assert (await verdict(ANSWER, NAMED, "other")).status is Status.VALID
    assert (await verdict(ANSWER, NAMED, "stop", "")).status is Status.VALID


async def test_a_schema_is_applied_as_authored() -> None:
    """S-12."""
    authored = {
        "type": "object",
        "oneOf": [
            {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
            {"properties": {"b": {"type": "string"}}, "required": ["b"]},
        ],
    }
    asked = contract(authored)
    for _ in range(2):
        for content in ('{"a":1}', '{"b":"x"}', '{"a":1,"extra":true}'):
            assert (await verdict(content, asked)).status is Status.VALID
        assert (await verdict('{"a":"x"}', asked)).status is Status.INVALID
    assert asked.schema == Json.of(authored)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"format": "date-time"}, '"2026-01-01T00:00:00Z"', '"tomorrow-ish"'),
        ({"format": "date"}, '"2026-02-28"', '"2026-02-30"'),
        ({"format": "email"}, '"a@example.com"', '"a b"'),
        ({"format": "uri"}, '"http://a/b"', '"no uri"'),
        ({"format": "ipv6"}, '"::1"', '":::"'),
        ({"format": "uuid"}, '"123e4567-e89b-12d3-a456-426614174000"', '"123"'),
        ({"format": "regex"}, '"^a$"', '"("'),
        ({"format": "date-time", "minimum": 1}, "5", "0"),
        ({"pattern": r"^\d$"}, '"5"', '"٣"'),
        ({"pattern": r"^\D$"}, '"٣"', '"5"'),
        ({"pattern": r"^\w$"}, '"a"', '"é"'),
        ({"pattern": r"^\p{L}$"}, '"é"', '"5"'),
        ({"pattern": r"^a$"}, '"a"', '"a\\n"'),
        ({"pattern": r"^.$"}, '"😀"', '"\\n"'),
        ({"pattern": "b"}, '"abc"', '"ac"'),
        ({"pattern": r"^(?!x)a(?=b)"}, '"ab"', '"ac"'),
        ({"pattern": r"^(a+)-\1$"}, '"aa-aa"', '"aa-a"'),
        ({"multipleOf": 0.01}, "0.07", "0.075"),
        ({"multipleOf": 0.01}, "4.35", "4.355"),
        ({"multipleOf": 3}, "1000000000000000000000000000002", "1000000000000000000000000000003"),
        ({"type": "integer"}, "1.0", "1.5"),
        ({"const": 1}, "1.0", "true"),
        ({"uniqueItems": True}, "[1, true]", "[1, 1.0]"),
        ({"minLength": 2}, '"😀😀"', '"😀"'),
    ],
)
async def test_each_keyword_means_what_the_reference_says(
    schema: dict[str, Any], good: str, bad: str
) -> None:
    """OUT-1, S-14. Formats are asserted; patterns are ECMA 262's; numbers are decimal."""
    assert (await verdict(good, schema)).status is Status.VALID
    assert (await verdict(bad, schema)).status is Status.INVALID


async def test_an_unknown_format_says_nothing() -> None:
    """S-14."""
    assert (await verdict('"anything"', {"format": "int32"})).status is Status.VALID


async def test_a_bad_timestamp_is_told_by_its_keyword() -> None:
    """S-14."""
    schema = {"properties": {"at": {"type": "string", "format": "date-time"}}, "required": ["at"]}
    found = await verdict('{"at":"tomorrow-ish"}', schema)
    assert told(found) == [("/at", "format", "/properties/at/format")]
    assert found.violations[0].message == '"tomorrow-ish" is not a "date-time"'


async def test_a_schema_that_only_refers_to_itself_comes_to_a_verdict() -> None:
    """SEC-4."""
    for schema in ({"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"anyOf": [{"$ref": "#"}, False]}):
        assert (await verdict("1", schema)).status in {Status.VALID, Status.INVALID}


@pytest.mark.parametrize("schema", [True, {}, NAMED, {"pattern": r"(?=a)\1?(b)"}, {"$ref": "#"}])
def test_a_schema_that_compiles_has_no_problem(schema: Any) -> None:
    assert check_schema(Json.of(schema)) is None


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([], '[] is not of types "boolean", "object" (at its root)'),
        (5, '5 is not of types "boolean", "object" (at its root)'),
        ({"properties": {"a": {"type": "int"}}}, "did you mean 'integer'? (at /properties/a/type)"),
        ({"type": ["string", "nul"]}, "'nul' is no type of JSON Schema; did you mean 'null'?"),
        ({"type": "x"}, "'x' is no type of JSON Schema; there are: string, integer, number"),
        ({"properties": {"type": "x"}}, '"x" is not of types "boolean", "object"'),
        ({"minLength": -1}, "(at /minLength)"),
        ({"required": ["a", "a"]}, "(at /required)"),
        ({"multipleOf": 0}, "(at /multipleOf)"),
        ({"pattern": "("}, '"(" is not a "regex" (at /pattern)'),
        ({"pattern": r"a\Z"}, '"a\\\\Z" is not a "regex" (at /pattern)'),
        ({"patternProperties": {"[": True}}, '"[" is not a "regex"'),
        ({"$ref": 5}, "(at /$ref)"),
        ({"$ref": "http://example.com/x.json"}, "refers outside the schema"),
        ({"$ref": "#/$defs/x"}, "which is not there"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "another dialect"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why_and_where(schema: Any, problem: str) -> None:
    """OUT-1, SEC-4."""
    found = check_schema(Json.of(schema))
    assert found is not None
    assert problem in found
    assert "\n" not in found


def test_a_schema_nested_too_deep_is_refused() -> None:
    """S-07."""
    schema: Any = True
    for _ in range(300):
        schema = {"not": schema}
    assert "Recursion limit" in (check_schema(Json.of(schema)) or "")


def test_a_plain_value_is_held_against_a_schema() -> None:
    """ENG-1."""
    schema = Json.of({"type": "array", "items": {"type": "integer"}})
    assert validate_value(schema, [1, 10**4000]) == []
    assert validate_value(schema, [1, "x", True]) == [
        '"x" is not of type "integer" (at /1)',
        'true is not of type "integer" (at /2)',
    ]
    assert validate_value(schema, "x") == ['"x" is not of type "array"']


@pytest.mark.parametrize("value", [{1, 2}, object(), "\ud800", {1: 2}, float("nan"), b"x"])
def test_a_value_that_is_none_of_json_is_never_fine(value: Any) -> None:
    """SEC-4."""
    assert validate_value(Json.of({"type": "object", "minProperties": 2}), value)


def test_a_value_nested_without_end_is_never_fine() -> None:
    """SEC-4, S-07."""
    value: Any = []
    for _ in range(100_000):
        value = [value]
    assert validate_value(Json.of({"type": "object"}), value)


async def test_a_stray_surrogate_is_no_accident() -> None:
    """SEC-4. None comes this far; if one did, small or large, there would be a verdict."""
    for length in (1, 300_000):
        found = await verdict('["' + "\ud800" * length + '"]', JSON)
        assert found.structured is not None
        assert found.structured.value() == ["?" * length]
