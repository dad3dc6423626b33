"""Numbers that a provider or a file gives and the wire cannot say."""

from pathlib import Path
from typing import Any

import pytest

from promptkit_rpc.errors import GenerationFailed, Reason
from promptkit_rpc.rpc.convert.values import counts_to, milliseconds, usage_to
from promptkit_rpc.rpc.errors import RpcError, to_error
from promptkit_rpc.rpc.protocol.base import MAX_INTEGER
from promptkit_rpc.rpc.protocol.usage import TokenTotal
from promptkit_rpc.usage import TokenCounts, Usage
from tests.support.contract import check_error
from tests.support.peers import Lab
from tests.support.session import attached
from tests.support.workspace import Workspace


@pytest.mark.parametrize("wait", [1e15, 1e300, 1e308])
def test_a_wait_that_nobody_lives_to_see_is_told_as_the_longest(wait: float) -> None:
    """SEC-4: the run's error is answered with it."""
    error = GenerationFailed("later", reason=Reason.RATE_LIMITED, retry_after=wait)
    data = to_error(error).data
    check_error(data)
    assert data["retryAfterMs"] == MAX_INTEGER
    assert milliseconds(wait) == MAX_INTEGER


def test_a_count_that_no_reader_is_sure_to_keep_is_unknown() -> None:
    """USE-1: and so is a sum."""
    counts = TokenCounts.reported(input_tokens=MAX_INTEGER, output_tokens=MAX_INTEGER + 1)
    shown = counts_to(counts)
    assert shown.input_tokens == TokenTotal(MAX_INTEGER, complete=True)
    assert shown.output_tokens == shown.total_tokens == TokenTotal(None, complete=False)
    twice = usage_to(Usage.of_attempts([counts, counts]))
    assert twice.input_tokens == TokenTotal(None, complete=False)


async def test_a_failure_that_cannot_be_told_is_answered_all_the_same() -> None:
    """SEC-4: whatever goes wrong while the answer is made."""

    def wrong(raised: Exception) -> RpcError:
        raise OverflowError(str(raised))

    async def later(_params: object, _call: object) -> None:
        raise ValueError("later")

    def now(_params: object, _call: object) -> None:
        raise ValueError("now")

    lab = Lab({"now": now, "later": later}, errors=wrong)
    for ident, method in enumerate(("now", "later")):
        lab.ask(ident, method)
        error = (await lab.answer(ident))["error"]
        assert error["data"] == {"kind": "internal", "retryable": False}


async def test_limits_of_any_size_in_a_file_can_be_inspected(tmp_path: Path) -> None:
    """SEC-4: times for ever."""
    workspace = Workspace(tmp_path).scripted(
        {"fault": {"status": 429, "retryAfter": 1e308}},
        timeouts={"connect": 1e308, "read": 1e300, "total": 1e200},
        retry={"attempts": 3, "baseDelay": 1e300, "maxDelay": 1e308},
    )
    workspace.prompt("ask", "x", profile="p")
    async with attached(workspace.root) as client:
        shown = await client.request("promptkit/backend/inspect", {"backend": "script"})
        assert shown["timeouts"]["connectMs"] == shown["retry"]["maxDelayMs"] == MAX_INTEGER
        running = client.start("promptkit/run", {"promptId": "ask", "workDoneToken": "t"})
        await client.status(lambda status: status["runs"]["active"])
        client.cancel("t")
        assert (await client.refused_by(running)).code == -32800


@pytest.mark.parametrize("number", [2**53, 10**400])
async def test_a_number_in_a_file_that_the_wire_cannot_say_is_a_problem(
    tmp_path: Path, number: int
) -> None:
    """SEC-4: of every count; of times only those that no clock can reach."""
    workspace = Workspace(tmp_path).settings(
        backends={
            "counts": {"kind": "scripted", "capacity": number, "permits": number, "queue": number},
            "tries": {"kind": "scripted", "retry": {"attempts": number}},
            "times": {"kind": "scripted", "timeouts": {"total": number}},
        },
        profiles={"p": {"backend": "times", "model": "m", "parameters": {"maxTokens": number}}},
    )
    workspace.prompt("ask", "x", output={"format": "json", "repairs": number})
    async with attached(workspace.root) as client:
        problems = (await client.request("promptkit/engine/reload"))["problems"]
        wrong = {problem["message"].partition(" ")[0] for problem in problems}
        counts = {"'capacity'", "'permits'", "'queue'", "'attempts'", "'maxTokens'", "'repairs'"}
        assert wrong == counts | ({"'total'"} if number > 2**53 else set())
        for name in ("counts", "tries", "times"):
            await client.answered("promptkit/backend/inspect", {"backend": name})
        await client.answered("promptkit/profile/inspect", {"profile": "p"})
        await client.answered("promptkit/prompt/inspect", {"promptId": "ask"})


@pytest.mark.parametrize("place", ["messages[].cache", "parameters.extra", "output.schema"])
async def test_a_value_that_is_too_deep_to_keep_is_refused(tmp_path: Path, place: str) -> None:
    """SEC-4: a message may be a little deeper than what it carries."""
    workspace = Workspace(tmp_path).scripted().prompt("ask", "x", profile="p")
    async with attached(workspace.root) as client:
        for depth, whole in ((390, True), (405, False)):
            value: Any = 1
            for _ in range(depth):
                value = {"x-a": value}
            given = {
                "messages[].cache": {
                    "messages": [{"role": "user", "content": "x", "cache": value}]
                },
                "parameters.extra": {"parameters": {"extra": value}},
                "output.schema": {"output": {"format": "schema", "schema": value}},
            }[place]
            answer = await client.answered("promptkit/prepare", {"promptId": "ask", **given})
            refused = isinstance(answer, RpcError) and answer.code == -32602
            assert refused is not whole
            if refused:
                assert answer.message == f"{place}: nested deeper than 400 levels"
