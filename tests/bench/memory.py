"""`python -m tests.bench.memory`: what branches of a conversation of 1 MB add to the daemon."""

import os
from pathlib import Path

from tests.bench.measures import Daemon

BRANCHES = (10, 100, 1000, 10_000)
_TURNS = 250
_UNCOUNTED = 200


def resident(process_id: int) -> float:
    """Megabytes in memory."""
    pages = int(Path(f"/proc/{process_id}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Prints a line for each number of branches, on one daemon."""
    daemon = Daemon(2000)
    trunk = daemon.chain(_TURNS)

    def branch() -> bytes:
        return daemon.run(continueFrom=trunk)

    daemon.drive([branch() for _ in range(_UNCOUNTED)])  # fills what the first runs left free
    before, made = resident(daemon.process.pid), 0
    for count in BRANCHES:
        daemon.drive([branch() for _ in range(count - made)])
        made = count
        added = resident(daemon.process.pid) - before
        each = added / count * 1000
        print(f"{count} branches: {added:.1f} MB, {each:.1f} KB each")  # noqa: T201 - its purpose


if __name__ == "__main__":
    main()
