"""How the commands of src/ end: with an exit code, and one message where something went wrong."""

import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from utils.console import fitted, outlive_readers, terminal_width
from utils.errors import ConfigError, MusterError
from utils.own_commands import as_typed
from utils.plain_values import escaped
from utils.processes.interpreter import REQUIRED, without_package
from utils.processes.stop_signals import Interrupted

# 128 + SIGINT, and SIGTERM, as shells have them
INTERRUPTED, ENDED_BY_SIGTERM = 130, 143


def run_command(body: Callable[[], object], interrupted: str) -> int:
    """Run a command and return its exit code.

    Errors that the user can act on are printed as one message, without a traceback. Everything that needs packages is
    imported in `body`, so that a Python without them is one of these errors.

    Args:
        interrupted: the message after Ctrl-C, unless the run has its own.
    """
    try:
        body()
    except MusterError as error:
        _report(f"{'error' if isinstance(error, ConfigError) else 'stopped'}: {error}")
        return error.exit_code
    except Interrupted as stopped:
        _report(str(stopped))
        return stopped.exit_code
    except ModuleNotFoundError as error:
        if (name := str(error.name).partition(".")[0]) not in REQUIRED:
            raise
        _report(f"error: {without_package(name)}")
        return ConfigError.exit_code
    except KeyboardInterrupt:
        _report(f"interrupted; {interrupted}")
        return INTERRUPTED
    return 0


def program(body: Callable[[list[str]], object], interrupted: str) -> Callable[[Sequence[str] | None], int]:
    """The `main` of a program: it runs one command line (default: the process's own) and returns its exit code.

    Args:
        body: is called with the words of the command line, without the program's name.
        interrupted: as of `run_command`.
    """

    def main(argv: Sequence[str] | None = None) -> int:
        words = sys.argv[1:] if argv is None else list(argv)
        return run_command(lambda: body(words), interrupted)

    return main


def start(main: Callable[..., int]) -> NoReturn:
    """Run the `main` of a program as this process."""
    outlive_readers()
    code = main()
    if code == ENDED_BY_SIGTERM:
        # a batch system and who watches the run may both send it; a late one would end what is about to end otherwise
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(code)


def _report(text: str) -> None:
    print(fitted(escaped(as_typed(text)), terminal_width(sys.stderr)), file=sys.stderr)
