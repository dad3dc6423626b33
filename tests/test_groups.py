"""Groups: each run once, unknown never zero, coverage apart from completeness."""

import asyncio
import threading

from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.execution.observe import (
    AttemptFinished,
    AttemptStarted,
    Event,
    RunFinished,
    RunOutcome,
    RunStarted,
)
from promptkit_rpc.groups import Group
from promptkit_rpc.usage import TokenCounts, Total, Usage


def started(run: str) -> Event:
    return RunStarted(
        run_id=run,
        time=0.0,
        prompt_id="p",
        profile="f",
        backend="b",
        model="m",
        parent_run_id=None,
    )


def attempted(run: str, used: int) -> Event:
    return AttemptFinished(
        run_id=run, time=0.0, attempt=1, usage=TokenCounts(input_tokens=used, output_tokens=used)
    )


def finished(
    run: str, used: int | None, *, attempts: int = 1, repairs: int = 0, complete: bool = True
) -> Event:
    total = Total(used, complete)
    return RunFinished(
        run_id=run,
        time=0.0,
        outcome=RunOutcome.COMPLETED,
        attempts=attempts,
        transient_retries=attempts - 1,
        repairs=repairs,
        usage=Usage(input_tokens=total, output_tokens=total),
    )


def test_an_empty_group_knows_nothing_and_lacks_nothing() -> None:
    """GRP-5."""
    snapshot = Group().snapshot()
    assert snapshot.runs == ()
    assert snapshot.complete
    assert snapshot.usage.input_tokens == Total(None, complete=True)


def test_attempts_retries_and_repairs_are_summed_over_runs() -> None:
    """GRP-6."""
    group = Group()
    assert (group.snapshot().attempts, group.snapshot().repairs) == (0, 0)
    group(finished("a", 1, attempts=2, repairs=1))
    group(finished("b", 1, attempts=3, repairs=4))
    snapshot = group.snapshot()
    assert (snapshot.attempts, snapshot.transient_retries, snapshot.repairs) == (5, 3, 5)


def test_totals_add_terminal_events_and_never_attempt_events() -> None:
    """GRP-7, GRP-6."""
    group = Group()
    for event in (started("a"), attempted("a", 100), attempted("a", 130), finished("a", 230)):
        group(event)
    assert group.snapshot().usage.input_tokens == Total(230, complete=True)


def test_a_run_counts_once_however_often_it_is_attached() -> None:
    """GRP-4, U-10."""
    group = Group()
    for event in (started("a"), finished("a", 5, attempts=3)):
        group(event)
        group(event)
    snapshot = group.snapshot()
    assert snapshot.runs == (("a", True),)
    assert (snapshot.attempts, snapshot.transient_retries) == (3, 2)
    assert snapshot.usage.output_tokens == Total(5, complete=True)


def test_a_run_may_be_in_several_groups() -> None:
    """GRP-4."""
    one, other = Group(), Group()
    for group in (one, other):
        group(finished("a", 5))
    assert one.snapshot() == other.snapshot()


def test_a_missing_terminal_event_is_coverage_and_not_usage() -> None:
    """GRP-8: two finished and one open run give a known subtotal and incomplete coverage."""
    group = Group()
    for event in (finished("a", 1), finished("b", 2), started("c")):
        group(event)
    snapshot = group.snapshot()
    assert snapshot.runs == (("a", True), ("b", True), ("c", False))
    assert not snapshot.complete
    assert snapshot.usage.input_tokens == Total(3, complete=True)


def test_unknown_usage_makes_a_subtotal_and_never_a_zero() -> None:
    """USE-1, USE-2, GRP-6, U-02."""
    group = Group()
    group(finished("a", None, complete=False))
    assert group.snapshot().usage.input_tokens == Total(None, complete=False)
    group(finished("b", 0))
    assert group.snapshot().usage.input_tokens == Total(0, complete=False)
    assert group.snapshot().complete


def test_runs_may_join_after_a_snapshot_with_full_coverage() -> None:
    """GRP-9, GRP-5: the earlier snapshot stays as it was."""
    group = Group()
    group(finished("a", 1))
    before = group.snapshot()
    group(started("b"))
    assert before.complete
    assert before.runs == (("a", True),)
    assert not group.snapshot().complete


def test_an_event_of_any_kind_enrols_its_run() -> None:
    """GRP-2."""
    group = Group()
    group(AttemptStarted(run_id="late", time=0.0, attempt=2))
    assert group.snapshot().runs == (("late", False),)


Steps = st.lists(
    st.tuples(
        st.sampled_from("abcde"),
        st.sampled_from(["started", "attempted", "finished", "snapshot"]),
        st.none() | st.integers(0, 50),
    ),
    max_size=60,
)


@given(Steps)
def test_any_interleaving_agrees_with_a_simple_model(
    steps: list[tuple[str, str, int | None]],
) -> None:
    """GRP-10, GRP-4, GRP-7: the model keeps the first terminal event of each run."""
    group = Group()
    seen: dict[str, int | str | None] = {}
    for run, what, used in steps:
        match what:
            case "started":
                group(started(run))
                seen.setdefault(run, "open")
            case "attempted":
                group(attempted(run, 7))
                seen.setdefault(run, "open")
            case "finished":
                group(finished(run, used, complete=used is not None))
                if seen.get(run, "open") == "open":
                    seen[run] = used
            case _:
                pass
        snapshot = group.snapshot()
        ended = [value for value in seen.values() if value != "open"]
        known = [value for value in ended if isinstance(value, int)]
        assert dict(snapshot.runs) == {name: value != "open" for name, value in seen.items()}
        assert snapshot.complete == (len(ended) == len(seen))
        assert snapshot.attempts == len(ended)
        expected = Total(sum(known) if known else None, complete=len(known) == len(ended))
        assert snapshot.usage.input_tokens == expected


async def test_threads_and_snapshots_do_not_disturb_each_other() -> None:
    """GRP-10."""
    group, stop = Group(), threading.Event()

    def watch() -> None:
        while not stop.is_set():
            snapshot = group.snapshot()
            assert snapshot.attempts == sum(done for _, done in snapshot.runs)

    watching = asyncio.create_task(asyncio.to_thread(watch))

    def work(name: int) -> None:
        for index in range(300):
            group(started(f"{name}-{index}"))
            group(finished(f"{name}-{index}", 1))

    await asyncio.gather(*(asyncio.to_thread(work, name) for name in range(4)))
    stop.set()
    await watching
    snapshot = group.snapshot()
    assert len(snapshot.runs) == snapshot.attempts == 1200
    assert snapshot.usage.input_tokens == Total(1200, complete=True)
