"""The sessions of runs that Sacred recorded: which folders have one, and each as a `Run`."""

import os
import time
from pathlib import Path

from browser.reading.cache import RACY_SECONDS, FileCache
from browser.reading.files import ResultsFiles, not_read
from browser.reading.record import Run
from browser.reading.sacred_folder import FILES, part_of, run_from
from browser.reading.scan import Found, find_runs, sacred_folder
from browser.reading.tokens import log_path
from records.limits import LARGEST
from utils.files.regular_files import open_regular, problem_of

# files of Sacred's folder that are read on demand only
_LATER = ("metrics.json", "cout.txt")


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

    def runs(self) -> list[Run]:
        """Scan the folder.

        Of a truncated file the last good reading counts, or else its readable part. A file that is not regular, or too
        long for its kind, is not opened. `Run.problems` reports both.
        """
        found = [run for run in map(self._read, find_runs(sacred_folder(self._root))) if run is not None]
        self._cache.keep_only({f"{run.folder}/{name}" for run in found for name in FILES})
        self._cache.save()
        return found

    def _read(self, found: Found) -> Run | None:
        """The run in a folder; None if its run.json is another program's."""
        folder = Path(found.path).relative_to(self._root)
        parts, problems = {}, []
        for name in FILES:
            if name not in found.files:
                if name == "config.json":
                    problems.append("config.json is missing.")
                continue
            part, problem = self._part(name, f"{folder}/{name}", found.files[name])
            if part is None and name == "run.json":
                return None
            parts[name] = part
            problems += [problem] if problem else []
        for name in _LATER:
            if name in found.files and (why := _problem_of(found.files[name], name)):
                problems.append(not_read(name, why))
        token = (parts.get("info.json") or {}).get("token")
        if token and (problem := self._files.problem(*log_path(token))):
            problems.append(problem)
        return run_from(found.run_id, folder, parts, tuple(problems))

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


def _problem_of(entry: os.DirEntry, name: str) -> str:
    try:
        return problem_of(entry.stat(follow_symlinks=False), LARGEST[name])
    except OSError:
        return ""
