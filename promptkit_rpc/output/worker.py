"""The process that `aside` starts: one check from standard input to standard output."""

import sys

from promptkit_rpc.output.aside import LIMIT
from promptkit_rpc.output.validate import check_packed

_MEMORY, _MEMORY_PER_BYTE = 2 << 30, 64


def main() -> None:
    """Checks once and ends; one that takes too much time or memory is ended by the system."""
    work = sys.stdin.buffer.read()
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        pass
    else:
        resource.setrlimit(resource.RLIMIT_CPU, (int(LIMIT), int(LIMIT)))
        most = _MEMORY + _MEMORY_PER_BYTE * len(work)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(check_packed(work))


if __name__ == "__main__":
    main()
