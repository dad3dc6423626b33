"""JSON in an answer: fences, repeated keys, the place of a fault."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.jsontext import JsonError
from promptkit_rpc.output.strict import fault, read, unfenced

ANSWER = '{"name":"a","n":1}'


@pytest.mark.parametrize(
    "content",
    [
        ANSWER,
        f"```json\n{ANSWER}",
        f"```json\n{ANSWER}\n",
        f"```JSON\r\n{ANSWER}\r\n```\r\n",
        f"```\n{ANSWER}\n```",
        f"\n  ``` json  \n{ANSWER}\n  ```  \n\n",
        f"````json\n{ANSWER}\n`````",
        f"```json5\n\n{ANSWER}\n\n```",
    ],
)
def test_a_fence_around_the_whole_answer_is_taken_off(content: str) -> None:
    """S-01."""
    inside = unfenced(content)
    assert inside.text.strip(" \t\r\n") == ANSWER
    assert content[inside.start :].startswith(inside.text)


@pytest.mark.parametrize(
    "content",
    [
        f"~~~\n{ANSWER}\n~~~",
        f"Sure:\n```json\n{ANSWER}\n```",
        f"```json\n{ANSWER}\n```\nThat is all.",
        f"```json\n{ANSWER}\n```\n```json\n{ANSWER}\n```",
        f"```json {ANSWER}```",
        f"`{ANSWER}`",
        f"``\n{ANSWER}\n``",
        f"````\n{ANSWER}\n```",
        f"```json\n{ANSWER}```",
        "```json",
        "```json\n```",
        "```\n```",
        "```",
        "",
    ],
)
def test_any_other_fence_leaves_no_json(content: str) -> None:
    """S-01, S-03."""
    with pytest.raises(JsonError):
        read(unfenced(content).text.encode())


@pytest.mark.parametrize("content", ["`" * 500_000, " " * 500_000 + "`", "```" + "a" * 500_000])
def test_a_long_would_be_fence_costs_no_more_than_its_length(content: str) -> None:
    """S-07. Terminates soon; a backtracking pattern would not."""
    assert unfenced(content).text == content


def place_of(content: str) -> str:
    inside = unfenced(content)
    with pytest.raises(JsonError) as caught:
        read(inside.text.encode(errors="replace"))
    return fault(caught.value, content, inside).message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the text ends too early at line 1, column 1"),
        (f"{ANSWER}\n\nNote: I dropped the rest.", "trailing characters at line 3, column 1"),
        (ANSWER + "}", "trailing characters at line 1, column 19"),
        (f"{ANSWER} {ANSWER}", "trailing characters at line 1, column 20"),
        ('```json\n{"é": 1,\r\n "😀": x}\n```', "invalid character at line 3, column 7"),
        ('{"name":"aaa', "the text ends too early at line 1, column 13"),
        ("[1,\n NaN]", "invalid character at line 2, column 2"),
        ("[1,\n 1e999]", "a double can hold at line 2, column 2"),
        ("[" + "7" * 5000 + "]", "more than 4300 characters at line 1, column 2"),
        ("[" * 100_000, "nested deeper than 400 levels at line 1, column 401"),
        ('<think>{"draft":0}</think>\n' + ANSWER, "invalid character at line 1, column 1"),
        ("\ufeff" + ANSWER, "invalid character at line 1, column 1"),
        ('["\\ud800"]', "a lone surrogate \\ud800 at line 1, column 3"),
        ("{'a': 1}", "object keys must be strings at line 1, column 2"),
        ("[1, 2,]", "trailing comma in array at line 1, column 7"),
    ],
)
def test_what_is_no_json_is_placed_in_the_whole_answer(content: str, message: str) -> None:
    """S-03, S-07, S-09, S-18."""
    assert place_of(content).endswith(message)
    assert place_of(content).startswith("the answer is not JSON: ")


def paths(text: str) -> list[str]:
    _, twice = read(text.encode())
    return [one.path for one in twice or ()]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a":1}', []),
        ('{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}', []),
        ('{"a":1,"a":1}', ["/a"]),
        ('{"a":1,"a":2,"a":3}', ["/a"]),
        ('[{"x":[0,{"a/b":1,"~":[],"a/b":{}}]}]', ["/0/x/1/a~1b"]),
        ('{"":1,"":2}', ["/"]),
        ('{"a":1,"\\u0061":2}', ["/a"]),
        ('{"a:b":":","a:b":"::"}', ["/a:b"]),
        ('{"\\u003a":1}', []),
        ('{"\\u003A":1,"x":"\\u003a"}', []),
        ('{"\\u003a":1,":":2}', ["/:"]),
        ('{"x":"\\\\u003a","x":"\\u003a"}', ["/x"]),
        ('{"a":{"b":1,"b":2},"c":3,"c":{"d":4,"d":5}}', ["/c", "/a/b", "/c/d"]),
        ('{"a":"\\"}{:[","a":1}', ["/a"]),
    ],
)
def test_a_key_that_stands_twice_in_one_object_is_found(text: str, where: list[str]) -> None:
    assert paths(text) == where


members = st.lists(st.tuples(st.text(st.sampled_from('a:"\\\u00e9'), max_size=2), st.integers()))


@given(objects=st.lists(members, max_size=4), ascii_only=st.booleans())
def test_repeated_keys_are_found_however_they_are_written(
    *, objects: list[list[tuple[str, int]]], ascii_only: bool
) -> None:
    def write(value: object) -> str:
        text = json.dumps(value, ensure_ascii=ascii_only)
        return text.replace(":", "\\u003a") if ascii_only and isinstance(value, str) else text

    rows = ["{" + ", ".join(f"{write(k)}: {write(v)}" for k, v in row) + "}" for row in objects]
    expected = any(len({key for key, _ in row}) < len(row) for row in objects)
    assert bool(paths("[" + ",".join(rows) + "]")) == expected


def test_numbers_are_read_digit_for_digit() -> None:
    """S-16."""
    value, twice = read(b"[9224851642388483, 12345678901234567890, 0.1, 1e2]")
    assert value == [9224851642388483, 12345678901234567890, 0.1, 100.0]
    assert twice is None
