"""Play an environment of entities in the terminal: `python src/play.py GAME`, or RUN to see its policy's choices."""

import sys
from collections.abc import Sequence

from cli.command import run_command
from utils.console import outlive_readers


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    return run_command(lambda: _play(words), "nothing was recorded.")


def _play(words: list[str]) -> None:
    from cli.play import parse, play

    play(parse(words))


if __name__ == "__main__":
    outlive_readers()
    sys.exit(main())
