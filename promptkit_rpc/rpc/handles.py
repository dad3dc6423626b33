"""What a session holds for its client: exchanges, groups, prepared executions.

Handles live as long as the connection; letting go early is optional and never breaks another.
"""

from collections.abc import Generator
from contextlib import contextmanager

from attrs import frozen

from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.conversation.history import History
from promptkit_rpc.engine import Engine
from promptkit_rpc.errors import (
    ExchangeNotFound,
    GroupNotFound,
    PreparedClaimed,
    PreparedNotFound,
)
from promptkit_rpc.execution.prepare import Prepared
from promptkit_rpc.groups import Group
from promptkit_rpc.rpc.errors import invalid_params
from promptkit_rpc.rpc.protocol.base import Token


class Exchanges:
    """Held exchanges by run id, and the bytes they hold; what they share counts once.

    Holding and letting go cost what is new, not what is held: a segment's count is that of its
    handles and of the segments right behind it, and only one that came to or from 0 goes further.
    """

    def __init__(self) -> None:
        self._held: dict[str, Exchange] = {}
        self._counts: dict[History, int] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, exchange: Exchange) -> None:
        """Keeps an exchange until it is released."""
        self._held[exchange.run_id] = exchange
        segment = exchange.history
        while True:
            count = self._counts.get(segment, 0)
            self._counts[segment] = count + 1
            if count:
                return
            self.bytes += segment.size
            if segment.parent is None:
                return
            segment = segment.parent

    def get(self, run_id: str) -> Exchange:
        """The exchange of a run.

        Raises:
            ExchangeNotFound: none is held.
        """
        exchange = self._held.get(run_id)
        if exchange is None:
            raise ExchangeNotFound(
                f"no exchange of run {_shown(run_id)} is held: it was not captured, or was released"
            )
        return exchange

    def release(self, run_id: str) -> None:
        """Lets go of it; others built on it stay.

        Raises:
            ExchangeNotFound: none is held.
        """
        segment = self.get(run_id).history
        del self._held[run_id]
        while True:
            count = self._counts.pop(segment) - 1
            if count:
                self._counts[segment] = count
                return
            self.bytes -= segment.size
            if segment.parent is None:
                return
            segment = segment.parent


class Groups:
    """Groups by id."""

    def __init__(self) -> None:
        self._held: dict[str, Group] = {}
        self._made = 0

    def __len__(self) -> int:
        return len(self._held)

    def create(self) -> str:
        """A new group's id."""
        self._made += 1
        group_id = f"group-{self._made}"
        self._held[group_id] = Group()
        return group_id

    def get(self, group_id: str) -> Group:
        """The group.

        Raises:
            GroupNotFound: there is none of this id.
        """
        group = self._held.get(group_id)
        if group is None:
            raise GroupNotFound(f"there is no group {_shown(group_id)}: create one first")
        return group

    def chosen(self, group_ids: tuple[str, ...] | None) -> tuple[Group, ...]:
        """The groups of a request, each once.

        Raises:
            GroupNotFound: one of them is unknown.
        """
        return tuple([self.get(group_id) for group_id in dict.fromkeys(group_ids or ())])

    def release(self, group_id: str) -> None:
        """Lets go of it; runs that it collects are not touched.

        Raises:
            GroupNotFound: there is none of this id.
        """
        self.get(group_id)
        del self._held[group_id]


@frozen(kw_only=True)
class Plan:
    """A prepared execution, the engine that made it, and the tokens its request gave."""

    prepared: Prepared
    engine: Engine
    observe: Token | None
    partial_result_token: Token | None


class PreparedRuns:
    """Prepared executions by id. Of one that is used up only the number is remembered."""

    def __init__(self) -> None:
        self._held: dict[str, Plan] = {}
        self._made = 0

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, plan: Plan) -> str:
        """The id of a new handle."""
        self._made += 1
        prepared_id = f"prepared-{self._made}"
        self._held[prepared_id] = plan
        return prepared_id

    def get(self, prepared_id: str) -> Plan:
        """One that is neither executed nor discarded.

        Raises:
            PreparedClaimed: it was.
            PreparedNotFound: there never was one of this id.
        """
        plan = self._held.get(prepared_id)
        if plan is not None:
            return plan
        if self._was_made(prepared_id):
            raise PreparedClaimed(f"{prepared_id} was executed or discarded before")
        raise PreparedNotFound(f"there is no prepared execution {_shown(prepared_id)}")

    def take(self, prepared_id: str) -> Plan:
        """The same, once: it is used up.

        Raises:
            PreparedClaimed, PreparedNotFound: as `get`.
        """
        plan = self.get(prepared_id)
        del self._held[prepared_id]
        return plan

    def _was_made(self, prepared_id: str) -> bool:
        number = prepared_id.removeprefix("prepared-")
        return (
            number.isascii()
            and number.isdigit()
            and len(number) <= len(str(self._made))
            and prepared_id == f"prepared-{int(number)}"
            and 1 <= int(number) <= self._made
        )


class Names:
    """Names in use at the moment: the client's own, or made up."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._used: set[str] = set()
        self._made = 0

    @contextmanager
    def use(self, name: str | None) -> Generator[str]:
        """A name for as long as the block lasts.

        Raises:
            RpcError: another one uses it now.
        """
        used = self._new() if name is None else name
        if used in self._used:
            from promptkit_rpc.rpc.faults import Fault  # noqa: PLC0415 - most names are free

            raise invalid_params((Fault(f"params.{self._noun}Id", "is in use; take another"),))
        self._used.add(used)
        try:
            yield used
        finally:
            self._used.discard(used)

    def _new(self) -> str:
        while True:
            self._made += 1
            name = f"{self._noun}-{self._made}"
            if name not in self._used:
                return name


def _shown(name: str) -> str:
    return repr(name if len(name) <= 100 else name[:100] + "…")  # noqa: PLR2004 - enough to know it
