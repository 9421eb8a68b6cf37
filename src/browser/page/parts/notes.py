"""What the user writes: tags and notes on runs, archived or not, and named views; one side file of all results."""

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
MOST_VIEWS = 100


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
        self._views: dict[str, str] = {}
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
            self._write({**self._notes, _key(run): note}, self._views)

    def views(self) -> dict[str, str]:
        """The addresses of the named views by their names, in the order of these."""
        with self._lock:
            self._read()
            return dict(sorted(self._views.items()))

    def write_view(self, name: str, address: str | None) -> None:
        """Name a view, or with None forget it.

        Raises:
            NotWrittenError: the name is no name, there are too many, or the file cannot be written.
        """
        if not name or len(name) > LONGEST_TAG or not name.isprintable() or "," in name:
            raise NotWrittenError(f"A view's name has 1 to {LONGEST_TAG} characters, and no comma.")
        with self._lock:
            self._read()
            views = {key: value for key, value in self._views.items() if key != name}
            if address is not None:
                views[name] = address
            if len(views) > MOST_VIEWS:
                raise NotWrittenError(f"There are {MOST_VIEWS} named views already: forget one first.")
            self._write(self._notes, views)

    def _write(self, notes: dict[str, Note], views: dict[str, str]) -> None:
        kept = {key: asdict(value) for key, value in sorted(notes.items()) if value != NONE}
        content = {"version": 1, "runs": kept, **({"views": views} if views else {})}
        try:
            write_whole(str(self._path), json.dumps(content, indent=1).encode())
        except OSError as error:
            raise NotWrittenError(f"{self._path} cannot be written: {error.strerror}.") from None
        self._stamp = None

    def _read(self) -> None:
        try:
            stat = os.stat(self._path)
            stamp = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
            if stamp == self._stamp:
                return
            stored = json.loads(read_regular(self._path, LARGEST_FILE))
            notes = {str(key): _note(value) for key, value in stored["runs"].items()}
            views = {str(key): str(value) for key, value in stored.get("views", {}).items()}
            self._notes, self._views, self._stamp = notes, views, stamp
        except FileNotFoundError:
            self._notes, self._views, self._stamp = {}, {}, None
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
