"""`python -m promptkit_rpc`."""

import os
import sys

if __name__ == "__main__":
    # `-m` puts the working folder first, which is a workspace: nothing is imported from there.
    home = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - pathlib could come from there
    if not sys.flags.safe_path and sys.path[0] != home:
        del sys.path[0]

    from promptkit_rpc.cli import main

    sys.exit(main())
