import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc import jsontext
from promptkit_rpc.rpc.codes import RpcError
from promptkit_rpc.rpc.messages import (
    MAX_NESTING,
    Answer,
    Notification,
    Refusal,
    Request,
    answer,
    failure,
    parse,
    refused,
)

HUGE = 10**4299


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def refusal(body: bytes) -> tuple[Any, int]:
    """The id and the code that a body is answered with."""
    read = parse(body)
    assert isinstance(read, Refusal)
    assert b"Traceback" not in failure(read.id, read.error)
    return read.id, read.error.code


@pytest.mark.parametrize("ident", [1, "1", "", 0, "a/b", 2147483648, -7, HUGE, -(2**70), "é\n"])
def test_an_id_comes_back_with_its_type_and_value(ident: Any) -> None:
    """R-04, R-05: strings and integers of any size."""
    read = parse(message(id=ident, method="x"))
    assert isinstance(read, Request)
    assert json.loads(answer(read.id, None))["id"] == ident
    assert type(read.id) is type(ident)


@pytest.mark.parametrize("ident", [None, 1.5, 1.0, True, False, [], {}, ["a"]])
def test_anything_else_is_no_id(ident: Any) -> None:
    """R-04: refused with id null."""
    assert refusal(message(id=ident, method="x")) == (None, -32600)


@pytest.mark.parametrize(
    ("body", "ident", "code"),
    [
        (b"", None, -32700),
        (b"{", None, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"x"}}', None, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', None, -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', None, -32700),
        (b"\xef\xbb\xbf{}", None, -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}]', None, -32600),
        (b"[]", None, -32600),
        (b"[1]", None, -32600),
        (b"null", None, -32600),
        (b'"x"', None, -32600),
        (b"{}", None, -32600),
        (b'{"id":1,"method":"x"}', 1, -32600),
        (b'{"jsonrpc":"1.0","id":"a","method":"x"}', "a", -32600),
        (b'{"jsonrpc":2.0,"id":1,"method":"x"}', 1, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', 1, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', 1, -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":5}', 1, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":"{}"}', 1, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', 1, -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":false}', 1, -32602),
        (b'{"jsonrpc":"2.0","method":"x","params":[1]}', None, -32602),
    ],
)
def test_a_malformed_message_is_answered_by_what_is_wrong(
    body: bytes, ident: Any, code: int
) -> None:
    """X-03, R-19: the id where the message may use it, else null; never silence."""
    assert refusal(body) == (ident, code)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "the body is no JSON: "),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', "an id must be a string or an integer"),
        (b'{"id":1,"method":"x"}', 'jsonrpc must be "2.0"'),
        (b'{"id":1,"result":1}', 'jsonrpc must be "2.0"'),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', "method must be a string"),
        (b'{"jsonrpc":"2.0","id":1}', "a message needs a method, or an id with a result or an err"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","result":1}', "either a request or an answer"),
        (b'{"jsonrpc":"2.0","id":1,"result":1,"error":2}', "either a result or an error"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', "params must be an object"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","a":"\\ud800"}', "a lone surrogate"),
        (b"[1]", "a batch is not supported"),
        (b"1", "a message that is no object is not supported"),
    ],
)
def test_a_malformed_message_is_told_what_is_wrong(body: bytes, words: str) -> None:
    """X-03."""
    read = parse(body)
    assert isinstance(read, Refusal)
    assert words in read.error.message


@pytest.mark.parametrize(
    "value",
    [b"[" * 20_000 + b"]" * 20_000, b"[" * 500 + b"]" * 500, b"1" * 5000, b"1e999", b'"\\ud800"'],
)
def test_json_beyond_a_limit_is_refused_under_its_id(value: bytes) -> None:
    """X-03: nesting, digits, overflow and lone surrogates."""
    body = b'{"jsonrpc":"2.0","id":"q","method":"x","params":{"a":%b}}' % value
    assert refusal(body) == ("q", -32600)
    answered = parse(b'{"jsonrpc":"2.0","id":4,"result":%b}' % value)
    assert isinstance(answered, Answer)
    assert (answered.id, answered.error and answered.error.code) == (4, -32600)


