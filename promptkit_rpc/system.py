"""The real world as the core is given it: clocks, chance, ids and the event loop's timers."""

import asyncio
import random
import secrets
import time
from collections.abc import Callable

from promptkit_rpc.services import ClientCredential, ClientGenerate, Services, Timer


def services(
    client_generate: ClientGenerate | None = None,
    client_credential: ClientCredential | None = None,
) -> Services:
    """Services of this process, for any number of engines."""
    return Services(
        time=time.time,
        monotonic=time.monotonic,
        random=random.random,
        run_id=_run_id,
        sleep=asyncio.sleep,
        later=_later,
        client_generate=client_generate,
        client_credential=client_credential,
    )


def _run_id() -> str:
    return f"run-{secrets.token_hex(10)}"


def _later(delay: float, callback: Callable[[], object]) -> Timer:
    return asyncio.get_running_loop().call_later(delay, callback)
