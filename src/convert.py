"""A model of the weights that Linesight has saved: `python src/convert.py FOLDER --config=NAME --env-config=NAME`."""

import sys
from collections.abc import Sequence

from cli.command import run_command
from utils.console import outlive_readers


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    return run_command(lambda: _convert(words), "nothing was saved.")


def _convert(words: list[str]) -> None:
    from cli.convert import convert, parse

    convert(parse(words))


if __name__ == "__main__":
    outlive_readers()
    sys.exit(main())
