"""`promptkit/exchange/*` over the wire."""

import asyncio
from pathlib import Path
from typing import Any

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from tests.support.session import Client, attached
from tests.support.workspace import Workspace, echoing


async def captured(client: Client, text: str, **more: Any) -> str:
    params = {"promptId": "ask", "variables": {"text": text}, "capture": True} | more
    return (await client.request("promptkit/run", params))["runId"]


async def details(client: Client, run_id: str, **more: Any) -> Any:
    return await client.request("promptkit/exchange/details", {"runId": run_id} | more)


async def test_details_are_the_messages_the_answer_and_two_run_ids(tmp_path: Path) -> None:
    """DET-1, DET-2, CAP-5."""
    cache = {"type": "ephemeral", "ttl": "1h"}
    workspace = Workspace(tmp_path).scripted({"content": "OK \n"})
    workspace.prompt(
        "ask", {"role": "system", "content": "be", "cache": cache}, "{{ text }}\n", profile="p"
    )
    async with attached(workspace.root) as client:
        first = await captured(client, "one")
        assert await details(client, first) == {
            "runId": first,
            "messages": [
                {"role": "system", "content": "be", "cache": cache},
                {"role": "user", "content": "one\n"},
                {"role": "assistant", "content": "OK \n"},
            ],
            "content": "OK \n",
        }
        second = await captured(client, "two", continueFrom=first)
        assert (await details(client, second))["parentRunId"] == first


async def test_reading_renders_nothing_and_needs_no_file(tmp_path: Path) -> None:
    """DET-4, OWN-2."""
    workspace = echoing(tmp_path)
    async with attached(workspace.root) as client:
        run_id = await captured(client, "one")
        before = await details(client, run_id)
        (tmp_path / "promptkit.yaml").unlink()
        (tmp_path / "prompts" / "ask.prompt.yaml").unlink()
        await client.request("promptkit/engine/close")
        assert await details(client, run_id) == before


async def test_continuing_changes_neither_the_source_nor_a_sibling(tmp_path: Path) -> None:
    """OWN-1, DET-3, H-01."""
    async with attached(echoing(tmp_path).root) as client:
        base = await captured(client, "base")
        before = await details(client, base)
        left = await captured(client, "left", continueFrom=base)
        left_before = await details(client, left)
        right = await captured(client, "right", continueFrom=base)
        assert await details(client, base) == before
        assert await details(client, left) == left_before
        assert (await details(client, right))["messages"][:2] == before["messages"]


async def test_a_release_breaks_no_exchange_built_on_it(tmp_path: Path) -> None:
    """OWN-5, OWN-7."""
    async with attached(echoing(tmp_path).root) as client:
        base = await captured(client, "b" * 1000)
        size = (await client.request("promptkit/session/status"))["exchanges"]["bytes"]
        branch = await captured(client, "x", continueFrom=base)
        both = (await client.request("promptkit/session/status"))["exchanges"]
        assert both["count"] == 2
        assert size < both["bytes"] < size + 20
        assert await client.request("promptkit/exchange/release", {"runId": base}) is None
        assert (await client.request("promptkit/session/status"))["exchanges"] == {
            "count": 1,
            "bytes": both["bytes"],
        }
        assert (await details(client, branch))["messages"][0]["content"] == "b" * 1000
        for method in ("details", "release"):
            error = await client.refused(f"promptkit/exchange/{method}", {"runId": base})
            assert error.data["kind"] == "exchangeNotFound"
        await client.request("promptkit/exchange/release", {"runId": branch})
        assert (await client.request("promptkit/session/status"))["exchanges"]["bytes"] == 0


async def test_pages_joined_are_the_whole(tmp_path: Path) -> None:
    """DET-1."""
    async with attached(echoing(tmp_path).root) as client:
        messages = [{"role": "user", "content": f"{n} " + "é" * (n % 7)} for n in range(40)]
        run_id = await captured(client, "one", messages=messages)
        whole = await details(client, run_id)
        pages: list[Any] = []
        cursor = None
        while not pages or cursor:
            page = await details(client, run_id, maxBytes=200, cursor=cursor)
            assert page["messages"]
            pages.append(page)
            cursor = page.get("nextCursor")
        assert len(pages) > 5
        assert [one for page in pages for one in page["messages"]] == whole["messages"]
        assert "".join(page["content"] for page in pages) == whole["content"]
        assert all(page["content"] == "" for page in pages[:-1])


async def test_a_message_larger_than_a_page_still_comes(tmp_path: Path) -> None:
    async with attached(echoing(tmp_path).root) as client:
        run_id = await captured(client, "x" * 5000)
        page = await details(client, run_id, maxBytes=1)
        assert [len(one["content"]) for one in page["messages"]] == [5000]
        rest = await details(client, run_id, maxBytes=1, cursor=page["nextCursor"])
    assert rest["messages"][0]["role"] == "assistant"
    assert "nextCursor" not in rest


async def test_a_cursor_that_was_never_given_is_refused(tmp_path: Path) -> None:
    async with attached(echoing(tmp_path).root) as client:
        run_id = await captured(client, "x")
        for cursor in ("", "0", "2", "01", "-1", "1.0", "²", "9" * 5000, "x"):
            error = await client.refused(
                "promptkit/exchange/details", {"runId": run_id, "cursor": cursor}
            )
            assert (error.code, error.data["kind"]) == (-32602, "requestInvalid")
        for bound in (0, -1, True, "5"):
            error = await client.refused(
                "promptkit/exchange/details", {"runId": run_id, "maxBytes": bound}
            )
            assert error.code == -32602


async def test_reading_a_long_history_lets_others_be_served(tmp_path: Path) -> None:
    """R-20."""
    async with attached(echoing(tmp_path).root) as client:
        assert client.session is not None
        long = tuple(Message(Role.USER, "x" * 100_000) for _ in range(120))
        client.session.state.exchanges.hold(
            Exchange("long", None, History((*long, Message(Role.ASSISTANT, "end"))))
        )
        reading = client.start("promptkit/exchange/details", {"runId": "long"})
        await asyncio.sleep(0)
        for _ in range(3):
            await client.request("promptkit/session/status")
        assert not reading.done()
        assert len((await reading)["messages"]) == 121


async def test_any_engine_continues_any_exchange(tmp_path: Path) -> None:
    """OWN-3, OWN-4, CFG-1."""
    other = Workspace(tmp_path / "other").scripted({"content": "from the other"})
    other.prompt("more", "and {{ text }}", profile="p")
    async with attached(echoing(tmp_path / "main").root) as client:
        base = await captured(client, "one")
        opened = await client.request("promptkit/engine/open", {"root": str(other.root)})
        await client.request("promptkit/engine/close")
        run_id = await captured(
            client, "two", promptId="more", engineId=opened["engineId"], continueFrom=base
        )
        said = [one["content"] for one in (await details(client, run_id))["messages"]]
    assert said[0] == "one"
    assert said[2:] == ["and two", "from the other"]
