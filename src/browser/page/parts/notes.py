"""The user's notes on runs: tags, notes, archived or not; in one side file, apart from the runs' files."""

import json
import os
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from browser.reading import Run
from utils.errors import MusterError
from utils.files.regular_files import read_regular
from utils.files.whole_files import write_whole

# hidden: no reader of results takes it for a run
FILE = ".browser-notes.json"
# bytes; a thousand notes as long as they may be
LARGEST_FILE = 2**26
LONGEST_NOTE = 20_000
LONGEST_TAG = 60
MOST_TAGS = 20


class NotWrittenError(MusterError):
    """A change could not be made; the message says why."""


@dataclass(frozen=True)
class Note:
    """The notes on one run."""

    tags: tuple[str, ...] = ()
    text: str = ""
    archived: bool = False

    def row(self) -> dict[str, Any]:
        """Its columns in the table of runs."""
        return {"tags": ", ".join(self.tags) or None, "archived": self.archived}


NONE = Note()


class Notes:
    """The notes of a results folder, by token, or by id for a run without one.

    Read again whenever the file changed; written as a whole, in one step.
    """

    def __init__(self, root: Path):
        self._path = root / FILE
        self._stamp: tuple | None = None
        self._notes: dict[str, Note] = {}
        self._lock = threading.RLock()

    def of(self, run: Run) -> Note:
        """The notes on a run."""
        with self._lock:
            self._read()
            return self._notes.get(_key(run), NONE)

    def write(self, run: Run, note: Note) -> None:
        """Replace what is written about a run.

        Raises:
            NotWrittenError: the file cannot be written.
        """
        with self._lock:
            self._read()
            notes = {**self._notes, _key(run): note}
            kept = {key: asdict(value) for key, value in sorted(notes.items()) if value != NONE}
            try:
                write_whole(str(self._path), json.dumps({"version": 1, "runs": kept}, indent=1).encode())
            except OSError as error:
                raise NotWrittenError(f"{self._path} cannot be written: {error.strerror}.") from None
            self._stamp = None

    def _read(self) -> None:
        try:
            stat = os.stat(self._path)
            stamp = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
            if stamp == self._stamp:
                return
            stored = json.loads(read_regular(self._path, LARGEST_FILE))["runs"]
            self._notes = {str(key): _note(value) for key, value in stored.items()}
            self._stamp = stamp
        except FileNotFoundError:
            self._notes, self._stamp = {}, None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # the user is editing it by hand: the last good reading counts
            pass


def tags_of(text: str) -> tuple[str, ...]:
    """Tags from typed text, separated by commas."""
    tags: Iterable[str] = (" ".join(tag.split())[:LONGEST_TAG] for tag in text.split(","))
    return tuple(dict.fromkeys(tag for tag in tags if tag))[:MOST_TAGS]


def _note(value: dict) -> Note:
    return Note(tuple(map(str, value.get("tags", ()))), str(value.get("text", "")), value.get("archived") is True)


def _key(run: Run) -> str:
    return run.token or run.id
