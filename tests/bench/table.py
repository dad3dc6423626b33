"""`python -m tests.bench.table FILE`: what pyperf wrote, as tables of ratios."""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from tests.bench.measures import AT_ONCE, MEASURES, SIZES, TURNS


def medians(file: Path) -> dict[str, float]:
    """The median of each measure, in seconds."""
    found: dict[str, float] = {}
    for one in json.loads(file.read_text())["benchmarks"]:
        name = one.get("metadata", {}).get("name", "")
        runs: list[Any] = one["runs"]
        found[name] = statistics.median(value for run in runs for value in run.get("values", []))
    return found


def shown(seconds: float) -> str:
    """A time in a readable unit."""
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def row(name: str, ours: float, bare: float) -> str:
    """A line of a table."""
    return f"| {name} | {shown(ours)} | {shown(bare)} | {ours / bare:.1f} |"


def main() -> None:
    """Prints them."""
    cost = medians(Path(sys.argv[1]))
    head = "\n| CPU | ours | bare | ratio |\n| --- | --- | --- | --- |"
    grown = {f"run, {n} at once" for n in AT_ONCE} | {f"turn on {n}" for n in TURNS}
    grown |= {f"run, {size}" for size in SIZES}
    lines = [head]
    lines += [row(n, cost[n], cost["bare: Python"]) for n in MEASURES if n.startswith("start")]
    pairs = [name for name in MEASURES if f"bare: {name}" in MEASURES]
    lines += [row(n, cost[n], cost[f"bare: {n}"]) for n in pairs if n not in grown]
    lines.append(head)
    lines += [row(n, cost[n], cost[f"bare: {n}"]) for n in pairs if n in grown]
    print("\n".join(lines))  # noqa: T201 - what it is for


if __name__ == "__main__":
    main()
