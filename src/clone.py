"""Train a policy to choose what was chosen in a recording: `python src/clone.py RECORDING`."""

import sys
from collections.abc import Sequence

from cli.command import run_command
from utils.console import outlive_readers


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    from cli.clone import clone, parse

    options = parse(sys.argv[1:] if argv is None else list(argv))
    return run_command(lambda: clone(options), "nothing was saved.")


if __name__ == "__main__":
    outlive_readers()
    sys.exit(main())
