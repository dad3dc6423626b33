import pytest

from promptkit_rpc.backends.http.proxies import Proxy, proxy_for
from promptkit_rpc.errors import ConfigInvalid

PROXY = "http://proxy.example:3128"


def found(scheme: str = "https", host: str = "api.example", **environ: str) -> Proxy | None:
    port = {"http": 80, "https": 443}[scheme]
    return proxy_for(scheme, host, port, environ)


def test_each_scheme_has_its_own_variable() -> None:
    """T-17."""
    assert found("https", HTTP_PROXY=PROXY) is None
    proxy = found("https", HTTPS_PROXY=PROXY)
    assert proxy is not None
    assert (proxy.scheme, proxy.host, proxy.port) == ("http", "proxy.example", 3128)
    assert found("http", HTTPS_PROXY=PROXY) is None
    assert found("http", HTTP_PROXY=PROXY) is not None
    assert found("http", ALL_PROXY=PROXY) is not None
    assert found("http") is None


def test_the_schemes_own_variable_goes_before_all_proxy_and_lower_case_before_upper() -> None:
    other = "http://other.example:1"
    for environ in (
        {"HTTPS_PROXY": PROXY, "ALL_PROXY": other},
        {"https_proxy": PROXY, "HTTPS_PROXY": other},
        {"all_proxy": PROXY, "ALL_PROXY": other},
        {"https_proxy": "", "HTTPS_PROXY": PROXY},
    ):
        proxy = found(**environ)
        assert proxy is not None
        assert proxy.host == "proxy.example"


@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_variable_is_none(empty: str) -> None:
    """T-17."""
    assert found(HTTPS_PROXY=empty, ALL_PROXY=empty, NO_PROXY=empty) is None


def test_a_proxy_without_a_scheme_is_an_http_one() -> None:
    proxy = found(HTTPS_PROXY="127.0.0.1:3128")
    assert proxy is not None
    assert (proxy.scheme, proxy.host, proxy.port) == ("http", "127.0.0.1", 3128)
    assert proxy_port("https://proxy.example") == 443
    assert proxy_port("http://proxy.example") == 80


def proxy_port(value: str) -> int:
    proxy = found(HTTPS_PROXY=value)
    assert proxy is not None
    return proxy.port


@pytest.mark.parametrize(
    "value",
    ["socks://127.0.0.1:9", "socks5h://h:1", "ftp://h", "http://", "http://h:port", "http://[::1"],
)
def test_what_is_no_http_proxy_is_told_by_its_variable(value: str) -> None:
    """T-17."""
    with pytest.raises(ConfigInvalid, match="ALL_PROXY"):
        found(ALL_PROXY=value)


def test_the_message_about_a_bad_proxy_holds_no_password() -> None:
    """SEC-1."""
    with pytest.raises(ConfigInvalid, match="HTTPS_PROXY") as caught:
        found(HTTPS_PROXY="socks://me:canary-FFFF@h:1")
    assert "canary" not in str(caught.value)


def test_a_login_becomes_a_secret() -> None:
    """SEC-1."""
    proxy = found(HTTPS_PROXY="http://me:p%40ss@h:1")
    assert proxy is not None
    assert proxy.login is not None
    assert proxy.login.header.reveal() == "Basic bWU6cEBzcw=="
    assert "bWU6" not in repr(proxy)


@pytest.mark.parametrize(
    ("exceptions", "host"),
    [
        ("*", "api.example"),
        ("localhost,[::1]", "localhost"),
        ("localhost,[::1]", "::1"),
        ("::1", "::1"),
        ("example", "api.example"),
        (".example", "api.example"),
        ("*.example", "api.example"),
        ("API.Example", "api.example"),
        ("api.example:443", "api.example"),
        ("other , api.example", "api.example"),
        ("https://api.example", "api.example"),
        ("10.0.0.0/8", "10.2.3.4"),
        ("fd00::/8", "fd00::1"),
        ("127.0.0.1", "127.0.0.1"),
    ],
)
def test_no_proxy_names_hosts_in_many_ways(exceptions: str, host: str) -> None:
    """T-17."""
    assert found(host=host, ALL_PROXY=PROXY, NO_PROXY=exceptions) is None
    assert found(host=host, ALL_PROXY="socks://h:1", no_proxy=exceptions) is None


@pytest.mark.parametrize(
    ("exceptions", "host"),
    [
        ("ample", "api.example"),
        ("i.example", "api.example"),
        ("api.example:80", "api.example"),
        ("api.example.org", "api.example"),
        ("10.0.0.0/8", "11.0.0.1"),
        ("10.0.0.0/8", "api.example"),
        ("[::1", "::1"),
        (",,[,]/:", "api.example"),
    ],
)
def test_an_entry_that_names_another_host_or_nothing_has_no_effect(
    exceptions: str, host: str
) -> None:
    """T-17."""
    assert found(host=host, ALL_PROXY=PROXY, NO_PROXY=exceptions) is not None
