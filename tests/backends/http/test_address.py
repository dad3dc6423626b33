import base64

import pytest

from promptkit_rpc.backends.http.address import Address
from promptkit_rpc.definitions.settings import BackendKind, HeaderValue
from promptkit_rpc.errors import ConfigInvalid
from promptkit_rpc.secret import Secret
from tests.support.calls import HERE, settings


def address(url: str, *headers: tuple[str, HeaderValue]) -> Address:
    return Address(settings(BackendKind.OPENAI, url, headers=headers), url, "/chat/completions")


@pytest.mark.parametrize(
    ("url", "full"),
    [
        ("http://h/v1", "http://h/v1/chat/completions"),
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h", "http://h/chat/completions"),
        ("https://h:8/a/b?x=1", "https://h:8/a/b/chat/completions?x=1"),
        ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
        ("http://[::1]:9/v1#top", "http://[::1]:9/v1/chat/completions"),
    ],
)
def test_the_path_is_put_behind_that_of_the_base_url(url: str, full: str) -> None:
    assert address(url).url == full


@pytest.mark.parametrize(
    "url",
    ["", "h/v1", "ftp://h", "http://", "http:///v1", "http://h:x", "http://[h", "http://h\n/"],
)
def test_what_is_no_http_url_is_refused_with_its_place(url: str) -> None:
    with pytest.raises(ConfigInvalid, match="baseUrl") as caught:
        address(url)
    assert caught.value.location == HERE


def test_keys_in_the_url_are_secrets_and_other_values_only_ordinary() -> None:
    """K-04."""
    made = address("http://me:canary-PW@h/v1?key=canary-EEEE&api-version=2024-10-21")
    assert "canary" not in made.shown
    assert next(s.reveal() for s in made.secrets([])) == "canary-EEEE"
    assert [s.reveal() for s in made.ordinary] == ["2024-10-21"]
    assert made.login is not None
    assert base64.b64decode(made.login.header.reveal().removeprefix("Basic ")) == b"me:canary-PW"
    assert made.where == "h"


def test_a_header_from_the_environment_is_a_secret_and_read_each_time() -> None:
    """SEC-1, K-03."""
    made = address("http://h", ("X-Gate", HeaderValue(env="GATE")), ("X-Team", HeaderValue("docs")))
    for value in ("canary-1", "canary-2"):
        headers = dict(made.headers({"GATE": f" {value}\n"}))
        assert headers["x-team"] == "docs"
        gate = headers["x-gate"]
        assert isinstance(gate, Secret)
        assert gate.reveal() == value
        assert gate in list(made.secrets(list(headers.items())))


def test_a_telling_name_makes_a_written_value_a_secret() -> None:
    """SEC-1."""
    made = address("http://h", ("Api-Key", HeaderValue("canary-HHHH")))
    assert isinstance(dict(made.headers({}))["api-key"], Secret)


def test_an_unset_variable_is_told_by_name() -> None:
    made = address("http://h", ("X-Gate", HeaderValue(env="GATE")))
    with pytest.raises(ConfigInvalid, match=r"GATE.*X-Gate|GATE.*x-gate"):
        made.headers({})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X Gate", "a"),
        ("X-Gate", "canary\r\nX: y"),
        ("X-Gate", "canary-é"),
        ("Content-Length", "1"),
        ("host", "evil"),
    ],
)
def test_a_header_that_would_break_the_request_is_refused_unseen(name: str, value: str) -> None:
    """SEC-1, SEC-4."""
    with pytest.raises(ConfigInvalid, match="header") as caught:
        address("http://h", (name, HeaderValue(value)))
    assert "canary" not in str(caught.value)
