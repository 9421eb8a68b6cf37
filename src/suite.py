"""Many runs by one command: `python src/suite.py --help` explains it."""

import os
import sys

from cli.command import program, run_command, start


def _dispatch(words: list[str]) -> None:
    from suites.command.main import dispatch

    # as main.py's: other users can neither read nor change results
    os.umask(os.umask(0o077) | 0o077)
    dispatch(words)


def _be_process() -> None:
    """Be a process of a run, which launchers start."""
    from suites.command.processes import keep, task

    {"keep": keep, "task": task}[sys.argv[1]](sys.argv[2:])


main = program(_dispatch, "the suite's state is kept; the same command resumes it.")

if __name__ == "__main__":
    match sys.argv[1:2]:
        case ["serve"]:
            from suites.command.processes import serve

            sys.exit(serve(sys.argv[2:]))
        case ["task"]:
            sys.exit(run_command(_be_process, "the next submission has the run."))
        case ["keep"]:
            sys.exit(run_command(_be_process, "the launcher starts the run again."))
    start(main)
