import base64
import copy
import json
import logging
import pickle
import re
import sys
from collections.abc import Callable
from urllib.parse import quote

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.errors import ConfigInvalid, CredentialMissing, RequestInvalid
from promptkit_rpc.secret import (
    MASK,
    Redactor,
    Secret,
    SecretFilter,
    guard_logging,
    known,
    shown_url,
)

KEY = 'sk-canary/"DDDD\\+7?'


def parse(text: str) -> Secret:
    return Secret.parse(text, source="environment variable API_KEY")


def test_nothing_shows_a_secret() -> None:
    """SEC-1, K-09."""
    secret = Secret("canary-AAAA")
    shown = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", format(secret, "x")]
    shown += [repr([secret]), f"{secret!r:>40}"]
    assert not [text for text in shown if "canary" in text]
    assert copy.copy(secret) is secret
    assert copy.deepcopy({"key": secret})["key"] is secret


@pytest.mark.parametrize("write", [pickle.dumps, json.dumps, Secret.__getstate__])
def test_a_secret_is_not_serialized(write: object) -> None:
    """SEC-1, K-09."""
    assert callable(write)
    with pytest.raises(TypeError) as caught:
        write(Secret("canary-AAAA"))
    assert "canary" not in str(caught.value)


def test_a_value_that_holds_a_secret_does_not_show_it() -> None:
    """K-09."""

    @attrs.frozen
    class Holder:
        key: Secret

    assert "canary" not in repr(Holder(Secret("canary-AAAA")))


def test_two_secrets_with_one_value_are_not_equal() -> None:
    one, other = Secret("canary-AAAA"), Secret("canary-AAAA")
    assert one == one  # noqa: PLR0124 - identity is what is shown
    assert one != other


@pytest.mark.parametrize("text", [" sk-canary-DDDD\r", "\tsk-canary-DDDD \n", "sk-canary-DDDD"])
def test_white_space_around_a_key_is_taken_off(text: str) -> None:
    """K-02."""
    assert parse(text).reveal() == "sk-canary-DDDD"


@pytest.mark.parametrize("text", ["", "  ", "\r\n"])
def test_an_empty_key_is_missing(text: str) -> None:
    """K-02."""
    with pytest.raises(CredentialMissing, match="API_KEY"):
        parse(text)


