"""A command of the user's, which starts when a run ends, fails, is interrupted or stalls (`on_end`)."""

import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from records.tokens import map_of
from utils.errors import ConfigError
from utils.processes.stop_signals import Interrupted

ENDED, FAILED, INTERRUPTED, STALLED = "ended", "failed", "interrupted", "stalled"
Stats = Mapping[str, list[tuple[int, float]]]
# seconds that the command may take
LONGEST = 60.0
# characters of a message; environment variables have a limit
MOST_MESSAGE = 2000


class OnEnd:
    """Starts the command, in a shell, with what happened in environment variables (docs/results.md).

    Args:
        command: empty: nothing is ever started.
        stall_minutes: without progress after which a run counts as stalled; 0: none does. A run that moves again may
            stall again.
        about: further variables by name.
        console: where failures of the command are reported; they never end a run.
        figures: the step and the result of now.
    """

    def __init__(
        self,
        command: str,
        stall_minutes: float,
        about: Mapping[str, str],
        console: logging.Logger,
        figures: Callable[[], tuple[int, Any]],
    ):
        self._command, self._about, self._console, self._figures = command, about, console, figures
        self._seconds = 60 * stall_minutes
        self._moved = time.monotonic()
        self._over = threading.Event()
        self._watcher: threading.Thread | None = None

    @classmethod
    def of(cls, args: SimpleNamespace, stats: Stats, folder: str | os.PathLike, console: logging.Logger) -> "OnEnd":
        """The command of a run, which is watched from now on.

        Args:
            args: the config, with the run's token.
            stats: the logger's values.
            folder: the run's.
        """

        def figures() -> tuple[int, float | None]:
            tests = stats.get("test_return_mean")
            return max((values[-1][0] for values in list(stats.values())), default=0), tests[-1][1] if tests else None

        about = {"NAME": args.name, "MAP": map_of(args.env, args.env_args), "RUN": args.unique_token}
        about["RUN_FOLDER"] = os.path.abspath(folder)
        on_end = cls(args.on_end, args.stall_minutes, about, console, figures)
        on_end.watch()
        return on_end

    def moved(self) -> None:
        """The run has done something: the loop says so after each rollout and update."""
        self._moved = time.monotonic()

    def watch(self) -> None:
        """Watch for stalls from now on, in a thread; `end` ends that."""
        if self._command and self._seconds:
            self.moved()
            self._watcher = threading.Thread(target=self._watch, name="on_end", daemon=True)
            self._watcher.start()

    def end(self, error: BaseException | None) -> None:
        """The run is over; returns when the command has ended, or has taken too long. A refused run had not begun."""
        self._over.set()
        if self._watcher is not None:
            self._watcher.join()
        if not self._command or isinstance(error, ConfigError):
            return
        if error is None:
            self._start(ENDED, "")
        elif isinstance(error, Interrupted | KeyboardInterrupt):
            self._start(INTERRUPTED, str(error))
        else:
            self._start(FAILED, str(error) or type(error).__name__)

    def _watch(self) -> None:
        reported = None
        while not self._over.wait(min(5.0, self._seconds / 4)):
            still, since = time.monotonic() - self._moved, self._moved
            if still >= self._seconds and reported != since:
                reported = since
                sentence = f"Nothing has moved for {still / 60:.0f} minutes (stall_minutes={self._seconds / 60:g})."
                self._console.warning(sentence)
                self._start(STALLED, sentence)

    def _start(self, event: str, message: str) -> None:
        t_env, result = self._figures()
        figures = {"T_ENV": str(t_env), "RESULT": "" if result is None else f"{result:.6g}"}
        values = {**self._about, **figures, "EVENT": event, "MESSAGE": message[:MOST_MESSAGE]}
        environment = {**os.environ, **{f"MUSTER_{name}": _as_variable(value) for name, value in values.items()}}
        try:
            process = subprocess.Popen(
                self._command,
                shell=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            self._console.warning(f"on_end could not be started: {error}")
            return
        try:
            printed, _ = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            _kill(process)
            self._console.warning(f"on_end was ended: it took more than {LONGEST:g} seconds.")
            return
        if process.returncode:
            last = (printed.strip().splitlines() or [""])[-1]
            self._console.warning(f"on_end failed with exit code {process.returncode}" + (f": {last}" if last else "."))


def _as_variable(text: str) -> str:
    """What an environment variable can hold of a text."""
    return text.replace("\0", "").encode(errors="replace").decode()


def _kill(process: subprocess.Popen) -> None:
    """End a command with all that it has started, where the system has groups of processes."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.communicate()
