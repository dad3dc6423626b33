"""A result as the wire has it, for people and programs that read standard output."""

from msgspec.json import encode, format  # noqa: A004 - its name there

from promptkit_rpc.execution.request import RunResult
from promptkit_rpc.rpc.codec import unstructure
from promptkit_rpc.rpc.convert.results import run_result


def result_json(result: RunResult) -> bytes:
    """A run's result as indented JSON."""
    return format(encode(unstructure(run_result(result))), indent=2)
