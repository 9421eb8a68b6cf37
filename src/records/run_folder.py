"""A run's own folder, `<results>/runs/<token>`, which one process at a time writes into."""

import contextlib
import json
import os
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from records.layout import (
    BEST_EPISODES,
    CHECKPOINTS,
    DIAGNOSTICS,
    DONE,
    FAULTS,
    LOCK,
    METRICS,
    NAMED_BY_TOKEN,
    OWN,
    RUNS,
    TRACES,
)
from records.own_marks import mark
from utils.errors import ConfigError, MusterError
from utils.files.regular_files import problem_of
from utils.files.whole_files import write_whole
from utils.plain_values import quoted


class RunFolder:
    """The folder of one run: its metric log, its checkpoints, and batches and weights kept after faults.

    Args:
        results: the folder of all results.
        token: the run's name, fit for a folder.
        sacred_id: of the Sacred run that records it now.
        statements: what the folder is marked for as this user's own (`own_marks`), once it is made.
    """

    def __init__(self, results: str | Path, token: str, sacred_id: str | None = None, statements: Collection[str] = ()):
        self._results, self._statements = Path(results), statements
        self.path = self._results / RUNS / token
        self.metrics = self.path / METRICS
        self.diagnostics = self.path / DIAGNOSTICS
        self.sacred_id = sacred_id
        self._lock: Any = None

    def create(self) -> None:
        """Make it, for this user only, and keep other processes from resuming the same run.

        Raises:
            MusterError: another process does, or something in it is a link or no regular file.
            OSError: it cannot be made.
        """
        self.require_no_links()
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._lock is None:
            self._lock = _locked(self.path / LOCK)
            for statement in self._statements:
                mark(self.path, statement)

    @property
    def is_open(self) -> bool:
        """Whether `create` was called, so that this process may write into it."""
        return self._lock is not None

    def require_no_links(self) -> None:
        """Refuse to write through links: in results from others they could lead anywhere.

        Raises:
            ConfigError: one of the run's folders, below any folder of the results, or its lock is a link.
        """
        folders = [self._results / family / self.path.name for family in NAMED_BY_TOKEN]
        for path in (*folders, *(self.path / name for name in (CHECKPOINTS, FAULTS, BEST_EPISODES, TRACES, LOCK))):
            if path.is_symlink():
                raise ConfigError(f"{path} is a link. A run keeps its files in real folders; move its target here.")

    def resume_command(self, settings: str = "") -> str:
        """The command to resume this run; `settings`: the words after `with`."""
        command = f"python src/main.py --resume={shlex.quote(str(self.path))}"
        return f"{command} with {settings}" if settings else command

    def mark_done(self, figures: Mapping[str, Any]) -> None:
        """Write `done.json`: the run has trained to one of its limits. A run that has no folder gets no mark."""
        if self._lock is not None:
            write_whole(str(self.path / DONE), (json.dumps(figures) + "\n").encode())

    def unmark(self) -> None:
        """Remove the mark: the run trains on."""
        with contextlib.suppress(OSError):
            (self.path / DONE).unlink()

    def remove_unused(self) -> bool:
        """After `close`: remove the folder of a run that has kept nothing in it. Returns whether there is none left."""
        with contextlib.suppress(OSError):
            if {file.name for file in self.path.iterdir()} <= {LOCK, OWN}:
                (self.path / OWN).unlink(missing_ok=True)
                (self.path / LOCK).unlink()
                self.path.rmdir()
        return not self.path.exists()

    def close(self) -> None:
        """Let others resume the run."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _locked(path: Path) -> Any:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
    except OSError as error:
        raise MusterError(f"{path} cannot be opened: {error.strerror}.") from None
    if problem := problem_of(os.fstat(file.fileno())):
        file.close()
        raise MusterError(f"{path} cannot be a lock: {problem}.")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = file.read(20).decode(errors="replace").strip()
        file.close()
        raise MusterError(f"{path.parent} is still in use by the process {quoted(pid)}.") from None
    except (ImportError, OSError):  # a file system or machine without locks
        return file
    file.seek(0)
    file.truncate()
    file.write(str(os.getpid()).encode())
    return file
