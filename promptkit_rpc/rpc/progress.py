"""Progress that nobody has asked for; `streams.ShownProgress` is what a client sees."""

from types import TracebackType
from typing import Self

from promptkit_rpc.execution.observe import Observer


class Progress:
    """Work as it begins, goes on and ends with a block; this one is silent."""

    @property
    def observers(self) -> tuple[Observer, ...]:
        """To be attached to the runs inside."""
        return ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return

    def turn(self, number: int) -> None:
        """The runs to come are this turn's."""

    def report(self, message: str) -> None:
        """Shows what goes on."""

    def ended(self, message: str) -> None:
        """What to say at the end if nothing goes wrong."""


SILENT = Progress()
