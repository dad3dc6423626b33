"""TLS to the provider and through proxies, with an authority made for these tests."""

import ssl
from pathlib import Path

import pytest

from promptkit_rpc.definitions.settings import Timeouts
from promptkit_rpc.errors import ConfigInvalid, Reason
from tests.support.calls import Sink, call, error, failure, openai
from tests.support.provider import (
    End,
    Provider,
    Script,
    completion,
    refusal,
    respond,
    streamed_completion,
    tunnel,
)

TLS = Path(__file__).parents[2] / "support" / "tls"


def serving() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "provider.pem")
    return context


@pytest.fixture
def _trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "authority.pem"))


@pytest.mark.usefixtures("_trusting")
async def test_calls_over_tls_share_a_connection() -> None:
    async with Provider(tls=serving()) as provider:
        provider.play(completion("safe"), streamed_completion("a", "b"))
        provider.always(completion("x" * 500_000))
        backend, sink = openai(provider.url), Sink()
        assert (await backend.generate(call())).content == "safe"
        assert (await backend.generate(call(deltas=sink))).content == "ab"
        answer = await backend.generate(call("y" * 3_000_000))
        assert len(answer.content) == 500_000
        assert len(provider.requests[2].json()["messages"][0]["content"]) == 3_000_000
        assert provider.connections == 1
        await backend.close()


async def test_a_certificate_that_is_not_trusted_is_told_as_such_and_not_tried_again() -> None:
    """RET-1."""
    async with Provider(tls=serving()) as provider:
        failed = await error(openai(provider.url), call(key="sk-canary-DDDD"))
        assert (failed.reason, failed.retryable, failed.billed) == (
            Reason.CONNECTION,
            False,
            False,
        )
        assert "certificate is not trusted" in failed.message
        assert "SSL_CERT_FILE" in failed.message
        assert not provider.requests


@pytest.mark.usefixtures("_trusting")
async def test_a_server_that_speaks_no_tls_is_told_as_such() -> None:
    """RET-1."""
    async with Provider(greeting=b"HTTP/1.1 400 This is no place for TLS\r\n\r\n") as plain:
        failed = await error(openai(plain.url.replace("http", "https")))
        assert failed.reason is Reason.CONNECTION
        assert not failed.billed
        assert "TLS failed (wrong version number)" in failed.message


async def test_a_file_of_authorities_that_is_absent_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/authority.pem")
    with pytest.raises(ConfigInvalid, match="SSL_CERT_FILE"):
        await openai("https://127.0.0.1:1").generate(call())


@pytest.mark.usefixtures("_trusting")
async def test_tls_goes_through_a_proxys_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    """T-17: the proxy sees where to, and neither key nor prompt."""
    async with Provider(tls=serving()) as provider, Provider() as proxy:
        proxy.always(tunnel())
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:canary-PW@"))
        provider.always(completion("through"))
        backend = openai(f"https://provider.example:{provider.port}")
        for _ in range(2):
            answer = await backend.generate(call("canary-PROMPT", key="sk-canary-DDDD"))
            assert answer.content == "through"
        assert len(proxy.requests) == 1
        opened = proxy.requests[0]
        assert (opened.method, opened.target) == ("CONNECT", f"provider.example:{provider.port}")
        assert opened.headers["proxy-authorization"] == "Basic bWU6Y2FuYXJ5LVBX"
        assert b"canary" not in opened.raw
        assert "proxy-authorization" not in provider.requests[0].headers
        await backend.close()


async def test_plain_http_is_handed_to_the_proxy_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """T-17."""
    async with Provider() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("//", "//me:pw@"))
        proxy.play(completion("passed on"), refusal(407, {"error": "who are you"}))
        backend = openai("http://provider.example:81")
        assert (await backend.generate(call())).content == "passed on"
        request = proxy.requests[0]
        assert request.target == "http://provider.example:81/v1/chat/completions"
        assert request.headers["host"] == "provider.example:81"
        assert request.headers["proxy-authorization"] == "Basic bWU6cHc="
        failed = await error(backend)
        assert (failed.http_status, failed.reason) == (407, Reason.AUTHENTICATION)
        await backend.close()


@pytest.mark.parametrize(
    ("status", "reason", "retryable"),
    [
        (407, Reason.AUTHENTICATION, False),
        (403, Reason.CONNECTION, False),
        (502, Reason.CONNECTION, True),
    ],
)
@pytest.mark.usefixtures("_trusting")
async def test_a_proxy_that_opens_no_tunnel_is_named(
    status: int, reason: Reason, *, retryable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RET-1, T-17."""
    async with Provider() as proxy:
        proxy.always(respond(status))
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        failed = await error(openai("https://provider.example"))
        assert (failed.reason, failed.retryable, failed.billed) == (reason, retryable, False)
        assert f"through the proxy 127.0.0.1:{proxy.port} (HTTPS_PROXY)" in failed.message


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ((End.CLOSE,), "the proxy closed the connection"),
        ((b"HTTP/1.1 200 Conn", End.CLOSE), "the proxy closed the connection"),
        ((b"SSH-2.0-other\r\n", End.NEVER), "the proxy cannot be understood: it is no valid HTTP"),
    ],
)
@pytest.mark.usefixtures("_trusting")
async def test_a_tunnel_that_breaks_off_has_cost_nothing(
    script: Script, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """USE-2, RET-1, T-17: the provider has got nothing yet, and is not the one to look at."""
    async with Provider() as proxy:
        proxy.always(script)
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//me:canary-PW@"))
        failed = await error(openai("https://provider.example"))
        assert (failed.reason, failed.retryable, failed.billed) == (Reason.CONNECTION, True, False)
        assert failed.message == (
            "no connection to provider.example through the proxy"
            f" 127.0.0.1:{proxy.port} (HTTPS_PROXY): {why}"
        )


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.usefixtures("_trusting")
async def test_a_proxy_that_is_not_there_is_named(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RET-1, T-17."""
    monkeypatch.setenv("all_proxy", "http://[::1]:1")
    failed = await error(openai(f"{scheme}://127.0.0.1:2"))
    assert failed.message.startswith(
        "no connection to 127.0.0.1:2 through the proxy [::1]:1 (all_proxy): "
    )


@pytest.mark.usefixtures("_trusting")
async def test_a_proxy_that_never_opens_the_tunnel_is_a_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RET-1."""
    async with Provider() as proxy:
        proxy.always((End.NEVER,))
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        limits = Timeouts(connect=0.03)
        failed = await failure(openai("https://provider.example", timeouts=limits))
        assert failed.error.reason is Reason.TIMEOUT
        assert f"through the proxy 127.0.0.1:{proxy.port}" in failed.error.message
        await proxy.hung_up(1)


async def test_an_odd_environment_spoils_only_what_it_means(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """T-17."""
    async with Provider() as provider:
        provider.always(completion())
        monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:9")
        spoiled = openai(provider.url)
        with pytest.raises(ConfigInvalid, match="ALL_PROXY"):
            await spoiled.generate(call())
        for name, value in (("NO_PROXY", "localhost,[::1],127.0.0.1"), ("ALL_PROXY", "")):
            monkeypatch.setenv(name, value)
            backend = openai(provider.url)
            assert (await backend.generate(call())).content == "hi"
            await backend.close()
        monkeypatch.setenv("NO_PROXY", "localhost,[::1]")
        monkeypatch.setenv("HTTPS_PROXY", "")
        assert (await spoiled.generate(call())).content == "hi"
        await spoiled.close()
