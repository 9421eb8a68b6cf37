"""The command line: choose configs, merge them, hand them to Sacred. `python src/main.py --help` explains it."""

import atexit
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit code."""
    # imported here: `_start` must come before anything slow
    import threading

    from cli.command import run_command

    # before a run handles it, SIGUSR1 (write a checkpoint) has no effect and must not end the process
    if hasattr(signal, "SIGUSR1") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    # results are private: other users can neither read nor change them
    os.umask(os.umask(0o077) | 0o077)
    words = sys.argv[1:] if argv is None else list(argv)
    return run_command(lambda: _dispatch(words), "Sacred's record of the run, and models that were saved, are kept.")


def _dispatch(argv: list[str]) -> None:
    from cli.arguments import parse_arguments

    arguments = parse_arguments(argv)
    if arguments.action == "help":
        if arguments.asked:
            from cli.named_plugins import import_named_plugins
            from cli.reference import option_help

            import_named_plugins(arguments)
            _show(option_help(arguments.asked))
        else:
            from cli.help import page

            _show(page())
    elif arguments.action == "list":
        from cli.listing import listing
        from cli.named_plugins import import_named_plugins

        import_named_plugins(arguments)
        _show(listing(arguments.asked) + "\n")
    elif arguments.export is not None:
        from cli.export import export

        export(arguments, arguments.export)
    else:
        from cli.experiment import run_experiment

        run_experiment(arguments)


def _show(text: str) -> None:
    from utils.console import fitted, terminal_width
    from utils.own_commands import as_typed

    print(fitted(as_typed(text), terminal_width(sys.stdout)), end="", flush=True)


def _start() -> None:
    """Before a run starts, Ctrl-C or SIGTERM ends the process at once, without a traceback from an import."""
    # imports make objects, and no garbage: searching for it takes a fifth of the time until a run starts
    gc.disable()
    _on_stop_signals(lambda signum, frame: os._exit(128 + signum))
    # nothing is left to be done when this is called, which is last of all
    atexit.register(_on_stop_signals, signal.SIG_IGN)
    from utils.console import outlive_readers

    outlive_readers()


def _finish(code: int) -> NoReturn:
    """When everything is written, a signal makes the process end sooner, but not otherwise."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # missing or closed
            stream.flush()
    _on_stop_signals(lambda signum, frame: os._exit(code))
    sys.exit(code)


def _on_stop_signals(handler) -> None:
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, handler)


def be_process(words: Sequence[str] | None = None) -> NoReturn:
    """Run one command line (default: the process's own) as this process, and end it."""
    _start()
    _finish(main(words))


if __name__ == "__main__":
    be_process()
