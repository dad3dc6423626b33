"""Log lines on stderr: free of keys, and dropped rather than waited for if nobody reads them."""

import logging
import os
import select

from promptkit_rpc.secret import guard_logging

_LONGEST = select.PIPE_BUF


class Stderr(logging.Handler):
    """Writes to a descriptor what it takes at once; a pipe that has room takes a whole line."""

    def __init__(self, descriptor: int = 2) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record, at most a page of it."""
        line = self.format(record).encode("utf-8", "backslashreplace")
        if self._poll.poll(0):
            try:
                os.write(self._descriptor, line[: _LONGEST - 1] + b"\n")
            except OSError:  # nobody reads any more, and no log line can tell
                return


def install(level: str) -> None:
    """Sends what is logged from this level on to stderr; a host program's own handlers stay."""
    if not logging.root.handlers:
        logging.root.addHandler(Stderr())
        logging.root.setLevel(level)
        logging.getLogger("asyncio").setLevel(max(logging.root.level, logging.INFO))
    guard_logging(*logging.root.handlers)