@pytest.mark.parametrize("text", ["sk-canary-é", "sk-canary\x00D", "sk-canary\r\nX: y", "ключ"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(text: str) -> None:
    """K-02."""
    with pytest.raises(ConfigInvalid, match="API_KEY") as caught:
        parse(text)
    assert "canary" not in str(caught.value)


def test_the_caller_says_which_error_a_bad_key_is() -> None:
    """K-02."""
    with pytest.raises(RequestInvalid):
        Secret.parse("é", source="the credential", invalid=RequestInvalid)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("${OPENAI_API_KEY}", "OPENAI_API_KEY"),
        ("$OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("API_KEY", "API_KEY"),
        ("MY_TOKEN_2", "MY_TOKEN_2"),
        ("${lower}", "lower"),
    ],
)
def test_a_placeholder_is_no_key(text: str, name: str) -> None:
    """K-10."""
    with pytest.raises(ConfigInvalid, match=f"variable {name}"):
        Secret.parse(text, source="the credential")


@pytest.mark.parametrize("text", ["$ecret-word", "SK_LIVE_51H8ABCDEF", "PLAIN", "a_b_c", "$$"])
def test_what_only_resembles_a_placeholder_is_a_key(text: str) -> None:
    """K-10."""
    assert parse(text).reveal() == text


def test_every_spelling_of_a_secret_is_taken_out() -> None:
    """SEC-1, K-09."""
    redactor = Redactor([Secret(KEY)])
    spelled = [KEY, json.dumps(KEY)[1:-1], json.dumps(KEY)[1:-1].replace("/", "\\/")]
    escaped = quote(KEY, safe="")
    spelled += [quote(KEY), escaped, re.sub("%..", lambda match: match[0].lower(), escaped)]
    for text in spelled:
        shown = redactor.text(f"before {text} after")
        assert shown.startswith("before ")
        assert shown.endswith(" after")
        assert "canary" not in shown


@pytest.mark.parametrize("escaped", ["+", "&<>", "&'+<>`", "&'<=>"])
@pytest.mark.parametrize("form", ["\\u%04x", "\\u%04X"])
def test_a_secret_is_taken_out_as_encoders_write_it_that_mind_html(escaped: str, form: str) -> None:
    """SEC-1: .NET's, Go's and Gson's; the text is one that was no answer, so nobody decodes it."""
    key = "canary+4<a>b&c'd`e/f=="
    written = "".join(form % ord(c) if c in escaped else c for c in key)
    for text in (written, written.replace("/", "\\/")):
        assert Redactor([Secret(key)]).text(f'{{"key":"{text}"}}') == f'{{"key":"{MASK}"}}'


@pytest.mark.parametrize("before", ["", "a", "ab", "user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_inside_base64_is_taken_out(before: str, encode: Callable[[bytes], bytes]) -> None:
    """SEC-1."""
    key = "sk-canary-DDDD??>>"
    hidden = encode(f"{before}{key} and more".encode()).decode()
    shown = Redactor([Secret(key)]).text(hidden)
    assert MASK in shown
    left = shown.replace(MASK, "")
    assert b"canary" not in base64.urlsafe_b64decode(left[: len(left) // 4 * 4])


def test_the_longer_of_two_secrets_goes_first() -> None:
    redactor = Redactor([Secret("canary-1"), Secret("canary-1-and-more")])
    assert redactor.text("canary-1-and-more canary-1") == f"{MASK} {MASK}"


def test_a_short_key_stays_in_answers_and_goes_from_errors() -> None:
    redactor = Redactor([Secret("ollama")])
    assert redactor.answer("ollama is a program") == "ollama is a program"
    assert redactor.text("ollama is a program") == f"{MASK} is a program"
    assert Redactor([Secret("abc")]).text("abc") == "abc"


def test_what_counts_in_text_only_stays_in_answers() -> None:
    redactor = Redactor([None], only_in_text=[Secret("2024-10-21")])
    assert redactor.answer("on 2024-10-21") == "on 2024-10-21"
    assert redactor.text("on 2024-10-21") == f"on {MASK}"


def test_text_without_a_secret_is_the_same_object() -> None:
    text = "nothing to see" * 100
    assert Redactor([Secret("canary-AAAA")]).text(text) is text


@given(
    st.lists(st.sampled_from(["c", "a", "canary-A", "AAA", "canary-AAAA", "can", " ", "-"])),
    st.lists(st.integers(0, 40)),
)
def test_pieces_give_what_the_whole_gives(words: list[str], cuts: list[int]) -> None:
    """SEC-1: however a text is cut, no piece of a secret slips through."""
    redactor = Redactor([Secret("canary-AAAA")])
    text = "".join(words)
    pieces = redactor.pieces()
    shown: list[str] = []
    at = 0
    for cut in cuts:
        shown.append(pieces.feed(text[at : at + cut]))
        at += cut
    shown += [pieces.feed(text[at:]), pieces.flush()]
    assert "".join(shown) == redactor.answer(text)


def test_a_piece_that_begins_no_secret_is_not_held_back() -> None:
    pieces = Redactor([Secret("sk-canary-AAAA")]).pieces()
    assert pieces.feed("hello") == "hello"
    assert pieces.feed(" sk-can") == " "
    assert pieces.feed("dy") == "sk-candy"
    assert pieces.feed("sk-") == ""
    assert pieces.flush() == "sk-"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:1/v1?key=canary-EEEE", f"http://127.0.0.1:1/v1?key={MASK}"),
        ("http://h/?a=canary&b=&canary", f"http://h/?a={MASK}&b={MASK}&{MASK}"),
        ("https://me:canary@h:1/v1#canary", f"https://{MASK}@h:1/v1"),
        ("/next?key=canary", f"/next?key={MASK}"),
        ("http://[canary", MASK),
        ("http://h/v1", "http://h/v1"),
    ],
)
def test_a_url_is_shown_without_what_it_may_hide(url: str, shown: str) -> None:
    """K-04."""
    assert shown_url(url) == shown


def test_known_secrets_are_those_alive() -> None:
    secret = Secret("canary-KNOWN")
    assert known().text("canary-KNOWN") == MASK
    del secret
    assert known().text("canary-KNOWN") == "canary-KNOWN"


def log_of(*lines: object, name: str = "promptkit_rpc", level: int = logging.DEBUG) -> str:
    """What a guarded handler writes for a record with these arguments."""
    written: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(self.format(record))

    handler = Keep()
    guard_logging(handler)
    record = logging.LogRecord(name, level, "", 1, lines[0], lines[1:], None)
    if sys.exc_info()[0] is not None:
        record.exc_info = sys.exc_info()
    handler.handle(record)
    return "".join(written)


def test_no_log_record_shows_a_secret() -> None:
    """SEC-1, K-03."""
    secret = Secret("canary-LOGS")
    assert log_of("key is canary-LOGS") == f"key is {MASK}"
    assert log_of("key is %s, %r", "canary-LOGS", secret) == f"key is {MASK}, Secret({MASK})"
    assert log_of("headers %r", [(b"authorization", b"Bearer canary-LOGS")]).count(MASK) == 1
    assert "canary" not in log_of("too few %s %s", "canary-LOGS")
    assert secret.reveal() == "canary-LOGS"


def test_no_traceback_in_the_log_shows_a_secret() -> None:
    """SEC-1, K-03."""
    secret, text = Secret("canary-LOGS"), ""
    try:
        int(secret.reveal())
    except ValueError:
        text = log_of("failed")
    assert "ValueError" in text
    assert "canary" not in text


@pytest.mark.parametrize("name", ["httpx", "httpcore.http11", "httpcore", "h11"])
def test_http_libraries_are_heard_only_when_something_is_wrong(name: str) -> None:
    """K-03."""
    assert log_of("sent headers", name=name, level=logging.INFO) == ""
    assert log_of("odd", name=name, level=logging.WARNING) == "odd"
    assert not logging.getLogger(name).isEnabledFor(logging.INFO)


def test_one_filter_may_stand_on_several_handlers() -> None:
    """K-03."""
    secret = Secret("canary-LOGS")
    record = logging.LogRecord("x", logging.INFO, "", 1, "at 100%% %s", (secret.reveal(),), None)
    assert SecretFilter().filter(record)
    assert SecretFilter().filter(record)
    assert record.getMessage() == f"at 100% {MASK}"
