"""What a session holds: exchanges with shared bytes counted once, single-use handles, groups."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.errors import (
    ExchangeNotFound,
    GroupNotFound,
    PreparedNotFound,
)
from promptkit_rpc.rpc.codes import RpcError
from promptkit_rpc.rpc.handles import Exchanges, Groups, Names, PreparedRuns


def message(size: int) -> Message:
    return Message(Role.USER, "x" * size)


def shared_bytes(exchanges: list[Exchange]) -> int:
    """The bytes of every distinct segment, counted the slow way."""
    segments = {segment for one in exchanges for segment in one.history.segments()}
    return sum(segment.size for segment in segments)


def test_bytes_that_branches_share_count_once() -> None:
    """OWN-7."""
    held = Exchanges()
    base = Exchange("base", None, History((message(1000),)))
    held.hold(base)
    for number in range(50):
        held.hold(Exchange(f"run-{number}", "base", base.history.extended(message(3))))
    assert (len(held), held.bytes) == (51, 1000 + 50 * 3)


def test_releasing_the_base_keeps_what_its_branches_stand_on() -> None:
    """OWN-5."""
    held = Exchanges()
    base = Exchange("base", None, History((message(1000),)))
    branch = Exchange("branch", "base", base.history.extended(message(3)))
    held.hold(base)
    held.hold(branch)
    held.release("base")
    assert held.bytes == 1003
    assert held.get("branch") is branch
    with pytest.raises(ExchangeNotFound, match="base"):
        held.get("base")
    held.release("branch")
    assert (len(held), held.bytes) == (0, 0)
    with pytest.raises(ExchangeNotFound):
        held.release("branch")


def test_a_branch_of_a_released_exchange_counts_all_that_it_holds() -> None:
    held = Exchanges()
    base = Exchange("base", None, History((message(1000),)))
    held.hold(base)
    held.release("base")
    held.hold(Exchange("branch", "base", base.history.extended(message(3))))
    assert held.bytes == 1003


@given(st.data())
def test_the_count_is_exact_whatever_is_held_and_released(data: st.DataObject) -> None:
    """OWN-5, OWN-7."""
    held = Exchanges()
    made = [Exchange("run-0", None, History((message(7),)))]
    kept: dict[str, Exchange] = {}
    for step in range(data.draw(st.integers(1, 30))):
        match data.draw(st.sampled_from(["make", "hold", "release"])):
            case "make":
                parent = data.draw(st.sampled_from(made))
                sizes = data.draw(st.lists(st.integers(0, 9), max_size=3))
                history = parent.history.extended(*map(message, sizes))
                made.append(Exchange(f"run-{step + 1}", parent.run_id, history))
            case "hold":
                exchange = data.draw(st.sampled_from(made))
                if exchange.run_id not in kept:
                    held.hold(exchange)
                    kept[exchange.run_id] = exchange
            case _:
                if kept:
                    run_id = data.draw(st.sampled_from(sorted(kept)))
                    held.release(run_id)
                    del kept[run_id]
        assert held.bytes == shared_bytes(list(kept.values()))
        assert len(held) == len(kept)


def test_an_id_that_was_never_given_is_not_a_used_up_one() -> None:
    """OWN-6."""
    prepared = PreparedRuns()
    for strange in ("prepared-1", "prepared-0", "prepared-01", "prepared-", "x", "prepared-²"):
        with pytest.raises(PreparedNotFound):
            prepared.get(strange)


def test_a_group_is_chosen_once_and_an_unknown_one_refused() -> None:
    """GRP-4."""
    groups = Groups()
    first, second = groups.create(), groups.create()
    assert len(groups.chosen((first, second, first))) == 2
    assert groups.chosen(None) == ()
    with pytest.raises(GroupNotFound, match="nowhere"):
        groups.chosen((first, "nowhere"))
    groups.release(first)
    with pytest.raises(GroupNotFound):
        groups.get(first)


def test_a_name_is_used_by_one_at_a_time() -> None:
    names = Names("coordination")
    with names.use("mine"):
        with pytest.raises(RpcError, match="coordinationId"), names.use("mine"):
            pass
        with names.use("coordination-1"), names.use(None) as made_up:
            assert made_up == "coordination-2"
    with names.use("mine") as again:
        assert again == "mine"
