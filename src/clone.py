"""Train a policy to choose what was chosen in a recording: `python src/clone.py RECORDING`."""

import sys
from collections.abc import Sequence

from cli.command import run_command
from utils.console import outlive_readers


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    return run_command(lambda: _clone(words), "nothing was saved.")


def _clone(words: list[str]) -> None:
    from cli.clone import clone, parse

    clone(parse(words))


if __name__ == "__main__":
    outlive_readers()
    sys.exit(main())
