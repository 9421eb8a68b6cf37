"""The common data of all views: the results folder, scanned at most once a second."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from browser.page.parts.notes import Notes
from browser.reading import Results, Run, UnknownRunError
from utils.nearest import did_you_mean

# seconds for which a scan of the folder counts as new; several windows poll at once
SCAN_SECONDS = 1.0


@dataclass
class Context:
    """A results folder as the views see it.

    Attributes:
        results: where runs, curves and logs come from; reads only.
        write: whether tags, notes, archiving and deleting are offered.
        notes: what people wrote about runs.
    """

    results: Results
    write: bool = False
    notes: Notes = field(init=False)
    _runs: list[Run] = field(default_factory=list)
    _scanned: float = -SCAN_SECONDS
    _kept: dict[str, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.notes = Notes(self.root)

    @property
    def root(self) -> Path:
        """The results folder."""
        return self.results.root

    def kept(self, name: str, make: Callable[[], Any]) -> Any:
        """A view's data between requests, made at its first use."""
        with self._lock:
            if name not in self._kept:
                self._kept[name] = make()
            return self._kept[name]

    def runs(self) -> list[Run]:
        """All runs, the newest first, as they were at most SCAN_SECONDS ago."""
        with self._lock:
            if time.monotonic() - self._scanned >= SCAN_SECONDS:
                self._runs = self.results.runs()
                self._scanned = time.monotonic()
            return self._runs

    def forget_scan(self) -> None:
        """Rescan at the next request for runs: the page itself has changed the folder."""
        with self._lock:
            self._scanned = -SCAN_SECONDS

    def run(self, run_id: str) -> Run:
        """The run that has a session with this id.

        Raises:
            UnknownRunError: no such run; the message names the nearest id.
        """
        found, _ = self.chosen([run_id])
        if found:
            return found[0]
        known = [session.id for run in self.runs() for session in run.sessions]
        nearest = did_you_mean(run_id[:100], known)
        raise UnknownRunError(f"There is no run '{run_id[:100]}' in this folder.{nearest}")

    def chosen(self, run_ids: list[str]) -> tuple[list[Run], list[str]]:
        """The runs with these ids (none: all runs), each once, and the ids that no run has."""
        runs = self.runs()
        if not run_ids:
            return runs, []
        by_id = {session.id: run for run in runs for session in run.sessions}
        found = {by_id[run_id].id: by_id[run_id] for run_id in run_ids if run_id in by_id}
        return list(found.values()), [run_id for run_id in run_ids if run_id not in by_id]

    def revision(self, runs: Iterable[Run]) -> str:
        """Changes when one of these runs starts, logs, ends or is resumed, and with the choice of runs."""
        return revision_of([(*state_of(run), self._logged(run)) for run in runs])

    def _logged(self, run: Run) -> Any:
        """Of an ended run no files need to be looked at: the last sign of life is in its record."""
        return self.results.stamp(run, "curves") if run.status_at() == "RUNNING" else run.newest.heartbeat


def state_of(run: Run) -> tuple:
    """What a run's record says of its course."""
    return run.id, run.status_at(), len(run.sessions)


def revision_of(read: Any) -> str:
    """Stands for what a view was drawn from, in the browser that shows it: it asks for the view again with every tick,
    and gets it when the revision is another."""
    return hashlib.sha256(repr(read).encode(errors="replace")).hexdigest()[:16]
