"""`run`: one run in this process, progress on standard error, the answer on standard output."""

import argparse
import asyncio
import signal as signals
import sys
from pathlib import Path

from promptkit_rpc import system
from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.commands.words import failure
from promptkit_rpc.engine import Engine
from promptkit_rpc.errors import Cancelled, PromptKitError
from promptkit_rpc.execution.observe import Admitted, Event, RunFinished, RunStarted
from promptkit_rpc.execution.request import RunRequest, RunResult
from promptkit_rpc.execution.words import words_of
from promptkit_rpc.output.contract import Status
from promptkit_rpc.usage import Total, Usage


def run(options: argparse.Namespace) -> int:
    """Exit code 0 for an answer that meets its contract, 1 for any other end."""
    folder = Path(options.root)
    if not folder.is_dir():
        print(f"promptkit-rpc run: {options.root} is no folder", file=sys.stderr)
        return 1
    request = RunRequest(
        prompt_id=options.prompt,
        variables=dict(options.var),
        profile=options.profile,
        session_id=options.session,
        timeout=options.timeout,
        observers=(tell,),
    )
    try:
        result = asyncio.run(_run(request, folder, options.config))
    except PromptKitError as error:
        words = failure(error, options.root, request.variables)
        print(f"promptkit-rpc run: {words}", file=sys.stderr)
        return 1
    _show(result, whole=options.json)
    return 1 if result.validation.status is Status.INVALID else 0


async def _run(request: RunRequest, root: Path, config: str) -> RunResult:
    engine = Engine.open(root, config, services=system.services())
    signal = CancelSignal()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signals.SIGINT, lambda: signal.cancel(Cancelled("interrupted")))
    try:
        return await engine.run(request, signal)
    finally:
        await engine.close()


def tell(event: Event) -> None:
    """Says on standard error what a run is doing."""
    line = words_of(event)
    match event:
        case RunStarted():
            line = f"{event.run_id}: {line}"
        case Admitted() if event.waited >= 1:
            line = f"admitted after {event.waited:.1f} s"
        case RunFinished():
            line = f"{event.outcome.value}; tokens: {_tokens(event.usage)}"
        case _:
            pass
    if line is not None:
        print(line, file=sys.stderr)


def _tokens(usage: Usage) -> str:
    if usage.input_tokens.value is None and usage.output_tokens.value is None:
        return _total(usage.total_tokens)
    return f"{_total(usage.input_tokens)} in, {_total(usage.output_tokens)} out"


def _total(total: Total) -> str:
    if total.value is None:
        return "unknown"
    return f"{'' if total.complete else 'at least '}{total.value}"


def _show(result: RunResult, *, whole: bool) -> None:
    if whole:
        from promptkit_rpc.commands.result import result_json  # noqa: PLC0415 - wire types are slow

        sys.stdout.buffer.write(result_json(result) + b"\n")
    else:
        text = result.content if result.content.endswith("\n") else result.content + "\n"
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        if result.validation.violations:
            print("promptkit-rpc run: the answer breaks its contract", file=sys.stderr)
        for violation in result.validation.violations:
            print(f"answer{violation.path}: {violation.message}", file=sys.stderr)
    sys.stdout.flush()
