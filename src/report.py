"""The command line of reports: `python src/report.py --help` explains it."""

import sys
from collections.abc import Sequence

from cli.command import run_command
from utils.console import outlive_readers


def main(argv: Sequence[str] | None = None) -> int:
    """Write one report (arguments default to the process's own) and return the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    return run_command(lambda: _report(words), "the report is missing or incomplete.")


def _report(argv: list[str]) -> None:
    from browser.packages import require

    require("report.py", "scipy", "plotly")
    from browser.report.arguments import parse_arguments

    options = parse_arguments(argv)
    if options.png or options.svg:
        require("--png and --svg", "matplotlib")
    from browser.report.writing import write_report

    for path in write_report(options):
        print(path)


if __name__ == "__main__":
    outlive_readers()
    sys.exit(main())
