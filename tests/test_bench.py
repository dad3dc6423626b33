"""The benchmarks still run; what they measure is looked at when somebody asks for it."""

import subprocess
import sys

from tests.support.process import ROOT

ONE_OF_EACH = (
    "bare: Python",
    "start: first scripted run done",
    "small request",
    "bare: small request",
    "callback",
    "bare: callback",
    "streamed chunk",
    "bare: streamed chunk",
    "run, 8 at once",
    "bare: run, 8 at once",
    "turn on 10",
    "bare: turn on 10",
    "run, 64 KB",
)


def test_every_kind_of_measure_measures() -> None:
    code = "import sys; from tests.bench.measures import MEASURES as M"
    code += "; print(*[name for name in sys.argv[1:] if M[name](1) > 0], sep='\\n')"
    command = [sys.executable, "-c", code, *ONE_OF_EACH]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == list(ONE_OF_EACH)
