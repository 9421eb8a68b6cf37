"""Many runs by one command: `python src/suite.py --help` explains it."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    import os

    from cli.command import run_command

    def dispatch() -> None:
        from suites.command.main import dispatch

        dispatch(words)

    # as main.py's: other users can neither read nor change results
    os.umask(os.umask(0o077) | 0o077)
    words = sys.argv[1:] if argv is None else list(argv)
    return run_command(dispatch, "the suite's state is kept; the same command resumes it.")


def _be_process() -> None:
    """Be a process of a run, which launchers start."""
    from suites.command.processes import keep, task

    {"keep": keep, "task": task}[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    from cli.command import run_command

    match sys.argv[1:2]:
        case ["serve"]:
            from suites.command.processes import serve

            sys.exit(serve(sys.argv[2:]))
        case ["task"]:
            sys.exit(run_command(_be_process, "the next submission has the run."))
        case ["keep"]:
            sys.exit(run_command(_be_process, "the launcher starts the run again."))
    from utils.console import outlive_readers

    outlive_readers()
    sys.exit(main())
