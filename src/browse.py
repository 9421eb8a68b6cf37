"""The command line of the run browser: `python src/browse.py --help` explains it."""

import sys
from collections.abc import Sequence

from cli.command import run_command
from utils.console import outlive_readers


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the page over a results folder until Ctrl-C (arguments default to the process's own): the exit code."""
    return run_command(lambda: _browse(sys.argv[1:] if argv is None else list(argv)), "nothing was served.")


def _browse(argv: list[str]) -> None:
    from browser.packages import require
    from browser.page.server.arguments import parse_arguments

    options = parse_arguments(argv)
    require("browse.py", "scipy", "plotly", "dash", "dash_ag_grid", "waitress")
    from browser.page.server.serving import serve

    try:
        serve(options)
    except KeyboardInterrupt:  # the way to end it
        print()


if __name__ == "__main__":
    outlive_readers()
    sys.exit(main())
