"""`python -m promptkit_rpc`."""

import sys

from promptkit_rpc.cli import main

if __name__ == "__main__":
    sys.exit(main())