def test_nesting_up_to_the_limit_is_read() -> None:
    """X-03."""
    deep = b"[" * (MAX_NESTING - 2) + b"]" * (MAX_NESTING - 2)
    body = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":%b}}'
    assert isinstance(parse(body % deep), Request)
    assert refusal(body % (b"[%b]" % deep)) == (1, -32600)


def test_what_a_message_carries_may_be_as_deep_as_any_value() -> None:
    """S-07: an answer at its own limit is not lost inside the messages that deliver it."""
    deep = json.loads("[" * jsontext.MAX_NESTING + "]" * jsontext.MAX_NESTING)
    for carried in (
        {"structured": deep},
        {"undelivered": {"structured": deep}},
        {"output": {"schema": {"const": deep}}},
        {"details": {"messages": [{"cache": {"a": deep}}]}},
    ):
        assert parse(answer(1, carried)) == Answer(1, carried)


def test_paired_surrogates_are_text() -> None:
    """X-03."""
    read = parse(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\\ud83d\\ude00 \\\\ud800"}}')
    assert read == Request(1, "x", {"a": "😀 \\ud800"})


@pytest.mark.parametrize(
    "head",
    [
        b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"xxxx',
        b'{"id" : 7 , "params":{"id":8,"b":[{"id":9}]},"method":"x","c":"',
        b'{"params":{"a":"}{\\"id\\":1"},"\\u0069d":7,"method":"x","',
        b'{"id":7,"params":{"a":"xxxx',
        b'{"id":7,"method":"x","c":"xxxx',
        b'{"a":{"b":{}},"id":7,"method":"x","c":"xxxx',
    ],
)
def test_the_id_of_a_skipped_request_is_read_from_its_head(head: bytes) -> None:
    """R-14: answered for that id, not for one inside its params."""
    read = refused(head, "too large")
    assert isinstance(read, Refusal)
    assert (read.id, read.error.code, read.error.message) == (7, -32600, "too large")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x00\xff",
        b"x" * 4096,
        b'"' + b"\\" * 4095,
        b'{"jsonrpc":"2.0","method":"x","params":{"id":7,',
        b'{"jsonrpc":"2.0","method":"x","id":12',
        b'{"jsonrpc":"2.0","id":7,"x":"',
        b'[{"id":7,"method":"x","params":"',
        b'{"id":7.5,"method":"x","params":{',
    ],
)
def test_a_skipped_message_without_a_sure_id_is_answered_with_null(head: bytes) -> None:
    """R-14."""
    read = refused(head, "too large")
    assert isinstance(read, Refusal)
    assert read.id is None


@pytest.mark.parametrize("member", [b'"result":{"content":"xxx', b'"error":{"message":"xxx'])
def test_a_skipped_answer_fails_the_request_it_answers(member: bytes) -> None:
    """R-14, R-07."""
    read = refused(b'{"jsonrpc":"2.0","id":7,' + member, "too large")
    assert isinstance(read, Answer)
    assert (read.id, read.error and read.error.message) == (7, "too large")


@pytest.mark.parametrize(
    "members",
    [
        {"id": 5, "result": 1, "error": {"code": 1, "message": "m"}},
        {"id": 5},
        {"id": 5, "error": None},
        {"result": 1},
        {"error": {"code": 1, "message": "m"}},
    ],
)
def test_a_broken_answer_is_refused_with_id_null(members: Any) -> None:
    """R-07: its id is one of ours, and would be taken for one of the sender's own."""
    assert refusal(message(**members)) == (None, -32600)
    without = json.dumps({"id": 5, "result": 1}).encode()
    assert refusal(without) == (None, -32600)


