"""What the server holds for a client and a client names: groups and prepared executions."""

from typing import Unpack

from promptkit_client._session import Session
from promptkit_client._watching import Watched
from promptkit_client.types import GroupSnapshot, PreparedDetails, RunResult


class Group:
    """A collector of the runs it is given to; `Client.group` makes one."""

    def __init__(self, session: Session, group_id: str) -> None:
        self.group_id = group_id
        self._session = session

    def __repr__(self) -> str:
        return f"Group({self.group_id!r})"

    async def snapshot(self) -> GroupSnapshot:
        """Its members and sums as they are now."""
        params = {"groupId": self.group_id}
        return await self._session.call(GroupSnapshot, "promptkit/group/snapshot", params)

    async def release(self) -> None:
        """Lets go of it early; nobody has to."""
        await self._session.do("promptkit/group/release", {"groupId": self.group_id})


class Prepared:
    """A prepared execution: `details` is what will be sent, to the letter. It is sent once."""

    def __init__(self, session: Session, prepared_id: str, details: PreparedDetails) -> None:
        self.prepared_id = prepared_id
        self.details = details
        self._session = session

    def __repr__(self) -> str:
        return f"Prepared({self.prepared_id!r}, {self.details.prompt_id!r})"

    async def execute(self, **watched: Unpack[Watched]) -> RunResult:
        """Sends it; another time it raises `PreparedClaimed`."""
        params = {"preparedId": self.prepared_id}
        return await self._session.call(RunResult, "promptkit/prepared/execute", params, watched)

    async def discard(self) -> None:
        """Gives it up unsent; raises `PreparedClaimed` if it was sent or given up before."""
        await self._session.do("promptkit/prepared/discard", {"preparedId": self.prepared_id})

    async def fetch_details(self) -> PreparedDetails:
        """Its details as the server holds them; raises `PreparedClaimed` if it is used up."""
        params = {"preparedId": self.prepared_id}
        return await self._session.call(PreparedDetails, "promptkit/prepared/details", params)
