"""A results folder: its runs, their curves, logs and files."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from browser.reading import curves as curve_files
from browser.reading.artifacts import Artifact, RunFile, artifacts_of, files_of
from browser.reading.cache import FileCache, default_cache_path
from browser.reading.curves import Curve
from browser.reading.files import ResultsFiles, subfolders
from browser.reading.json_files import JsonObject, parse
from browser.reading.sacred_folder import Provenance, provenance_of
from browser.reading.session import Run, Session, runs_of
from browser.reading.sessions import SessionReader
from browser.reading.tokens import diagnostics_path, log_path, session_of_token, with_tokens
from records import metric_rows
from records.diagnostics import UPDATES
from records.layout import DIAGNOSTICS, MANIFEST, METRICS, RUNS, SACRED
from utils.errors import ConfigError
from utils.nearest import did_you_mean

# curves, and their points, kept in memory; a point takes 32 bytes
CURVES_KEPT = 4000
POINTS_KEPT = 8_000_000
# the files of a session's folder in which Sacred keeps curves
_SACREDS_CURVES = ("metrics.json", "info.json")

# a run, one of its sessions, or an id
Named = Run | Session | str


class UnknownRunError(ConfigError):
    """There is no run with this id."""


class Results:
    """Reads a results folder; never writes into it.

    Methods that take a run take a `Run` (curves of all its sessions), a `Session`, or an id. Ids and names may come
    from anywhere, such as a web address: an id is looked up among the sessions that were found, and a path is followed
    and refused when it leaves the folder. The methods may be called from several threads.

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
        cache_path = default_cache_path(self.root) if cache == "default" else Path(cache) if cache else None
        self._reader = SessionReader(self.files, self.root, FileCache(cache_path))
        self._sessions: dict[str, Session] = {}
        # by session, key and whether the run was resumed
        self._curves: dict[tuple, tuple[tuple | None, Curve | None]] = {}
        self._keys: dict[str, tuple[tuple, list[str]]] = {}
        self._points = 0
        self._lock = threading.RLock()

    def sessions(self) -> list[Session]:
        """Scan the folder and return its sessions, the one that started last first.

        Unchanged files are not read again. Of a truncated file the last good reading counts, or else its readable part,
        and `Session.problems` reports it.
        """
        with self._lock:
            found = self._reader.sessions()
            tokens = [token for token in subfolders(self.root, RUNS) if token[0] != "."]
            found = with_tokens(found, _unrecorded(tokens, found))
            found += [session_of_token(self.files, token) for token in _unrecorded(tokens, found)]
            found.sort(key=lambda one: (one.started.timestamp() if one.started else 0.0, one.id), reverse=True)
            self._sessions = {session.id: session for session in reversed(found)}
            return found

    def runs(self) -> list[Run]:
        """`sessions`, those of one run together; the run whose newest session started last comes first."""
        return runs_of(self.sessions())

    def session(self, session_id: str) -> Session:
        """The session with this id, as it was when the folder was last scanned.

        Raises:
            UnknownRunError: no such session; the message names the nearest id.
        """
        with self._lock:
            if session_id not in self._sessions:
                self.sessions()
            if session_id not in self._sessions:
                quoted = session_id if len(session_id) < 200 else f"{session_id[:200]}..."
                nearest = did_you_mean(quoted, self._sessions)
                raise UnknownRunError(f"There is no run '{quoted}' in {self.root}.{nearest}")
            return self._sessions[session_id]

    def metric_keys(self, run: Named) -> list[str]:
        """The keys that a run has curves of, sorted."""
        session = self._newest(run)
        stamp = self._stamp(session)
        known = self._keys.get(session.id)
        if known is None or known[0] != stamp:
            body = self._log(session)
            if body is not None:
                keys = metric_rows.keys_of(body)
            else:
                keys = curve_files.keys_in(*(self._json(session, name) for name in _SACREDS_CURVES))
            known = self._keys[session.id] = stamp, keys
        return list(known[1])

    def curves(self, run: Named, keys: Iterable[str] | None = None) -> dict[str, Curve]:
        """Curves by key, from the metric log if the run has one, from Sacred's files otherwise.

        Args:
            keys: which; all by default. A key that the run does not have is left out.
        """
        session = self._newest(run)
        keys = None if keys is None else list(keys)
        if isinstance(run, Run):
            if not self._has_log(session):
                return self._joined(run, keys)
            resumed = len(run.sessions) > 1
        else:
            resumed = session.resumed_from is not None
        return self._read_curves(session, self.metric_keys(session) if keys is None else keys, resumed)

    def latest(self, run: Named, keys: Iterable[str]) -> tuple[int | None, dict[str, float]]:
        """How far a run is: its last environment step (None: nothing logged), and the last value of each key it has."""
        body = self._log(self._newest(run))
        if body is not None:
            return metric_rows.last_values(body, keys)
        keys = list(keys)
        curves = self.curves(self._newest(run), {*keys, "episode"})
        steps = [int(curve.steps[-1]) for curve in curves.values() if len(curve.steps)]
        values = {key: float(curves[key].values[-1]) for key in keys if key in curves and len(curves[key].values)}
        return max(steps, default=None), values

    def diagnostics(self, run: Named) -> dict[str, metric_rows.Rows]:
        """The rows of a run's log of diagnostics by key (`records.diagnostics`); empty if it has none."""
        body = self._log(self._newest(run), diagnostics_path)
        return metric_rows.read_rows(body, resumed=True) if body else {}

    def recorded(self, run: Run, key: str) -> Any:
        """What a run has recorded under a key of its own (Sacred's info.json), in its newest session that has it; None:
        nothing. It is untrusted."""
        files = (self._json(session, "info.json") for session in reversed(run.sessions))
        return next((value for file in files if file is not None and (value := file.get(key)) is not None), None)

    def stamp(self, run: Run, what: str) -> tuple | None:
        """Size and time of the files with a run's "curves", "diagnostics" or "output": changes when they do."""
        if what == "curves":
            return tuple(map(self._stamp, run.sessions))
        if what == "diagnostics":
            return self.files.stamp(*diagnostics_path(run.token)) if run.token else None
        return self.files.stamp(run.newest.folder, "cout.txt") if run.newest.folder else None

    def log_text(self, run: Named, last: int = 1 << 16) -> str:
        """The last bytes of a run's output (Sacred's cout.txt), or empty. Untrusted text."""
        session = self._newest(run)
        if session.folder is None:
            return ""
        try:
            return self.files.end(last, session.folder, "cout.txt").decode("utf-8", "replace")
        except OSError:
            return ""

    def artifacts(self, run: Named) -> list[Artifact]:
        """The artifacts of a run: files given to Sacred, models, checkpoints, replays, TensorBoard events."""
        return artifacts_of(self.root, self._all_sessions(run), self._newest(run).token)

    def files_of(self, run: Named) -> list[RunFile]:
        """Every file that a run left behind, with its size and time, artifacts first."""
        return files_of(self.root, self._all_sessions(run), self._newest(run).token)

    def provenance(self, run: Named) -> Provenance:
        """Packages and source files of a run."""
        record = self._json(self._newest(run), "run.json")
        return provenance_of(record.get("experiment") if record else None)

    def manifest(self, checkpoint: Artifact) -> dict:
        """A checkpoint's manifest.json, as far as it can be read; empty if it cannot."""
        try:
            value = parse(self.files.read(checkpoint.path, MANIFEST)).value
        except OSError:
            return {}
        return value if isinstance(value, dict) else {}

    def _newest(self, run: Named) -> Session:
        return run.newest if isinstance(run, Run) else self.session(run) if isinstance(run, str) else run

    def _all_sessions(self, run: Named) -> tuple[Session, ...]:
        return run.sessions if isinstance(run, Run) else (self._newest(run),)

    def _has_log(self, session: Session) -> bool:
        return session.token is not None and self.files.stamp(*log_path(session.token)) is not None

    def _log(self, session: Session, path: Callable[[str], tuple[str, ...]] = log_path) -> bytes | None:
        """The rows of the run's metric log, or of its diagnostics; None if it has none that can be read."""
        if not session.token:
            return None
        try:
            return metric_rows.whole_lines(self.files.read(*path(session.token)))
        except OSError:
            return None

    def _json(self, session: Session, name: str) -> JsonObject | None:
        if session.folder is None:
            return None
        try:
            return JsonObject(self.files.read(session.folder, name))
        except OSError:
            return None

    def _read_curves(self, session: Session, keys: list[str], resumed: bool) -> dict[str, Curve]:
        """Curves of one session, or of its token's log; those of unchanged files come from memory."""
        stamp = self._stamp(session)
        known = {key: self._curves.get((session.id, key, resumed), (None, None)) for key in keys}
        missing = [key for key, (known_stamp, _) in known.items() if known_stamp != stamp]
        read, whole = self._curves_in_files(session, missing, resumed) if missing else ({}, True)
        for key in missing:
            curve, earlier = read.get(key), known[key][1]
            if not whole and earlier is not None and (curve is None or len(curve.steps) < len(earlier.steps)):
                continue  # a file that is being written: the last good reading counts
            known[key] = stamp if whole else None, curve
            self._keep((session.id, key, resumed), known[key])
        return {key: curve for key, (_, curve) in known.items() if curve is not None}

    def _keep(self, name: tuple, known: tuple[tuple | None, Curve | None]) -> None:
        with self._lock:
            before = self._curves.get(name, (None, None))[1]
            self._points += sum(n * len(curve.steps) for n, curve in ((1, known[1]), (-1, before)) if curve)
            if len(self._curves) >= CURVES_KEPT or self._points > POINTS_KEPT:
                self._curves.clear()
                self._points = len(known[1].steps) if known[1] else 0
            self._curves[name] = known

    def _curves_in_files(self, session: Session, keys: list[str], resumed: bool) -> tuple[dict[str, Curve], bool]:
        """Curves, and whether the files were whole."""
        body = self._log(session)
        if body is not None:
            rows = metric_rows.read_rows(body, keys, resumed)
            curves = {key: curve_files.from_rows(key, rows[key], METRICS) for key in keys if key in rows}
            updates = self._updates(session, resumed)
            return {key: curve_files.with_axis(curve, "updates", updates) for key, curve in curves.items()}, True
        metrics, info = (self._json(session, name) for name in _SACREDS_CURVES)
        whole = all(file.whole for file in (metrics, info) if file is not None)
        return curve_files.from_sacred(keys, metrics, info, session.started), whole

    def _updates(self, session: Session, resumed: bool) -> Curve | None:
        """The learner's updates so far, which the log of diagnostics has."""
        body = self._log(session, diagnostics_path)
        rows = metric_rows.read_rows(body, [UPDATES], resumed) if body else {}
        return curve_files.from_rows(UPDATES, rows[UPDATES], DIAGNOSTICS) if rows else None

    def _joined(self, run: Run, keys: list[str] | None) -> dict[str, Curve]:
        parts = [self.curves(session, keys) for session in run.sessions]
        resumed_at = [session.resumed_from.t_env if session.resumed_from else None for session in run.sessions]
        by_session = list(zip(parts, resumed_at, strict=True))
        names = dict.fromkeys(key for part in parts for key in part)
        joined = {
            key: curve_files.join((part[key], t_env) for part, t_env in by_session if key in part) for key in names
        }
        return {key: curve for key, curve in joined.items() if curve is not None}

    def _stamp(self, session: Session) -> tuple:
        """Sizes and times of the files with the curves."""
        if session.token is not None and (stamp := self.files.stamp(*log_path(session.token))) is not None:
            return (stamp,)
        folder = session.folder
        return tuple(self.files.stamp(folder, name) for name in _SACREDS_CURVES) if folder is not None else ()


def _unrecorded(tokens: list[str], sessions: list[Session]) -> list[str]:
    recorded = {session.token for session in sessions}
    return [token for token in tokens if token not in recorded]


def _nearest_folder(path: Path) -> str:
    parent = path.parent
    return did_you_mean(str(path), [str(parent / name) for name in subfolders(parent)])