def test_a_request_that_also_answers_is_refused_under_its_id() -> None:
    """R-07."""
    assert refusal(message(id=5, method="x", result=None)) == (5, -32600)
    assert refusal(message(id=5, method="x", error={"code": 1, "message": "m"})) == (5, -32600)
    assert refusal(message(method="x", result=None)) == (None, -32600)


def test_an_answer_is_a_result_or_an_error() -> None:
    """R-07: a null beside the other one counts as absent."""
    error = {"code": -7, "message": "m", "data": {"a": [1]}}
    assert parse(message(id=1, result=None)) == Answer(1, None)
    assert parse(message(id=1, result={"a": 1}, error=None)) == Answer(1, {"a": 1})
    for read in (parse(message(id=1, error=error)), parse(message(id=1, result=None, error=error))):
        assert isinstance(read, Answer)
        assert read.error is not None
        assert (read.error.code, read.error.message, read.error.data) == (-7, "m", {"a": [1]})


@pytest.mark.parametrize(
    "error",
    ["boom", 1, [], {}, {"code": 1}, {"code": "1", "message": "m"}, {"code": True, "message": "m"}],
)
def test_an_answer_with_a_malformed_error_is_an_error_all_the_same(error: Any) -> None:
    """R-07: the request has failed, whatever the words."""
    read = parse(message(id=1, error=error))
    assert isinstance(read, Answer)
    assert read.error is not None
    assert (read.id, read.error.code) == (1, -32600)
    assert read.error.message == "the answer's error needs an integer code and a string message"


def test_absent_null_and_empty_array_params_are_an_empty_object() -> None:
    """X-03: an empty object is written so in Lua, and left out by Node."""
    ways: list[dict[str, Any]] = [{}, {"params": None}, {"params": []}, {"params": {}}]
    for more in ways:
        assert parse(message(id=1, method="x", **more)) == Request(1, "x", {})
        assert parse(message(method="x", **more)) == Notification("x", {})


def test_user_content_is_untouched() -> None:
    """SEC-4: any key at any depth, a key named jsonrpc too, exact integers, real booleans."""
    params = {
        "my-key": 1,
        "a": {"jsonrpc": "9", "b": [{"jsonrpc": {"id": 1}}]},
        "n": HUGE,
        "t": True,
    }
    read = parse(message(id=1, method="x", params=params))
    assert read == Request(1, "x", params)
    assert isinstance(read, Request)
    assert json.loads(answer(1, read.params))["result"] == params
    assert read.params["t"] is True


def test_the_last_of_duplicate_keys_wins_and_unknown_members_are_ignored() -> None:
    """X-03."""
    body = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x","traceparent":1,"params":{"a":1,"a":2}}'
    assert parse(body) == Request(2, "x", {"a": 2})


def test_half_a_surrogate_pair_is_sent_as_a_replacement_character() -> None:
    """SEC-4: a name of a file need not be text, and its answer is sent all the same."""
    name = "a\udcffb"
    sent = answer(1, {"root": name, name: [(name, 10**30, None)]})
    assert json.loads(sent)["result"] == {
        "root": "a\ufffdb",
        "a\ufffdb": [["a\ufffdb", 10**30, None]],
    }
    assert json.loads(failure(1, RpcError(1, name, name)))["error"]["data"] == "a\ufffdb"


def test_an_error_without_data_has_no_such_member() -> None:
    """X-03."""
    assert json.loads(failure(None, RpcError(1, "m"))) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": 1, "message": "m"},
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
members = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]),
    st.just("2.0") | json_values,
)


@given(members | json_values, st.integers(0, 200), st.binary(max_size=3))
def test_no_message_raises(value: Any, at: int, noise: bytes) -> None:
    """SEC-4: whole, cut off, and with bytes put in."""
    body = json.dumps(value).encode()
    for mangled in (body, body[:at], body[:at] + noise + body[at:]):
        parse(mangled)
        refused(mangled[:4096], "why")
