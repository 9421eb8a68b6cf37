"""The command line of reports: `python src/report.py --help` explains it."""

import sys
from collections.abc import Sequence

from utils.console import outlive_readers
from utils.errors import MusterError
from utils.plain_values import escaped


def main(argv: Sequence[str] | None = None) -> int:
    """Write one report (arguments default to the process's own) and return the exit code."""
    from browser.packages import require

    try:
        require("report.py", "scipy", "plotly")
        from browser.report.arguments import parse_arguments

        options = parse_arguments(sys.argv[1:] if argv is None else list(argv))
        if options.png or options.svg:
            require("--png and --svg", "matplotlib")
        from browser.report.writing import write_report

        for path in write_report(options):
            print(path)
    except MusterError as error:
        print(f"error: {escaped(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; nothing was written, or only a part.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    outlive_readers()
    sys.exit(main())
