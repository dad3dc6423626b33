"""`python -m tests.transcripts --write [NAME …]` records transcripts anew, all without a name."""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.transcripts.record import FOLDER, path, record, text
from tests.transcripts.scenarios import SCENARIOS


def main(words: list[str]) -> int:
    """The command line."""
    if words[:1] != ["--write"] or not set(words[1:]) <= SCENARIOS.keys():
        print(__doc__, *SCENARIOS, file=sys.stderr)  # noqa: T201 - a command's answer
        return 2
    FOLDER.mkdir(exist_ok=True)
    for name in words[1:] or SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            lines = asyncio.run(record(name, Path(folder).resolve()))
        path(name).write_text(text(lines), encoding="utf-8")
        print(path(name), len(lines))  # noqa: T201 - likewise
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
