"""Proxy variables that are odd, as the daemon's environment has them.

Siblings tried beside T-17: other spellings and schemes, ports that are none, a login, a proxy that
is there, certificates that are not, and the kinds of backend that need no HTTP.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.support.provider import Provider, completion
from tests.support.stage import ANTHROPIC, OPENAI, Stage, stage

Json = Any

NO_PROXIES = dict.fromkeys(
    name
    for plain in ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
    for name in (plain, plain.upper())
)
WORKS: list[Mapping[str, str]] = [
    {"NO_PROXY": "localhost,[::1]", "HTTPS_PROXY": "", "https_proxy": " ", "ALL_PROXY": ""},
    {"HTTPS_PROXY": "socks5://127.0.0.1:9", "SSL_CERT_FILE": "/nowhere"},
    {"ALL_PROXY": "socks://127.0.0.1:9", "NO_PROXY": "127.0.0.0/8, ,[::1]:x,.example"},
    {"all_proxy": "nonsense://", "HTTP_PROXY": "http://127.0.0.1:9", "no_proxy": "*"},
]
FAILS: list[Mapping[str, str]] = [
    {"ALL_PROXY": "socks://127.0.0.1:9"},
    {"http_proxy": "socks5h://canary-user:canary-word@127.0.0.1:9"},
    {"HTTP_PROXY": "http://[::1:99999", "NO_PROXY": "localhost,[::1]"},
]


async def _scripted_runs(stage: Stage) -> None:
    """Neither the start nor a backend without HTTP heeds any of it."""
    stage.workspace.settings(
        backends={"b": stage.backend(), "s": {"kind": "scripted"}},
        profiles={name: {"backend": name, "model": "m"} for name in "bs"},
    )
    assert (await stage.run("echo", profile="s")).result["content"] == "echo"


@pytest.mark.parametrize("env", WORKS, ids=str)
async def test_a_variable_that_does_not_count_here_breaks_nothing(
    tmp_path: Path, env: Mapping[str, str]
) -> None:
    """T-17."""
    async with Daemon(env={**NO_PROXIES, **env}) as daemon:
        for way in (OPENAI, ANTHROPIC):
            async with stage(daemon, tmp_path / way.kind, way) as one:
                await _scripted_runs(one)
                one.play("hi")
                assert (await one.run(profile="b")).result["content"] == "hi"


@pytest.mark.parametrize("env", FAILS, ids=str)
async def test_a_variable_that_cannot_be_used_is_named_when_it_is_needed(
    tmp_path: Path, env: Mapping[str, str]
) -> None:
    """T-17: a configuration error for the HTTP backend, without the login, and again each time."""
    name, value = next(iter(env.items()))
    async with Daemon(env={**NO_PROXIES, **env}) as daemon, stage(daemon, tmp_path, OPENAI) as one:
        await _scripted_runs(one)
        for _ in range(2):
            failed = (await one.run(profile="b")).failure
            assert failed.kind == "configInvalid"
            assert name in failed.message
            assert value not in failed.message
        assert one.requests == []
        assert b"canary" not in daemon.received
        assert "canary" not in daemon.stderr


async def test_a_proxy_that_is_named_is_used_and_its_login_is_not_shown(tmp_path: Path) -> None:
    """T-17: by every kind."""
    async with Provider() as proxy:
        proxy.play(completion("by proxy"))
        env = {"http_proxy": f"user:canary-word@127.0.0.1:{proxy.port}"}
        async with Daemon(env={**NO_PROXIES, **env}) as daemon:
            async with stage(daemon, tmp_path, OPENAI) as one:
                assert (await one.run()).result["content"] == "by proxy"
                assert one.requests == []
            (asked,) = proxy.requests
            assert asked.target == f"{one.provider.url}/chat/completions"
            assert asked.headers["proxy-authorization"].startswith("Basic ")
            assert b"canary" not in daemon.received
