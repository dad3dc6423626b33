"""The command line. Loads nothing but what the chosen command needs."""

# Imports stand inside the commands: `--help` and `serve` must not pay for the others.
# ruff: noqa: PLC0415

import argparse
import os
import sys
from collections.abc import Sequence

from promptkit_rpc import __version__
from promptkit_rpc.commands.arguments import seconds, size, variable

_VARIABLE = """a variable for the templates: NAME=TEXT, or NAME:=JSON for anything but text
(repeat it for more)"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0 done, 1 failed, 2 wrongly called."""
    if arguments is None:
        _in_utf8()
    options, rest = _parser().parse_known_args(arguments)
    if rest:
        options.parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        code = _run(options)
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # else whoever read has seen enough
            where = error.filename or "standard output"
            sys.stderr.write(f"promptkit-rpc {options.command}: {where}: {error.strerror}\n")
        if arguments is None:  # nor shall the interpreter's end write what is left
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return code


def _run(options: argparse.Namespace) -> int:
    match options.command:
        case "serve":
            from promptkit_rpc.rpc.framing import MAX_BODY
            from promptkit_rpc.rpc.serve import serve
            from promptkit_rpc.rpc.started import Options

            most, level = options.max_body or MAX_BODY, options.log_level.upper()
            return serve(Options(max_body=most, log_level=level))
        case "init":
            from promptkit_rpc.commands.init import init

            return init(options.folder)
        case "check":
            from promptkit_rpc.commands.check import check

            return check(options.root, options.config)
        case "run":
            from promptkit_rpc.commands.run import run

            return run(options)
        case "schema":
            from promptkit_rpc.commands.schema import schema

            return schema(options.folder, check=options.check, markdown=options.markdown)
        case _:
            from promptkit_rpc.demo.main import demo

            return demo(options.base_url, options.model, options.key_env)


def _in_utf8() -> None:
    """Starts over where a locale would have names of files read as anything but UTF-8."""
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - itself


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="promptkit-rpc",
        description="Prompts, exchanges and continuations for any host program, over JSON-RPC.",
    )
    parser.add_argument("--version", action="version", version=f"promptkit-rpc {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser("serve", help="the server, on standard input and output")
    _add_serve(serve)
    init = commands.add_parser("init", help="write a small sample workspace")
    init.add_argument("folder", nargs="?", default=".", help="where to (default: here)")
    check = commands.add_parser("check", help="report every problem of a workspace")
    _workspace(check)
    _add_run(commands.add_parser("run", help="run one prompt; the answer goes to standard output"))
    schema = commands.add_parser("schema", help="write the published JSON Schemas")
    schema.add_argument("folder", nargs="?", default="schema", help="where to (default: schema)")
    schema.add_argument("--check", action="store_true", help="only say whether they are current")
    schema.add_argument("--markdown", action="store_true", help="print the table of methods")
    demo = commands.add_parser("demo", help="a session with the real server, told step by step")
    demo.add_argument("--base-url", metavar="URL", help="a chat completions server to use")
    demo.add_argument("--model", metavar="NAME", help="the model to ask there")
    demo.add_argument("--key-env", metavar="NAME", help="the variable that holds its key, if any")
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    return parser


def _add_serve(serve: argparse.ArgumentParser) -> None:
    levels = ("debug", "info", "warning", "error")
    serve.add_argument("--stdio", action="store_true", help="the default, and the only way")
    serve.add_argument(
        "--log-level",
        choices=levels,
        default="warning",
        help="what standard error tells; info: each run",
    )
    serve.add_argument(
        "--max-body",
        type=size,
        metavar="BYTES",
        help="the largest message that is read (default: 64 MiB)",
    )


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("prompt", help="the prompt's id, such as research/study")
    run.add_argument(
        "--var", action="append", default=[], type=variable, metavar="NAME=TEXT", help=_VARIABLE
    )
    run.add_argument("--profile", help="the profile to use instead of the prompt's own")
    run.add_argument("--session", help="the session id to send")
    run.add_argument("--timeout", type=seconds, metavar="SECONDS", help="a limit for the whole run")
    run.add_argument("--json", action="store_true", help="print the whole result as JSON")
    _workspace(run)


def _workspace(command: argparse.ArgumentParser) -> None:
    command.add_argument("--root", default=".", help="the workspace's folder (default: here)")
    command.add_argument("--config", default="promptkit.yaml", help="its settings file")


if __name__ == "__main__":
    sys.exit(main())
