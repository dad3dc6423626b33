"""Execution groups: collectors of observations that a caller attaches to chosen runs.

A group changes nothing about a run and knows nothing of capture or coordination.
"""

from threading import Lock

from attrs import frozen

from promptkit_rpc.execution.observe import Event, RunFinished
from promptkit_rpc.usage import Usage


@frozen(kw_only=True)
class GroupSnapshot:
    """A group at one moment: members as (run id, has a terminal event), sums over terminal events.

    `complete` says that no member lacks its terminal event; completeness of usage is apart.
    """

    runs: tuple[tuple[str, bool], ...]
    complete: bool
    attempts: int
    transient_retries: int
    repairs: int
    usage: Usage


class Group:
    """Counts each run once, by its terminal event, however often it is attached.

    It is an observer: call it with events. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._runs: dict[str, bool] = {}
        self._finished = 0
        self._attempts = 0
        self._retries = 0
        self._repairs = 0
        self._usage = Usage()

    def __call__(self, event: Event) -> None:
        """Enrols the event's run and, at its terminal event, adds it to the sums."""
        with self._lock:
            if not isinstance(event, RunFinished):
                self._runs.setdefault(event.run_id, False)
            elif not self._runs.get(event.run_id, False):
                self._runs[event.run_id] = True
                self._finished += 1
                self._attempts += event.attempts
                self._retries += event.transient_retries
                self._repairs += event.repairs
                self._usage = self._usage.with_run(event.usage)

    def snapshot(self) -> GroupSnapshot:
        """The group as it is now; later events do not change what is returned."""
        with self._lock:
            return GroupSnapshot(
                runs=tuple(self._runs.items()),
                complete=self._finished == len(self._runs),
                attempts=self._attempts,
                transient_retries=self._retries,
                repairs=self._repairs,
                usage=self._usage,
            )
