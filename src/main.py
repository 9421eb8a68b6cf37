"""The command line: choose configs, merge them, hand them to Sacred. `python src/main.py --help` explains it."""

import sys
import warnings
from collections.abc import Sequence

from utils.errors import ConfigError, MusterError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    try:
        return _dispatch(sys.argv[1:] if argv is None else list(argv))
    except MusterError as error:
        print(f"{'error' if isinstance(error, ConfigError) else 'stopped'}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; Sacred's record of the run, and models that were saved, are kept.", file=sys.stderr)
        return 130


def _dispatch(argv: list[str]) -> int:
    from cli.arguments import parse_arguments

    arguments = parse_arguments(argv)
    if arguments.action == "help":
        from cli.help import HELP

        print(HELP, end="")
    elif arguments.action == "list":
        from cli.listing import listing

        print(listing())
    else:
        # sacred still imports pkg_resources, which warns whoever starts a run
        warnings.filterwarnings("ignore", message="pkg_resources is deprecated", category=UserWarning)
        from cli.experiment import run_experiment

        run_experiment(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
