"""`python -m tests.bench`: takes pyperf's options."""

from typing import Any

import pyperf  # pyright: ignore[reportMissingTypeStubs]

from tests.bench.measures import EACH, MEASURES

runner: Any = pyperf.Runner(values=3, processes=3, program_args=("-m", "tests.bench"))
for name, measure in MEASURES.items():
    runner.bench_time_func(name, measure, inner_loops=EACH.get(name, 1))
