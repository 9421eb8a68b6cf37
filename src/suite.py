"""Many runs by one command: `python src/suite.py --help` explains it."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    import os

    from cli.command import run_command
    from cli.suite import dispatch

    # as main.py's: other users can neither read nor change results
    os.umask(os.umask(0o077) | 0o077)
    words = sys.argv[1:] if argv is None else list(argv)
    return run_command(lambda: dispatch(words), "the suite's state is kept; the same command resumes it.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        from cli.suite_starter import serve

        sys.exit(serve(sys.argv[2:]))
    if sys.argv[1:2] == ["task"]:
        from cli.command import run_command
        from cli.suite_slurm import task

        sys.exit(run_command(lambda: task(sys.argv[2:]), "the next submission has the run."))
    if sys.argv[1:2] == ["keep"]:
        from cli.command import run_command
        from cli.suite_ray import keep

        sys.exit(run_command(lambda: keep(sys.argv[2:]), "the launcher starts the run again."))
    from utils.console import outlive_readers

    outlive_readers()
    sys.exit(main())
