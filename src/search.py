"""EPyMARL's program for grids of hyperparameters, as suites: `python src/search.py --help` explains it."""

import os

from cli.command import program, start


def _dispatch(words: list[str]) -> None:
    from suites.command.grid import dispatch

    # as main.py's: other users can neither read nor change results
    os.umask(os.umask(0o077) | 0o077)
    dispatch(words)


main = program(_dispatch, "the suite's state is kept; the same command resumes it.")

if __name__ == "__main__":
    start(main)
