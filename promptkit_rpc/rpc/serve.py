"""The life of a daemon process: claim the streams, answer `initialize`, then load the rest.

Imports only what is needed to answer; everything else is loaded behind the answer.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from promptkit_rpc.rpc import descriptors
from promptkit_rpc.rpc.started import Options, Started

_ALONE = "waits for messages of a program on standard input; try `promptkit-rpc run` or `--help`"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from promptkit_rpc.rpc.lifecycle import SessionFactory


def serve(
    options: Options | None = None, load: Callable[[], SessionFactory] | None = None
) -> NoReturn:
    """Serves one client on standard input and output, and ends the process.

    Exit code 0 after `shutdown` and `exit`, 1 after any other end.

    Args:
        options: what the command line decides.
        load: imports and returns what makes the session; called once `initialize` is answered.
    """
    # An interrupt ends the process at once and without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # until all is loaded: nothing of it is garbage
    code = 1
    try:
        if os.isatty(0):
            descriptors.say(_ALONE)
        source, sink = descriptors.claim()
        started = Started(options or Options(), source, sink)
        if not started.first():
            if started.framer.inside:
                descriptors.say("the input ended inside a frame")
        else:
            from promptkit_rpc.rpc.daemon import run  # noqa: PLC0415 - after the first answer

            code = run(started, (load or _session)())
    except BrokenPipeError:  # nobody reads the answer to the first frame
        pass
    except Exception as error:  # noqa: BLE001 - the process ends here, threads or no threads
        sys.excepthook(type(error), error, error.__traceback__)
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - it may be closed
        sys.stderr.flush()
    os._exit(code)  # a thread that is stuck cannot keep the process so


def _session() -> SessionFactory:
    from promptkit_rpc.rpc.session import Session  # noqa: PLC0415 - after the first answer

    return Session
