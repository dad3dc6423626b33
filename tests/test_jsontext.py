"""JSON as text: strictness, limits, places of faults."""

import datetime as dt
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.jsontext import (
    MAX_INTEGER,
    MAX_NESTING,
    Json,
    JsonError,
    brackets_of,
    decode,
    encode,
    too_deep,
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.sampled_from('[]{}"\\:,aé\n😀')).filter(str.isprintable)
    | st.text()
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=60
)


def depth(value: Any) -> int:
    match value:
        case dict():
            return 1 + max(map(depth, value.values()), default=0)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType, reportUnknownVariableType]
        case list():
            return 1 + max(map(depth, value), default=0)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case _:
            return 0


def naive_brackets(text: str) -> str:
    kept, inside, escaped = "", False, False
    for character in text:
        if escaped:
            escaped = False
        elif inside and character == "\\":
            escaped = True
        elif character == '"':
            inside = not inside
        elif not inside and character in "[]{}":
            kept += "[" if character in "[{" else "]"
    return kept


@given(values, st.integers(min_value=0, max_value=12))
def test_depth_is_measured_exactly(value: Any, limit: int) -> None:
    """S-07."""
    assert too_deep(encode(value), limit) == (depth(value) > limit)


@given(values)
def test_brackets_inside_strings_do_not_count(value: Any) -> None:
    """S-07."""
    text = encode(value)
    assert brackets_of(text).decode() == naive_brackets(text.decode())


def chain(levels: int, opening: str, closing: str) -> bytes:
    return (opening * levels + "0" + closing * levels).encode()


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_the_limit_holds_whatever_the_brackets(opening: str, closing: str) -> None:
    """S-07."""
    levels = MAX_NESTING // (opening.count("[") + opening.count("{"))
    assert not too_deep(chain(levels, opening, closing))
    assert too_deep(chain(levels + 1, opening, closing))
    decode(chain(levels, opening, closing))
    for deeper in (levels + 1, 2_000, 20_000, 200_000):
        with pytest.raises(JsonError, match="nested deeper than 400 levels"):
            decode(chain(deeper, opening, closing))


def test_many_deep_branches_are_no_deeper_than_one() -> None:
    """S-07. Wide and deep at once: the sum, not the passes, decides."""
    branch = chain(MAX_NESTING - 1, "[", "]")
    assert not too_deep(b"[" + b",".join([branch] * 500) + b"]")
    assert too_deep(b"[[" + b",".join([branch] * 500) + b"]]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'"\\ud800"', "a lone surrogate \\ud800 (byte 1)"),
        (b'["ok", "\\ud83d\\ude00 \\uDC00"]', "a lone surrogate \\uDC00 (byte 21)"),
        (b'{"\\ud800":1}', "a lone surrogate \\ud800 (byte 2)"),
        ('"\ud800"', "a lone surrogate"),
        (b'"\\\\ud800', "the text ends too early (byte 8)"),
        (b'"\\u12"', "an invalid escape (byte 1)"),
        (b'"\xff"', "invalid UTF-8 (byte 1)"),
        (b'"\xed\xa0\x80"', "invalid UTF-8 (byte 1)"),
        (b"", "the text ends too early (byte 0)"),
        (b'{"a":', "the text ends too early (byte 5)"),
        (b"{} {}", "trailing characters (byte 3)"),
        (b"1}", "trailing characters (byte 1)"),
        (b"NaN", "invalid character (byte 0)"),
        (b"[Infinity]", "invalid character (byte 1)"),
        (b"[1e999]", "a number beyond the largest that a double can hold (byte 1)"),
        (
            b'{"1e999": "1e999", "b": -1E400}',
            "a number beyond the largest that a double can hold (byte 24)",
        ),
        (b"[" + b"7" * 4301 + b"]", "an integer of more than 4300 characters (byte 1)"),
        (b'{"a":-' + b"7" * 4300 + b"}", "an integer of more than 4300 characters (byte 5)"),
        (b"\xef\xbb\xbf{}", "invalid character (byte 0)"),
        (b"\xc2\xa01", "invalid character (byte 0)"),
    ],
)
def test_a_fault_is_named_with_its_place(text: bytes | str, message: str) -> None:
    """SEC-4, S-03."""
    with pytest.raises(JsonError) as caught:
        decode(text)
    assert str(caught.value) == message


def test_the_place_is_not_looked_for_in_a_very_large_text() -> None:
    """SEC-4. The fault is found all the same."""
    with pytest.raises(JsonError, match=r"double can hold$"):
        decode(b'["' + b"x" * (1 << 21) + b'", 1e999]')


def test_integers_up_to_the_limit_are_exact() -> None:
    """S-16."""
    for digits in ("9224851642388483", "12345678901234567890", "7" * MAX_INTEGER):
        assert decode(digits) == int(digits)
        assert encode(decode(digits)).decode() == digits
        assert Json(digits.encode()).text.decode() == digits
    assert decode("-" + "7" * (MAX_INTEGER - 1)) < 0


@given(values)
def test_a_kept_value_reads_back_the_same_each_time(value: Any) -> None:
    """DET-3."""
    kept = Json.of(value)
    assert kept.value() == value
    assert decode(kept.text) == value


def test_changing_what_was_read_or_given_changes_nothing_kept() -> None:
    """DET-3."""
    given_value: dict[str, Any] = {"a": [1]}
    kept = Json.of(given_value)
    given_value["a"].append(2)
    kept.value()["a"].append(3)
    assert kept.value() == {"a": [1]}


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        [math.inf],
        {1, 2},
        b"bytes",
        dt.date(2026, 1, 1),
        "\udc00",
        {"\ud800": 1},
        10**MAX_INTEGER,
        -(10 ** (MAX_INTEGER - 1)),
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    """SEC-4."""
    with pytest.raises(JsonError):
        Json.of(value)


def test_a_value_that_is_nested_too_deep_or_in_itself_is_refused() -> None:
    """S-07."""
    deep: list[Any] = []
    for _ in range(MAX_NESTING):
        deep = [deep]
    with pytest.raises(JsonError, match="nested"):
        Json.of(deep)
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(JsonError, match="nested"):
        Json.of(deep)
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(JsonError):
        Json.of(loop)


def test_equality_is_that_of_the_text() -> None:
    assert Json.of({"a": 1}) == Json(b'{"a":1}')
    assert Json(b"1.0") != Json(b"1")
    assert len({Json(b"1"), Json(b"1"), Json(b"2")}) == 2


def test_what_is_nested_too_deep_is_named_with_its_place() -> None:
    """S-07. The first bracket of too many, whatever stands in strings before it."""
    with pytest.raises(JsonError) as caught:
        decode(b'["[[[\\"[[", ' + b"[" * 1000)
    assert caught.value.offset == len(b'["[[[\\"[[", ') + MAX_NESTING - 1
    with pytest.raises(JsonError) as caught:
        decode(b"[" * 401 + b"]" * 401)
    assert caught.value.offset == 400
