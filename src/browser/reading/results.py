"""A results folder: its runs, their curves, logs and files."""

import threading
from collections.abc import Iterable
from pathlib import Path

from browser.reading import curves as curve_files
from browser.reading.cache import FileCache, default_cache_path
from browser.reading.curves import Curve
from browser.reading.files import ResultsFiles
from browser.reading.json_files import JsonObject
from browser.reading.lineage import Lineage, lineages
from browser.reading.paths import inside
from browser.reading.provenance import Provenance, provenance_of
from browser.reading.record import Artifact, Run
from browser.reading.run_files import RunFile, files_of_run
from browser.reading.scan import subfolders
from browser.reading.sessions import SessionReader
from browser.reading.starting import with_tokens
from browser.reading.tokens import artifacts_of_token, diagnostics_path, log_path, manifest, run_of_token
from records import metric_rows
from records.diagnostics import UPDATES
from records.layout import DIAGNOSTICS, METRICS, RUNS, SACRED
from utils.errors import ConfigError
from utils.nearest import did_you_mean

# curves, and their points, kept in memory; a point takes 32 bytes
CURVES_KEPT = 4000
POINTS_KEPT = 8_000_000


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
        if self.root.name == SACRED and (self.root.parent / RUNS).is_dir():
            self.root = self.root.parent
        self.files = ResultsFiles(self.root)
        cache_path = default_cache_path(self.root) if cache == "default" else cache and Path(cache)
        self._sessions = SessionReader(self.files, self.root, FileCache(cache_path))
        self._runs: dict[str, Run] | None = None
        self._curves: dict[tuple, tuple[tuple | None, Curve | None]] = {}
        self._keys: dict[str, tuple[tuple, list[str]]] = {}
        self._points = 0
        self._lock = threading.RLock()

    def runs(self) -> list[Run]:
        """Scan the folder and return its runs, the one that started last first.

        Unchanged files are not read again. Of a truncated file the last good reading counts, or else its readable part,
        and `Run.problems` reports it.
        """
        with self._lock:
            found = self._sessions.runs()
            tokens = [token for token in subfolders(self.root, RUNS) if token[0] != "."]
            found = with_tokens(found, self._unrecorded(tokens, found))
            found += [run_of_token(self.files, token) for token in self._unrecorded(tokens, found)]
            found.sort(key=lambda run: (run.started.timestamp() if run.started else 0.0, run.id), reverse=True)
            self._runs = {run.id: run for run in reversed(found)}
            return found

    def lineages(self) -> list[Lineage]:
        """`runs`, the sessions of one run together; the run whose newest session started last comes first."""
        return lineages(self.runs())

    def run(self, run_id: str) -> Run:
        """The run with this id, as it was when the folder was last scanned.

        Raises:
            UnknownRunError: no such run; the message names the nearest id.
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
                keys = metric_rows.keys_of(body)
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
        if not self._has_log(self._newest(run)) and isinstance(run, Lineage):
            return self._joined(run, keys)
        resumed = len(run.sessions) > 1 if isinstance(run, Lineage) else run.resumed_from is not None
        run = self._newest(run)
        return self._read_curves(run, self.metric_keys(run) if keys is None else keys, resumed)

    def latest(self, run: Run | Lineage | str, keys: Iterable[str]) -> tuple[int | None, dict[str, float]]:
        """How far a run is: its last environment step (None: nothing logged), and the last value of each key it has."""
        run = self._newest(run)
        body = self._log(run)
        if body is not None:
            return metric_rows.last_values(body, keys)
        curves = self.curves(run, {*keys, "episode"})
        steps = [int(curve.steps[-1]) for curve in curves.values() if len(curve.steps)]
        values = {key: float(curves[key].values[-1]) for key in keys if key in curves and len(curves[key].values)}
        return max(steps, default=None), values

    def diagnostics(self, run: Run | Lineage | str) -> dict[str, metric_rows.Rows]:
        """The rows of a run's log of diagnostics by key (`records.diagnostics`); empty if it has none."""
        body = self._diagnostics_log(self._newest(run))
        return metric_rows.read_rows(body, resumed=True) if body else {}

    def diagnostics_stamp(self, run: Run | Lineage | str) -> tuple[int, int] | None:
        """Size and time of that log."""
        token = self._newest(run).token
        return self.files.stamp(*diagnostics_path(token)) if token else None

    def log_text(self, run: Run | Lineage | str, last: int = 1 << 16) -> str:
        """The last bytes of a run's output (Sacred's cout.txt), or empty. Untrusted text."""
        run = self._newest(run)
        if run.folder is None:
            return ""
        try:
            return self.files.end(last, run.folder, "cout.txt").decode("utf-8", "replace")
        except OSError:
            return ""

    def artifacts(self, run: Run | Lineage | str) -> list[Artifact]:
        """The artifacts of a run: files given to Sacred, models, checkpoints, replays, TensorBoard events."""
        sessions = run.sessions if isinstance(run, Lineage) else (self._newest(run),)
        given = [
            Artifact("artifact", name, session.folder / name)
            for session in sessions
            for name in session.artifacts
            if session.folder is not None
        ]
        token = sessions[-1].token
        return given + (artifacts_of_token(self.root, token) if token else [])

    def files_of(self, run: Run | Lineage | str) -> list[RunFile]:
        """Every file that a run left behind, with its size and time; see `files_of_run`."""
        lineage = run if isinstance(run, Lineage) else Lineage((self._newest(run),))
        return files_of_run(self.root, lineage, self.artifacts(lineage))

    def provenance(self, run: Run | Lineage | str) -> Provenance:
        """Packages and source files of a run."""
        record = self._json(self._newest(run), "run.json")
        return provenance_of(record.get("experiment") if record else None)

    def manifest(self, checkpoint: Artifact) -> dict:
        """The content of a checkpoint's manifest.json; empty if it cannot be read."""
        return manifest(self.files, checkpoint)

    def path(self, artifact: Artifact | str | Path) -> Path:
        """The absolute path of an artifact, or of a path relative to the results folder.

        Raises:
            OutsideResultsError: it leads out of the folder by its parts, or a link is on it.
        """
        return inside(self.root, artifact.path if isinstance(artifact, Artifact) else artifact)

    def _unrecorded(self, tokens: list[str], runs: list[Run]) -> list[str]:
        recorded = {run.token for run in runs}
        return [token for token in tokens if token not in recorded]

    def _newest(self, run: Run | Lineage | str) -> Run:
        return run.newest if isinstance(run, Lineage) else self.run(run) if isinstance(run, str) else run

    def _has_log(self, run: Run) -> bool:
        return run.token is not None and self.files.stamp(*log_path(run.token)) is not None

    def _log(self, run: Run) -> bytes | None:
        """The rows of the run's metric log; None if it has none that can be read."""
        if run.token is None:
            return None
        try:
            return metric_rows.whole_lines(self.files.read(*log_path(run.token)))
        except OSError:
            return None

    def _json(self, run: Run, name: str) -> JsonObject | None:
        if run.folder is None:
            return None
        try:
            return JsonObject(self.files.read(run.folder, name))
        except OSError:
            return None

    def _read_curves(self, run: Run, keys: list[str], resumed: bool) -> dict[str, Curve]:
        """Curves of one session, or of its token's log; those of unchanged files come from memory."""
        stamp = self._stamp(run)
        known = {key: self._curves.get((run.id, key, resumed), (None, None)) for key in keys}
        missing = [key for key, (known_stamp, _) in known.items() if known_stamp != stamp]
        read, whole = self._curves_in_files(run, missing, resumed) if missing else ({}, True)
        for key in missing:
            curve, earlier = read.get(key), known[key][1]
            if not whole and earlier is not None and (curve is None or len(curve.steps) < len(earlier.steps)):
                continue  # a file that is being written: the last good reading counts
            known[key] = stamp if whole else None, curve
            self._keep((run.id, key, resumed), known[key])
        return {key: curve for key, (_, curve) in known.items() if curve is not None}

    def _keep(self, name: tuple, known: tuple[tuple | None, Curve | None]) -> None:
        with self._lock:
            before = self._curves.get(name, (None, None))[1]
            self._points += sum(n * len(curve.steps) for n, curve in ((1, known[1]), (-1, before)) if curve)
            if len(self._curves) >= CURVES_KEPT or self._points > POINTS_KEPT:
                self._curves.clear()
                self._points = len(known[1].steps) if known[1] else 0
            self._curves[name] = known

    def _curves_in_files(self, run: Run, keys: list[str], resumed: bool) -> tuple[dict[str, Curve], bool]:
        """Curves, and whether the files were whole."""
        body = self._log(run)
        if body is not None:
            rows = metric_rows.read_rows(body, keys, resumed)
            curves = {key: curve_files.from_rows(key, rows[key], METRICS) for key in keys if key in rows}
            updates = self._updates(run, resumed)
            return {key: curve_files.with_axis(curve, "updates", updates) for key, curve in curves.items()}, True
        files = self._json(run, "metrics.json"), self._json(run, "info.json")
        whole = all(file.whole for file in files if file is not None)
        return curve_files.from_sacred(keys, *files, run.started), whole

    def _updates(self, run: Run, resumed: bool) -> Curve | None:
        """The learner's updates so far, which the log of diagnostics has."""
        body = self._diagnostics_log(run)
        rows = metric_rows.read_rows(body, [UPDATES], resumed) if body else {}
        return curve_files.from_rows(UPDATES, rows[UPDATES], DIAGNOSTICS) if rows else None

    def _diagnostics_log(self, run: Run) -> bytes | None:
        try:
            return metric_rows.whole_lines(self.files.read(*diagnostics_path(run.token))) if run.token else None
        except OSError:
            return None

    def _joined(self, lineage: Lineage, keys: list[str] | None) -> dict[str, Curve]:
        parts = [self.curves(run, keys) for run in lineage.sessions]
        resumed_at = [run.resumed_from.t_env if run.resumed_from else None for run in lineage.sessions]
        names = {key: None for part in parts for key in part}
        sessions = list(zip(parts, resumed_at, strict=True))
        return {key: curve_files.join((part[key], t_env) for part, t_env in sessions if key in part) for key in names}

    def _stamp(self, run: Run) -> tuple:
        """Sizes and times of the files with the curves."""
        if self._has_log(run):
            return (self.files.stamp(*log_path(run.token)),)
        return tuple(self.files.stamp(run.folder, name) for name in ("metrics.json", "info.json") if run.folder)


def _nearest_folder(path: Path) -> str:
    parent = path.parent
    return did_you_mean(str(path), [str(parent / name) for name in subfolders(parent)])
