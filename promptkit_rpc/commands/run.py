"""`run`: one run in this process, progress on standard error, the answer on standard output."""

import argparse
import asyncio
import signal as signals
import sys
from pathlib import Path
from typing import Any

from promptkit_rpc import system
from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.engine import Engine
from promptkit_rpc.errors import Cancelled, PromptKitError
from promptkit_rpc.execution.observe import (
    Admitted,
    AttemptFinished,
    Event,
    RepairStarted,
    RetryScheduled,
    RunFinished,
    RunStarted,
)
from promptkit_rpc.execution.request import RunRequest, RunResult
from promptkit_rpc.jsontext import JsonError, decode
from promptkit_rpc.output.contract import Status


def run(options: argparse.Namespace) -> int:
    """Exit code 0 for an answer that meets its contract, 1 for any other end."""
    try:
        request = RunRequest(
            prompt_id=options.prompt,
            variables=dict(_variable(text) for text in options.var),
            profile=options.profile,
            session_id=options.session,
            timeout=options.timeout,
            observers=(tell,),
        )
        result = asyncio.run(_run(request, Path(options.root), options.config))
    except PromptKitError as error:
        told = error.location is None or str(error.location) in error.message
        place = "" if told else f"{error.location}: "
        print(f"promptkit-rpc run: {place}{error.message} ({error.kind.value})", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"promptkit-rpc run: {error}", file=sys.stderr)
        return 2
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


def _variable(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.removesuffix(":"):
        raise ValueError(f"--var {text!r} is neither NAME=TEXT nor NAME:=JSON")
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], decode(value)
    except JsonError as error:
        raise ValueError(f"--var {text!r} is no JSON after `:=`: {error}") from None


def tell(event: Event) -> None:
    """Says on standard error what a run is doing."""
    match event:
        case RunStarted():
            line = f"{event.run_id}: {event.prompt_id} on {event.backend}, model {event.model}"
        case Admitted() if event.waited >= 1:
            line = f"admitted after {event.waited:.1f} s"
        case AttemptFinished() if event.error is not None:
            reason = event.error.reason or event.error.kind
            line = f"attempt {event.attempt} failed: {reason.value}"
        case RetryScheduled():
            line = f"trying again in {event.delay:.1f} s"
        case RepairStarted():
            line = f"the answer breaks its contract ({event.violations} violations); asking again"
        case RunFinished():
            line = f"{event.outcome.value}: {_tokens(event)}"
        case _:
            return
    print(line, file=sys.stderr)


def _tokens(event: RunFinished) -> str:
    total = event.usage.total_tokens
    if total.value is None:
        return "tokens unknown"
    return f"{total.value} tokens" + ("" if total.complete else " at least")


def _show(result: RunResult, *, whole: bool) -> None:
    if whole:
        from promptkit_rpc.commands.result import result_json  # noqa: PLC0415 - wire types are slow

        sys.stdout.buffer.write(result_json(result) + b"\n")
    else:
        text = result.content if result.content.endswith("\n") else result.content + "\n"
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        for violation in result.validation.violations:
            print(f"{violation.path or '/'}: {violation.message}", file=sys.stderr)
    sys.stdout.flush()
