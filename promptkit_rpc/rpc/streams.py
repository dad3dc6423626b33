"""What a run tells the client while it goes on: observations, text, and progress for people."""

from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Protocol, Self

from promptkit_rpc.errors import Cancelled
from promptkit_rpc.execution.observe import (
    Admitted,
    AttemptFinished,
    AttemptStarted,
    Event,
    Observer,
    RepairStarted,
    RetryScheduled,
    RunFinished,
    RunOutcome,
    RunStarted,
)
from promptkit_rpc.execution.request import StreamSink
from promptkit_rpc.rpc.codec import unstructure
from promptkit_rpc.rpc.convert.events import event_to
from promptkit_rpc.rpc.progress import Progress
from promptkit_rpc.rpc.protocol.base import Token
from promptkit_rpc.rpc.protocol.observation import Observation
from promptkit_rpc.rpc.protocol.progress import (
    ServerProgress,
    TextDelta,
    TextReset,
    WorkDoneBegin,
    WorkDoneEnd,
    WorkDoneReport,
)

_REFUSED = 400


class Client(Protocol):
    """Where notifications go."""

    def notify(self, method: str, params: Any) -> None:
        """Sends one; never blocks."""
        ...

    def room(self) -> Awaitable[None] | None:
        """None while more may be sent at once, else what to await first."""
        ...


class Observing:
    """An observer that sends every event under a token, counted within its run."""

    def __init__(self, client: Client, token: Token) -> None:
        self._client = client
        self._token = token
        self._seq = 0

    def __call__(self, event: Event) -> None:
        """Sends the event."""
        if isinstance(event, RunStarted):
            self._seq = 0
        observation = Observation(
            token=self._token, run_id=event.run_id, seq=self._seq, event=event_to(event)
        )
        self._seq += 1
        self._client.notify("promptkit/observation", unstructure(observation))


class TextStream(StreamSink):
    """A run's text in pieces, as `$/progress` under a token; takes a sink's place."""

    def __init__(self, client: Client, token: Token) -> None:
        self._client = client
        self._token = token
        self._attempt = 0

    def begin(self, attempt: int) -> None:
        """A new attempt; what was sent of the one before is void."""
        if attempt > 1:
            self._send(TextReset(attempt=self._attempt))
        self._attempt = attempt

    def push(self, text: str) -> None:
        """Sends a piece."""
        if text:
            self._send(TextDelta(attempt=self._attempt, text=text))

    def room(self) -> Awaitable[None] | None:
        """As the client has room."""
        return self._client.room()

    def _send(self, value: TextDelta | TextReset) -> None:
        send(self._client, self._token, value)


class ShownProgress(Progress):
    """Work as an editor shows it, under a token: its observers report the runs inside."""

    def __init__(
        self, client: Client, token: Token, title: str, *, cancellable: bool = True
    ) -> None:
        self._client = client
        self._token = token
        self._title = title
        self._cancellable = cancellable
        self._prefix = ""
        self._attempt = 0
        self._repairs = 0
        self._failure = ""
        self._end: str | None = None

    @property
    def observers(self) -> tuple[Observer, ...]:
        """This one, for it shows events."""
        return (self,)

    def __enter__(self) -> Self:
        self._send(WorkDoneBegin(title=self._title, cancellable=self._cancellable))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        del kind, traceback
        if isinstance(error, Cancelled):
            self._end = "cancelled"
        elif error is not None:
            self._end = "failed"
        self._send(WorkDoneEnd(message=self._end))

    def turn(self, number: int) -> None:
        """The runs to come are this turn's."""
        self._prefix = f"turn {number}: "

    def report(self, message: str) -> None:
        """Shows what goes on."""
        self._send(WorkDoneReport(message=self._prefix + message))

    def ended(self, message: str) -> None:
        """What to say at the end if nothing goes wrong."""
        self._end = message

    def __call__(self, event: Event) -> None:
        """Tells an event in words."""
        match event:
            case RunStarted():
                self._repairs = 0
                self.report(f"waiting for capacity of {event.backend}")
            case AttemptStarted():
                self._attempt = event.attempt
                after, self._failure = self._failure, ""
                self.report(f"attempt {event.attempt}{after}")
            case AttemptFinished() if event.error is not None:
                error = event.error
                status = error.http_status or 0
                what = status if status >= _REFUSED else (error.reason or error.kind).value
                self._failure = f" after {what}"
            case RetryScheduled():
                wait = f"{event.delay:.1f} s"
                self.report(f"attempt {self._attempt + 1}{self._failure} in {wait}")
            case RepairStarted():
                self._repairs += 1
                self._failure = f", repair {self._repairs}"
                faults = "1 fault" if event.violations == 1 else f"{event.violations} faults"
                self.report(f"repair {self._repairs}: the answer has {faults}")
            case RunFinished():
                self._end = "done" if event.outcome is RunOutcome.COMPLETED else event.outcome.value
            case Admitted() | AttemptFinished():
                pass

    def _send(self, value: WorkDoneBegin | WorkDoneReport | WorkDoneEnd) -> None:
        send(self._client, self._token, value)


def send(client: Client, token: Token, value: Any) -> None:
    """Sends one `$/progress`."""
    client.notify("$/progress", unstructure(ServerProgress(token=token, value=value)))
