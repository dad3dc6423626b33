"""Checks in processes of their own: bounded, cancellable, and gone afterwards."""

import asyncio
import sys
from typing import Any

import pytest

from promptkit_rpc.jsontext import Json
from promptkit_rpc.output import aside as aside_module
from promptkit_rpc.output import strict
from promptkit_rpc.output.aside import AT_ONCE, AsideFailed, aside
from promptkit_rpc.output.contract import Contract, Format, Status, Validation
from promptkit_rpc.output.validate import CHECKED_HERE, validate
from tests.support.aside_peer import MODULE, Yard, alive

BOUND = 60
"""Seconds; a process takes a while to start on a busy machine."""


async def test_what_the_process_writes_comes_back() -> None:
    async with Yard().open() as yard, asyncio.timeout(BOUND):
        running = asyncio.ensure_future(aside(MODULE, yard.work(echo="é" * 100_000)))
        pid = await yard.started()
        yard.let_go()
        assert (await running).decode() == "é" * 100_000
        assert not alive(pid)


async def test_a_bad_end_is_told() -> None:
    async with Yard().open() as yard, asyncio.timeout(BOUND):
        running = asyncio.ensure_future(aside(MODULE, yard.work(status=3)))
        await yard.started()
        yard.let_go()
        with pytest.raises(AsideFailed, match="status 3"):
            await running
        with pytest.raises(AsideFailed, match="status 1"):
            await aside("tests.support.no_such_module", b"")


async def test_a_cancelled_check_leaves_no_process_behind() -> None:
    """RET-3."""
    async with Yard().open() as yard, asyncio.timeout(BOUND):
        running = asyncio.ensure_future(aside(MODULE, yard.work()))
        pid = await yard.started()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not alive(pid)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process | None]:
    """The processes in the order they were asked for; None until one is there."""
    found: list[asyncio.subprocess.Process | None] = []
    start = asyncio.create_subprocess_exec

    async def noted(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        number = len(found)
        found.append(None)
        found[number] = process = await start(*args, **options)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    return found


async def test_a_check_without_end_is_ended(
    started: list[asyncio.subprocess.Process | None],
) -> None:
    """SEC-4."""
    async with Yard().open() as yard, asyncio.timeout(BOUND):
        with pytest.raises(AsideFailed, match="took more than 0 s"):
            await aside(MODULE, yard.work(), limit=0.0)
    (process,) = started
    assert process is not None
    assert process.returncode is not None
    assert not alive(process.pid)


async def test_only_so_many_run_at_once(
    started: list[asyncio.subprocess.Process | None],
) -> None:
    """SEC-4."""
    async with Yard().open() as yard, asyncio.timeout(BOUND):
        running = [asyncio.ensure_future(aside(MODULE, yard.work())) for _ in range(AT_ONCE + 2)]
        for _ in range(AT_ONCE):
            await yard.started()
        assert len(started) == AT_ONCE == 2
        yard.let_go()
        for _ in range(2):
            await yard.started()
        yard.let_go()
        assert await asyncio.gather(*running) == [b""] * (AT_ONCE + 2)


NAMED = {"type": "array", "items": {"type": "object", "required": ["n"]}}
ROWS = '[{"n":1},' + " " * CHECKED_HERE + '{"n":12345678901234567890}]'
BROKEN = ROWS[:-1] + ',{"m":1}]'


async def verdict(content: str, schema: Any = NAMED) -> Validation:
    contract = Contract(format=Format.SCHEMA, schema=Json.of(schema))
    return await validate(contract, content, "stop", None)


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on this process cannot read any answer itself."""

    def never(_: bytes) -> None:
        raise AssertionError("this would have held up every other run")

    monkeypatch.setattr(strict, "read", never)


async def test_a_large_answer_is_checked_elsewhere_with_the_same_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OUT-2, S-16, R-14."""
    elsewhere(monkeypatch)
    good = await verdict(f"```json\n{ROWS}\n```")
    assert good == Validation(status=Status.VALID, structured=Json(ROWS.encode()))
    bad = await verdict(BROKEN)
    assert [(one.path, one.keyword) for one in bad.violations] == [("/2", "required")]
    twice = await verdict(BROKEN.replace('"m":1', '"n":1,"n":2'))
    assert [(one.path, one.keyword) for one in twice.violations] == [("/2/n", "json")]
    assert twice.structured is None
    cut = await verdict(ROWS[:-1])
    assert " at line 1, column " in cut.violations[0].message
    any_json = await validate(Contract(format=Format.JSON), ROWS, "stop", None)
    assert any_json.status is Status.VALID


async def test_violations_of_a_larger_answer_are_listed_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OUT-2. Each may cost as much as the answer is long."""
    asked: list[int] = []

    async def counted(module: str, work: bytes) -> bytes:
        asked.append(len(work))
        return await aside(module, work)

    monkeypatch.setattr(aside_module, "aside", counted)
    members = ",".join(f'"k{i}":{i}' for i in range(4_000))
    schema = {"required": [f"missing {i}" for i in range(200)]}
    found = await verdict(f"{{{members}}}", schema)
    assert len(found.violations) == 101
    assert "100 more violations" in found.violations[-1].message
    assert len(asked) == 1
    assert (await verdict(f"{{{members}}}", {"minProperties": 4_000})).status is Status.VALID
    assert (await verdict('{"a":1}', schema)).status is Status.INVALID
    assert len(asked) == 1
    found = await verdict(f'{{{members},"k7":7}}', schema)
    assert [one.path for one in found.violations] == ["/k7"]
    assert len(asked) == 2


async def test_patterns_that_look_around_are_tried_elsewhere_on_longer_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SEC-4. Their cost may grow out of proportion; it is bounded, and then the verdict is no."""
    seen: list[bytes] = []

    async def not_now(_: str, work: bytes) -> bytes:
        seen.append(work)
        raise AsideFailed("it took more than 60 s")

    monkeypatch.setattr(aside_module, "aside", not_now)
    schema = {"pattern": "(?=a)(a+)+b"}
    assert (await verdict('"aab"', schema)).status is Status.VALID
    assert not seen
    found = await verdict(f'"{"a" * 30_000}"', schema)
    assert len(seen) == 1
    assert found.status is Status.INVALID
    assert [one.keyword for one in found.violations] == ["unchecked"]
    assert found.violations[0].message.endswith("it took more than 60 s")


async def test_without_a_process_to_be_had_the_verdict_still_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SEC-4."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert (await verdict(ROWS)).status is Status.VALID
    assert (await verdict(BROKEN)).status is Status.INVALID
