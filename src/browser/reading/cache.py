"""A cache of files' contents: unchanged files are not read again."""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

from utils.files.regular_files import read_regular
from utils.files.whole_files import write_whole

VERSION = 3
# bytes; ten thousand runs with two hundred config keys take a tenth of it
LARGEST_CACHE = 2**30

# a file written this recently may be written again within the same tick of its file system's clock
RACY_SECONDS = 2.0


def default_cache_path(root: Path) -> Path:
    """Where the parts of a results folder are kept: below $XDG_CACHE_HOME, or ~/.cache; never in the folder itself."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    digest = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:16]
    return Path(base) / "muster" / f"records-{digest}.json"


class FileCache:
    """Parts of files by relative path, valid while size and modification time (nanoseconds) stay.

    The file of the cache may be deleted at any time; one that cannot be read or written is done without.
    """

    def __init__(self, path: Path | None):
        self._path = path
        self._entries: dict[str, list] = {}
        self._changed = False
        self._load()

    def get(self, name: str, size: int, mtime_ns: int) -> dict | None:
        """The part of an unchanged file, else None."""
        entry = self._entries.get(name)
        return entry[2] if entry is not None and entry[0] == size and entry[1] == mtime_ns else None

    def last_good(self, name: str) -> dict | None:
        """The part of the file as it last was whole, else None."""
        entry = self._entries.get(name)
        return entry[2] if entry is not None else None

    def put(self, name: str, size: int, mtime_ns: int, part: dict) -> None:
        """Remember the part of a file that was read whole."""
        racy = time.time() - mtime_ns / 1e9 < RACY_SECONDS
        self._entries[name] = [-1 if racy else size, mtime_ns, part]
        self._changed = True

    def keep_only(self, names: set[str]) -> None:
        """Forget files that are gone."""
        gone = self._entries.keys() - names
        for name in gone:
            del self._entries[name]
        self._changed |= bool(gone)

    def save(self) -> None:
        """Write what changed, in one step."""
        if self._path is None or not self._changed:
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(str(self._path), json.dumps({"version": VERSION, "entries": self._entries}).encode())
            self._changed = False

    def _load(self) -> None:
        if self._path is None:
            return
        try:
            stored = json.loads(read_regular(self._path, LARGEST_CACHE))
            entries = stored["entries"] if stored["version"] == VERSION else {}
            self._entries = {
                name: entry for name, entry in entries.items() if len(entry) == 3 and isinstance(entry[2], dict)
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._entries = {}
