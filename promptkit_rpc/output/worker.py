"""The process that `aside` starts: one check from standard input to standard output."""

import sys

from promptkit_rpc.output.aside import LIMIT
from promptkit_rpc.output.validate import check_packed


def main() -> None:
    """Checks once and ends; a check that never ends is ended by the system."""
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        pass
    else:
        resource.setrlimit(resource.RLIMIT_CPU, (int(LIMIT), int(LIMIT)))
    sys.stdout.buffer.write(check_packed(sys.stdin.buffer.read()))


if __name__ == "__main__":
    main()
