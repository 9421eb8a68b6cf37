"""The command line of the run browser: `python src/browse.py --help` explains it."""

import sys
from collections.abc import Sequence

from utils.console import outlive_readers
from utils.errors import MusterError
from utils.plain_values import escaped


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the page over a results folder until Ctrl-C (arguments default to the process's own): the exit code."""
    from browser.packages import require

    try:
        from browser.page.arguments import parse_arguments

        options = parse_arguments(sys.argv[1:] if argv is None else list(argv))
        require("browse.py", "scipy", "plotly", "dash", "dash_ag_grid")
        from browser.page.serving import serve

        serve(options)
    except MusterError as error:
        print(f"error: {escaped(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    outlive_readers()
    sys.exit(main())
