"""Whole sessions with failures, and not one key in anything that left the daemon.

Looked through are its output, its error output at the most verbose level, a log that takes whatever
any library says, and every text that a held exchange leads to. The long form, `-m load`, has every
way to spell a key and every place to cut a stream.
"""

from pathlib import Path

import pytest

from tests.secrets.canaries import CANARIES, SPELLED, spelled
from tests.secrets.echoes import streamed
from tests.secrets.session import PROXIES, Json, Session, sent, watched, written
from tests.support.provider import Provider, completion, refusal, respond
from tests.support.workspace import Workspace


@pytest.mark.parametrize(
    "spellings",
    [
        pytest.param(("raw",), id="short"),
        pytest.param(SPELLED, id="long", marks=pytest.mark.load),
    ],
)
async def test_a_session_of_failures_shows_no_key(
    tmp_path: Path, spellings: tuple[str, ...]
) -> None:
    """SEC-1, K-03, K-04, K-09, OWN-4: keys of all sources, echoed in every place."""
    async with Provider() as provider:
        workspace = written(tmp_path / "workspace", provider.url)
        async with watched(workspace.root, tmp_path / "log") as daemon:
            session = Session(daemon, provider)
            await session.everything(spellings)
            await session.looked_at()
            assert session.results
            assert len(session.errors) > len(session.results)
        for name in ("env", "file", "command", "client", "direct", "gate", "fixed", "query"):
            assert CANARIES[name] in sent(provider)


@pytest.mark.parametrize(
    "spellings",
    [
        pytest.param(("json",), id="short"),
        pytest.param(SPELLED, id="long", marks=pytest.mark.load),
    ],
)
async def test_a_stream_that_is_cut_anywhere_shows_no_key(
    tmp_path: Path, spellings: tuple[str, ...]
) -> None:
    """SEC-1: the key comes in two pieces, in three, and character by character."""
    async with Provider() as provider:
        workspace = written(tmp_path / "workspace", provider.url)
        async with watched(workspace.root, tmp_path / "log") as daemon:
            for how in spellings:
                text = f"it is {spelled(CANARIES['file'], how)}, no more"
                for cut in range(6, len(text)):
                    for cuts in ((cut,), (cut, cut + 1), (cut, cut + 7), range(1, cut)):
                        provider.play(streamed(text, cuts))
                        result = await daemon.request(
                            "promptkit/run",
                            {
                                "promptId": "ask",
                                "profile": "openai-file",
                                "variables": {"text": "x"},
                                "partialResultToken": cut,
                            },
                        )
                        # Of base64 a last character may stay that is not the key's alone.
                        assert result["content"].startswith("it is ***")


async def test_a_proxy_that_echoes_its_login_shows_none(tmp_path: Path) -> None:
    """SEC-1, T-17: whole or in parts; of a proxy on the way to http and to https."""
    key = CANARIES["proxy"]
    parts = [key, spelled(key, "url"), spelled(f"me:{key}", "base64")]
    parts.append(f"Basic {parts[-1]}")
    async with Provider() as proxy:
        workspace = Workspace(tmp_path / "workspace").prompt("ask", "{{ text }}")
        urls = {"plain": "http://provider.test/v1", "secure": "https://provider.test/v1"}
        workspace.settings(
            backends={
                name: {"kind": "openai", "baseUrl": url, "retry": {"attempts": 1}}
                for name, url in urls.items()
            },
            profiles={name: {"backend": name, "model": "m"} for name in urls},
        )
        address = proxy.url.replace("//", f"//me:{key}@")
        env = dict.fromkeys(PROXIES[:2], address)
        async with watched(workspace.root, tmp_path / "log", **env) as daemon:
            params: Json = {"promptId": "ask", "variables": {"text": "x"}}
            for part in parts:
                for profile in urls:
                    for status in (407, 502):
                        proxy.play(refusal(status, {"error": {"message": f"no {part}"}}))
                        await daemon.refused("promptkit/run", params | {"profile": profile})
                for script in (completion(f"your login is {part}"), respond(200, part.encode())):
                    proxy.play(script)
                    await daemon.start("promptkit/run", params | {"profile": "plain"}).settled()
        assert spelled(f"me:{key}", "base64") in sent(proxy)


async def test_a_key_in_the_wrong_place_of_a_file_is_not_repeated(tmp_path: Path) -> None:
    """SEC-1, K-10: in problems, in errors of runs, in inspections and in the log."""
    login, fixed = CANARIES["login"], CANARIES["fixed"]
    wrong: list[Json] = [
        {"credential": fixed},
        {"credential": {"env": fixed}},
        {"credential": {"key": fixed}},
        {"credential": [fixed]},
        {"apiKey": fixed},
        {"baseUrl": f"http://me:{login}@127.0.0.1:1/v1"},
        {"baseUrl": f"ftp://127.0.0.1/?key={login}"},
        {"baseUrl": f"http://[{login}"},
        {"headers": {"Authorization": [fixed]}},
        {"headers": {"Authorization": f"{fixed}\n"}},
        {"headers": {"Authorization": {"env": fixed}}},
        {"headers": fixed},
    ]
    workspace = Workspace(tmp_path / "workspace").prompt("ask", "x")
    workspace.settings(
        backends={
            f"b{number}": {"kind": "openai", "baseUrl": "http://127.0.0.1:1/v1"} | one
            for number, one in enumerate(wrong)
        },
        profiles={
            f"b{number}": {"backend": f"b{number}", "model": "m"} for number in range(len(wrong))
        },
    )
    async with watched(workspace.root, tmp_path / "log") as daemon:
        reloaded = await daemon.request("promptkit/engine/reload")
        assert len(reloaded["problems"]) >= len(wrong)
        for number in range(len(wrong)):
            params: Json = {"promptId": "ask", "profile": f"b{number}"}
            await daemon.refused("promptkit/run", params)
            await daemon.start("promptkit/backend/inspect", {"backend": f"b{number}"}).settled()
