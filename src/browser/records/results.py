"""A results folder: its runs, their curves, logs and files."""

import os
import threading
from collections.abc import Iterable
from pathlib import Path

from browser.records import curves as curve_files
from browser.records import metric_log
from browser.records.cache import FileCache, default_cache_path
from browser.records.curves import Curve
from browser.records.json_files import JsonObject
from browser.records.lineage import Lineage, lineages
from browser.records.paths import OutsideResultsError, inside, is_file_name
from browser.records.provenance import Provenance, provenance_of
from browser.records.record import Artifact, Run
from browser.records.sacred_folder import FILES, part_of, run_from
from browser.records.scan import Found, find_runs, sacred_folder, subfolders
from browser.records.tokens import artifacts_of_token, manifest, run_of_token
from utils.errors import ConfigError
from utils.nearest import did_you_mean

# curves kept in memory; one of 2,000 points takes 64 KB
CURVES_KEPT = 4000


class UnknownRunError(ConfigError):
    """There is no run with this id."""


class Results:
    """Reads a results folder; never writes into it.

    Methods that take a run take a `Run`, a `Lineage` (curves of all its sessions), or an id. Ids and names may come
    from anywhere, such as a web address: an id is looked up among the runs that were found, and a path is followed and
    refused when it leaves the folder. The methods may be called from several threads.

    Args:
        root: a folder that holds sacred/, runs/, ...; or Sacred's own folder, as plain PyMARL and EPyMARL users have
            it (of one named "sacred" beside "runs", the parent is taken).
        cache: the file that keeps what was read; "default" for one in the user's cache folder, None for none.

    Raises:
        ConfigError: there is no such folder.
    """

    def __init__(self, root: str | Path, cache: str | Path | None = "default"):
        root = Path(root)
        if not root.is_dir():
            raise ConfigError(f"There is no results folder '{root}'.{_nearest_folder(root)}")
        self.root = root.resolve()
        if self.root.name == "sacred" and (self.root.parent / "runs").is_dir():
            self.root = self.root.parent
        self._cache = FileCache(default_cache_path(self.root) if cache == "default" else cache and Path(cache))
        self._runs: dict[str, Run] | None = None
        self._curves: dict[tuple, tuple[tuple | None, Curve | None]] = {}
        self._keys: dict[str, tuple[tuple, list[str]]] = {}
        self._lock = threading.RLock()

    def runs(self) -> list[Run]:
        """Scan the folder and return its runs, the one that started last first.

        Files that did not change since they were last read are not read again. Of a file that is cut off the last good
        reading counts; if there was none, what precedes the cut, and `Run.problems` says so.
        """
        with self._lock:
            found = [run for run in map(self._read, find_runs(sacred_folder(self.root))) if run is not None]
            self._cache.keep_only({f"{run.folder}/{name}" for run in found for name in FILES})
            self._cache.save()
            recorded = {run.token for run in found}
            tokens = [token for token in subfolders(self.root / "runs") if token not in recorded and token[0] != "."]
            found += [run_of_token(self.root, token) for token in tokens]
            found.sort(key=lambda run: (run.started.timestamp() if run.started else 0.0, run.id), reverse=True)
            self._runs = {run.id: run for run in reversed(found)}
            return found

    def lineages(self) -> list[Lineage]:
        """`runs`, the sessions of one run together; the run whose newest session started last comes first."""
        return lineages(self.runs())

    def run(self, run_id: str) -> Run:
        """The run with this id, as it was when the folder was last scanned.

        Raises:
            UnknownRunError: there is none; the message has the nearest id.
        """
        with self._lock:
            if self._runs is None or run_id not in self._runs:
                self.runs()
            if run_id not in self._runs:
                shown = run_id if len(run_id) < 200 else f"{run_id[:200]}..."
                raise UnknownRunError(f"There is no run '{shown}' in {self.root}.{did_you_mean(shown, self._runs)}")
            return self._runs[run_id]

    def metric_keys(self, run: Run | Lineage | str) -> list[str]:
        """The keys that a run has curves of, sorted."""
        run = self._newest(run)
        stamp = self._stamp(run)
        known = self._keys.get(run.id)
        if known is None or known[0] != stamp:
            body = self._log(run)
            if body is not None:
                keys = metric_log.keys_of(body)
            else:
                keys = curve_files.keys_in(self._json(run, "metrics.json"), self._json(run, "info.json"))
            known = self._keys[run.id] = stamp, keys
        return list(known[1])

    def curves(self, run: Run | Lineage | str, keys: Iterable[str] | None = None) -> dict[str, Curve]:
        """Curves by key, from the metric log if the run has one, from Sacred's files otherwise.

        Args:
            keys: which; all by default. A key that the run does not have is left out.
        """
        if isinstance(run, str):
            run = self.run(run)
        keys = None if keys is None else list(keys)
        if self._log_path(self._newest(run)) is None and isinstance(run, Lineage):
            return self._joined(run, keys)
        resumed = len(run.sessions) > 1 if isinstance(run, Lineage) else run.resumed_from is not None
        run = self._newest(run)
        return self._read_curves(run, self.metric_keys(run) if keys is None else keys, resumed)

    def latest(self, run: Run | Lineage | str, keys: Iterable[str]) -> tuple[int | None, dict[str, float]]:
        """How far a run is: its last environment step (None: nothing logged), and the last value of each key it has."""
        run = self._newest(run)
        body = self._log(run)
        if body is not None:
            return metric_log.last_values(body, keys)
        curves = self.curves(run, {*keys, "episode"})
        steps = [int(curve.steps[-1]) for curve in curves.values() if len(curve.steps)]
        values = {key: float(curves[key].values[-1]) for key in keys if key in curves and len(curves[key].values)}
        return max(steps, default=None), values

    def log_text(self, run: Run | Lineage | str, last: int = 1 << 16) -> str:
        """The last bytes of what a run printed (Sacred's cout.txt); empty if there is none. Untrusted text."""
        run = self._newest(run)
        if run.folder is None:
            return ""
        try:
            with open(inside(self.root, run.folder, "cout.txt"), "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - last))
                return file.read(last).decode("utf-8", "replace")
        except (OSError, OutsideResultsError):
            return ""

    def artifacts(self, run: Run | Lineage | str) -> list[Artifact]:
        """What a run left behind: files given to Sacred, models, checkpoints, replays, TensorBoard events."""
        sessions = run.sessions if isinstance(run, Lineage) else (self._newest(run),)
        given = [
            Artifact("artifact", name, session.folder / name)
            for session in sessions
            for name in session.artifacts
            if session.folder is not None and is_file_name(name)
        ]
        token = sessions[-1].token
        return given + (artifacts_of_token(self.root, token) if token and is_file_name(token) else [])

    def provenance(self, run: Run | Lineage | str) -> Provenance:
        """Packages and source files of a run."""
        record = self._json(self._newest(run), "run.json")
        return provenance_of(record.get("experiment") if record else None)

    def manifest(self, checkpoint: Artifact) -> dict:
        """What a checkpoint's manifest.json says; empty if it cannot be read."""
        return manifest(self.root, checkpoint)

    def path(self, artifact: Artifact | str | Path) -> Path:
        """The absolute path of an artifact, or of a path relative to the results folder.

        Raises:
            OutsideResultsError: it leads out of the folder, by its parts or by a link.
        """
        return inside(self.root, artifact.path if isinstance(artifact, Artifact) else artifact)

    def _newest(self, run: Run | Lineage | str) -> Run:
        return run.newest if isinstance(run, Lineage) else self.run(run) if isinstance(run, str) else run

    def _read(self, found: Found) -> Run | None:
        """The run in a folder; None if its run.json is another program's."""
        folder = Path(found.path).relative_to(self.root)
        parts, problems = {}, []
        for name in FILES:
            if name not in found.files:
                if name == "config.json":
                    problems.append("config.json is missing.")
                continue
            part, problem = self._part(name, f"{folder}/{name}", found)
            if part is None and name == "run.json":
                return None
            parts[name] = part
            problems += problem
        return run_from(found.run_id, folder, parts, tuple(problems))

    def _part(self, name: str, cached_as: str, found: Found) -> tuple[dict | None, list[str]]:
        try:
            stat = found.files[name].stat()
            part = self._cache.get(cached_as, stat.st_size, stat.st_mtime_ns)
            if part is not None:
                return part, []
            with open(found.files[name].path, "rb") as file:
                stat = os.fstat(file.fileno())
                part, whole = part_of(name, file.read())
        except OSError as error:
            return self._cache.last_good(cached_as) or {}, [f"{name} cannot be read: {error.strerror}."]
        if whole:
            if part is not None:
                self._cache.put(cached_as, stat.st_size, stat.st_mtime_ns, part)
            return part, [] if part is not None else [f"{name} is not Sacred's."]
        good = self._cache.last_good(cached_as)
        if good is not None:
            return good, [f"{name} is being written or is cut off; shown is the last good reading."]
        return part, [f"{name} is cut off; shown is what precedes the cut."]

    def _log_path(self, run: Run) -> Path | None:
        if run.token is None or not is_file_name(run.token):
            return None
        try:
            path = inside(self.root, "runs", run.token, "metrics.csv")
        except OutsideResultsError:
            return None
        return path if path.is_file() else None

    def _log(self, run: Run) -> bytes | None:
        """The rows of the run's metric log; None if it has none."""
        path = self._log_path(run)
        try:
            return None if path is None else metric_log.whole_lines(path.read_bytes())
        except OSError:
            return None

    def _json(self, run: Run, name: str) -> JsonObject | None:
        if run.folder is None:
            return None
        try:
            return JsonObject(inside(self.root, run.folder, name).read_bytes())
        except (OSError, OutsideResultsError):
            return None

    def _read_curves(self, run: Run, keys: list[str], resumed: bool) -> dict[str, Curve]:
        """Curves of one session, or of its token's log; those of files that did not change come from memory."""
        stamp = self._stamp(run)
        known = {key: self._curves.get((run.id, key, resumed), (None, None)) for key in keys}
        missing = [key for key, (known_stamp, _) in known.items() if known_stamp != stamp]
        read, whole = self._curves_in_files(run, missing, resumed) if missing else ({}, True)
        for key in missing:
            curve, earlier = read.get(key), known[key][1]
            if not whole and earlier is not None and (curve is None or len(curve.steps) < len(earlier.steps)):
                continue  # a file that is being written: the last good reading counts
            known[key] = stamp if whole else None, curve
            with self._lock:
                if len(self._curves) >= CURVES_KEPT:
                    self._curves.clear()
                self._curves[run.id, key, resumed] = known[key]
        return {key: curve for key, (_, curve) in known.items() if curve is not None}

    def _curves_in_files(self, run: Run, keys: list[str], resumed: bool) -> tuple[dict[str, Curve], bool]:
        """Curves, and whether the files were whole."""
        body = self._log(run)
        if body is not None:
            rows = metric_log.read_rows(body, keys, resumed)
            return {key: curve_files.from_rows(key, rows[key], "metrics.csv") for key in keys if key in rows}, True
        files = self._json(run, "metrics.json"), self._json(run, "info.json")
        whole = all(file.whole for file in files if file is not None)
        return curve_files.from_sacred(keys, *files, run.started), whole

    def _joined(self, lineage: Lineage, keys: list[str] | None) -> dict[str, Curve]:
        parts = [self.curves(run, keys) for run in lineage.sessions]
        resumed_at = [run.resumed_from.t_env if run.resumed_from else None for run in lineage.sessions]
        names = {key: None for part in parts for key in part}
        sessions = list(zip(parts, resumed_at, strict=True))
        return {key: curve_files.join((part[key], t_env) for part, t_env in sessions if key in part) for key in names}

    def _stamp(self, run: Run) -> tuple:
        """Sizes and times of the files that curves come from."""
        path = self._log_path(run)
        folder = self.root / run.folder if run.folder is not None else None
        paths = [path] if path else [folder / name for name in ("metrics.json", "info.json")] if folder else []
        stamp = []
        for path in paths:
            try:
                stat = os.stat(path)
                stamp.append((stat.st_size, stat.st_mtime_ns))
            except OSError:
                stamp.append(None)
        return tuple(stamp)


def _nearest_folder(path: Path) -> str:
    parent = path.parent
    return did_you_mean(str(path), [str(parent / name) for name in subfolders(parent)]) if parent.is_dir() else ""
