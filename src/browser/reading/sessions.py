"""The sessions that Sacred recorded: which folders have one, and each as a `Session`."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from browser.reading.cache import RACY_SECONDS, FileCache
from browser.reading.files import ResultsFiles, not_read
from browser.reading.sacred_folder import FILES, part_of, session_from
from browser.reading.session import Session
from browser.reading.tokens import log_path
from records.layout import MLFLOW, NAMED_BY_TOKEN, SACRED, WANDB
from records.limits import LARGEST
from utils.files.regular_files import open_regular, problem_of

# folders below Sacred's: EPyMARL's are results/sacred/NAME/MAP/N, as the programs of the family differ in it
DEEPEST = 4
# folders of a results folder that hold no Sacred runs, and Sacred's own
NOT_SACRED = frozenset((*NAMED_BY_TOKEN, WANDB, MLFLOW))
SACREDS_OWN = frozenset(("_sources", "_resources"))
# files of Sacred's folder that are read on demand only
_LATER = ("metrics.json", "cout.txt")


class _Folder(NamedTuple):
    """A folder that may be a session's: its id, its path, and its files by name."""

    id: str
    path: str
    files: dict[str, os.DirEntry]


class SessionReader:
    """Reads the sessions below a results folder; unchanged ones come from the cache.

    Args:
        files: of the results folder.
        root: the folder, resolved.
        cache: what files came to.
    """

    def __init__(self, files: ResultsFiles, root: Path, cache: FileCache):
        self._files = files
        self._root = root
        self._cache = cache
        # by name: size, time and reading of files that are cut off, which would otherwise be parsed at every scan
        self._damaged: dict[str, tuple[tuple[int, int], dict | None, str]] = {}

    def sessions(self) -> list[Session]:
        """Scan the folder.

        Of a truncated file the last good reading counts, or else its readable part. A file that is not regular, or too
        long for its kind, is not opened. `Session.problems` reports both.
        """
        below = self._root / SACRED
        sacred = below if below.is_dir() and not below.is_symlink() else self._root
        folders = _folders(str(sacred), (), sacred.name)
        found = [session for session in map(self._read, folders) if session is not None]
        self._cache.keep_only({f"{session.folder}/{name}" for session in found for name in FILES})
        self._cache.save()
        return found

    def _read(self, found: _Folder) -> Session | None:
        """The session in a folder; None if its run.json is another program's."""
        folder = Path(found.path).relative_to(self._root)
        parts: dict[str, dict | None] = {}
        problems = []
        for name in FILES:
            if name not in found.files:
                if name == "config.json":
                    problems.append("config.json is missing.")
                continue
            parts[name], problem = self._part(name, f"{folder}/{name}", found.files[name])
            if parts[name] is None and name == "run.json":
                return None
            problems += [problem] if problem else []
        for name in _LATER:
            if name in found.files and (why := _problem_of(found.files[name], name)):
                problems.append(not_read(name, why))
        token = (parts.get("info.json") or {}).get("token")
        if token and (problem := self._files.problem(*log_path(token))):
            problems.append(problem)
        return session_from(found.id, folder, parts, tuple(problems))

    def _part(self, name: str, cached_as: str, entry: os.DirEntry) -> tuple[dict | None, str]:
        """The content of a file, and its problem."""
        try:
            status = entry.stat(follow_symlinks=False)
            stamp = status.st_size, status.st_mtime_ns
            part = self._cache.get(cached_as, *stamp)
            if part is not None:
                return part, ""
            damaged = self._damaged.get(cached_as)
            if damaged is not None and damaged[0] == stamp:
                return damaged[1:]
            with open_regular(entry.path, LARGEST[name]) as file:
                status = os.fstat(file.fileno())
                part, whole = part_of(name, file.read(LARGEST[name]))
        except OSError as error:
            return self._cache.last_good(cached_as) or {}, not_read(name, error.strerror)
        stamp = status.st_size, status.st_mtime_ns
        if whole:
            if part is not None:
                self._cache.put(cached_as, *stamp, part)
            return part, "" if part is not None else f"{name} is not Sacred's."
        good = self._cache.last_good(cached_as)
        if good is not None:
            return good, f"{name} is being written or is truncated; the last good reading is shown."
        problem = f"{name} is truncated; its readable part is shown."
        if time.time() - status.st_mtime > RACY_SECONDS:
            self._damaged[cached_as] = stamp, part, problem
        return part, problem


def _folders(folder: str, names: tuple[str, ...], own_name: str) -> Iterator[_Folder]:
    """Folders with a run.json below a folder, or itself.

    Links are not followed; hidden folders and Sacred's _sources and _resources are left out.

    Args:
        names: of the folders on the way here.
        own_name: the id of a run that is the whole results folder.
    """
    try:
        with os.scandir(folder) as listing:
            entries = {entry.name: entry for entry in listing}
    except OSError:
        return
    if "run.json" in entries:
        yield _Folder("/".join(names) or own_name, folder, entries)
        return
    if len(names) == DEEPEST:
        return
    for name, entry in entries.items():
        if name[0] == "." or name in SACREDS_OWN or (not names and name in NOT_SACRED):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _folders(entry.path, (*names, name), own_name)


def _problem_of(entry: os.DirEntry, name: str) -> str:
    try:
        return problem_of(entry.stat(follow_symlinks=False), LARGEST.get(name))
    except OSError:
        return ""
