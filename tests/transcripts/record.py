"""Transcripts as files: one JSON line a message, made by the running daemon."""

import json
from pathlib import Path

from promptkit_rpc.commands.init import write_samples
from tests.support.process import ROOT, RawDaemon
from tests.transcripts.scenarios import SCENARIOS
from tests.transcripts.session import Line, Session

FOLDER = ROOT / "schema" / "transcripts"


def path(name: str) -> Path:
    """The file of a transcript."""
    return FOLDER / f"{name}.jsonl"


def read(name: str) -> list[Line]:
    """The lines of a transcript."""
    return [json.loads(line) for line in path(name).read_text(encoding="utf-8").splitlines()]


def text(lines: list[Line]) -> str:
    """Lines as they stand in a file."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


async def record(name: str, root: Path) -> list[Line]:
    """Holds a session in a new sample workspace below `root`, and answers what was said."""
    write_samples(root)
    async with RawDaemon(root) as daemon:
        session = Session(daemon, root)
        await session.begin()
        await SCENARIOS[name](session)
        await session.end()
    return session.lines
