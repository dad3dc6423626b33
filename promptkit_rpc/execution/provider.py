"""A backend as runs use it: its settings, the object that calls it, and who may call."""

from promptkit_rpc.definitions.settings import BackendSettings
from promptkit_rpc.execution.admission import Admission
from promptkit_rpc.generation import Backend


class Provider:
    """One backend definition in use. A changed definition makes a new one with the same admission.

    The last user of a retired provider closes its backend, so no run loses its connection. A plan
    that was prepared before may still come: it is served all the same, and closes it again.
    """

    def __init__(self, settings: BackendSettings, backend: Backend, admission: Admission) -> None:
        self.settings = settings
        self.backend = backend
        self.admission = admission
        self._users = 0
        self._retired = False

    def __enter__(self) -> None:
        self._users += 1

    def __exit__(self, *_: object) -> None:
        self._users -= 1

    @property
    def idle(self) -> bool:
        """Whether it was retired and nothing uses it any more."""
        return self._retired and self._users == 0

    def retire(self) -> None:
        """No new plan will use it."""
        self._retired = True

    async def close(self) -> None:
        """Closes the backend, unless somebody has come to use it since."""
        if self.idle:
            await self.backend.close()
