"""How the commands of src/ end: with an exit code, and one message where something went wrong."""

import sys
from collections.abc import Callable

from utils.console import fitted, terminal_width
from utils.errors import ConfigError, MusterError
from utils.plain_values import escaped
from utils.processes.interpreter import REQUIRED, without_package
from utils.processes.stop_signals import Interrupted

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


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


def _report(text: str) -> None:
    print(fitted(escaped(text), terminal_width(sys.stderr)), file=sys.stderr)
