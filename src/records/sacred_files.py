"""Sacred's record of a run in files: small, never half-written, and not given up when the disk is full."""

import json
import logging
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sacred.dependencies import get_digest
from sacred.observers import FileStorageObserver
from sacred.serializer import flatten

from records.append_file import AppendFile
from records.fault_notice import FaultNotice
from records.thinning import ThinnedMetrics, thinned_info
from utils.errors import ConfigError, MusterError
from utils.files.whole_files import write_whole

_PLAIN = {int, float, str, bool, type(None)}


class PastSacredError(BaseException):
    """Carries a MusterError through Sacred, which would print a traceback for every Exception."""

    def __init__(self, error: MusterError):
        super().__init__(str(error))
        self.error = error


@contextmanager
def past_sacred() -> Iterator[None]:
    """Let a MusterError of this block leave Sacred as a PastSacredError."""
    try:
        yield
    except MusterError as error:
        raise PastSacredError(error) from error


class RunRecorder(FileStorageObserver):
    """Sacred's FileStorageObserver with the same files, of which

    - every JSON is at any moment the old or the new one, and belongs to the user alone;
    - `metrics.json` and `info.json` keep about 1,000 points of a series (`records.thinning`);
    - failed writes are reported once and retried with each event; the JSON files of a folder that vanished are
      re-created.
    """

    def __init__(self, basedir: str | Path, console: logging.Logger | None = None, **options: Any):
        super().__init__(basedir, **options)
        self._console = console or logging.getLogger()
        self._lock = threading.RLock()  # a slow disk: Sacred's last heartbeat and its final event may meet

    def queued_event(self, ex_info, command, host_info, queue_time, config, meta_info, _id):
        """Make the run's folder. Raises a MusterError, past Sacred, when that is not possible."""
        return self._begin(super().queued_event, ex_info, command, host_info, queue_time, config, meta_info, _id)

    def started_event(self, ex_info, command, host_info, start_time, config, meta_info, _id):
        """Make the run's folder. Raises a MusterError, past Sacred, when that is not possible."""
        return self._begin(super().started_event, ex_info, command, host_info, start_time, config, meta_info, _id)

    def _begin(self, event: Callable, *arguments: Any) -> Any:
        self._series = ThinnedMetrics()
        self._unsaved: set[str] = set()
        self._saved: set[str] = set()
        self._copies: list[Callable[[], None]] = []
        with past_sacred():
            try:
                return event(*arguments)
            except OSError as error:
                if self.dir is not None:
                    shutil.rmtree(self.dir, ignore_errors=True)
                    self.dir = None
                raise MusterError(
                    f"The record of this run cannot be written under {self.basedir}: {error.strerror or error}. "
                    "The run has not started."
                ) from error

    def _make_run_dir(self, _id):
        try:
            super()._make_run_dir(_id)
        except FileExistsError:
            taken, self.dir = self.dir, None  # it is another run's
            if _id is None or taken is None:
                raise
            raise ConfigError(f"--id={_id}: {taken} exists already. Choose another id, or none.") from None
        except OSError:
            self.dir = None
            raise
        os.chmod(self.dir, 0o700)
        self._notice = FaultNotice(f"Sacred's record {self.dir}", self._console)
        self._cout = AppendFile(os.path.join(self.dir, "cout.txt"), "The captured output", self._console)

    def find_or_save(self, filename, store_dir: Path):
        """As Sacred's, but a copy that breaks off leaves nothing that later runs would take for the whole."""
        # of 600 sources, resolving takes a tenth of a second
        if not self.copy_artifacts and Path(filename).resolve().is_relative_to(Path(self.basedir).resolve()):
            return filename
        store_dir.mkdir(parents=True, exist_ok=True)
        stem, ending = os.path.splitext(os.path.basename(filename))
        store_path = store_dir / f"{stem}_{get_digest(filename)}{ending}"
        if not store_path.exists():
            write_whole(str(store_path), Path(filename).read_bytes())
        return store_path

    def save_json(self, obj, filename):
        """Write a JSON file whole. Raises OSError when it cannot be written."""
        self._write(filename, _document(obj))

    def save_cout(self):
        """Append the newly captured output."""
        text = self.cout[self.cout_write_cursor :]
        self.cout_write_cursor = len(self.cout)
        if text:
            self._cout.append(text.encode("utf-8", "backslashreplace"))
        self._cout.flush()

    def log_metrics(self, metrics_by_name, info):
        """Add measurements, which the heartbeat that follows writes."""
        with self._lock:
            self._series.add(metrics_by_name)
            if metrics_by_name or "metrics.json" not in self._saved:
                self._unsaved.add("metrics.json")

    def heartbeat_event(self, info, captured_out, beat_time, result):
        """Write new entries."""
        with self._lock:
            self.info, self.cout = info, captured_out
            self.run_entry.update(heartbeat=beat_time.isoformat(), result=result)
            self._unsaved |= {"run.json", "info.json"} if info else {"run.json"}
            self._save()

    def completed_event(self, stop_time, result):
        """Write the end of the run."""
        self._end(stop_time=stop_time.isoformat(), result=result, status="COMPLETED")

    def interrupted_event(self, interrupt_time, status):
        """Write the end of the run."""
        self._end(stop_time=interrupt_time.isoformat(), status=status)

    def failed_event(self, fail_time, fail_trace):
        """Write the end of the run, if it had started."""
        self._end(stop_time=fail_time.isoformat(), status="FAILED", fail_trace=fail_trace)

    def forget(self) -> None:
        """After the end of a run that was refused before it began: remove its record."""
        with self._lock:
            if self.dir is not None:
                shutil.rmtree(self.dir, ignore_errors=True)
                self.dir = None

    def _end(self, **entries: Any) -> None:
        if self.dir is None:  # it could not even start
            return
        with self._lock:
            self.run_entry.update(entries)
            self._unsaved.add("run.json")
            self._save()
            try:
                self.render_template()
            except OSError as error:
                self._notice.failed(error)

    def resource_event(self, filename):
        """Keep a copy of a file that the run reads."""

        def copy() -> None:
            store_path = self.find_or_save(filename, self.resource_dir)
            self.run_entry["resources"].append([filename, str(store_path)])

        self._copy(copy)

    def artifact_event(self, name, filename, metadata=None, content_type=None):
        """Keep a copy of a file that the run made."""

        def copy() -> None:
            self.save_file(filename, name)
            self.run_entry["artifacts"].append(name)

        self._copy(copy)

    def _copy(self, copy: Callable[[], None]) -> None:
        with self._lock:
            self._copies.append(copy)
            self._unsaved.add("run.json")
            self._save()

    def join(self):
        """Retry failed writes once more, and report files that are still missing."""
        if self.dir is None:
            return
        with self._lock:
            if self._unsaved or self._copies:
                self._save()
            if self._unsaved or self._copies:
                missing = [*sorted(self._unsaved), *(["copies of files"] if self._copies else [])]
                self._console.warning(f"Sacred's record {self.dir} ends incomplete: {', '.join(missing)} not written.")

    def _save(self) -> None:
        """Write all unsaved files; failures are logged once, and the files stay unsaved."""
        self.save_cout()
        self._unsaved |= {name for name in self._saved if not os.path.exists(os.path.join(self.dir, name))}
        error: Exception | None = None
        for copy in list(self._copies):
            try:
                os.makedirs(self.dir, mode=0o700, exist_ok=True)
                copy()
            except (FileNotFoundError, FileExistsError) as mistake:  # no such source, or a name of Sacred's own
                self._console.warning(f"Sacred keeps no copy: {mistake}")
            except OSError as fault:
                error = fault
                continue
            self._copies.remove(copy)
        for name in sorted(self._unsaved):
            try:
                os.makedirs(self.dir, mode=0o700, exist_ok=True)
                self._write(name, self._content(name))
            except RuntimeError:
                continue  # a container of the user's in `info` grew meanwhile; the next event comes
            except Exception as fault:  # the disk, or something in `info` that has no JSON
                error = fault
        if error is None:
            self._notice.worked()
        else:
            self._notice.failed(error)

    def _write(self, name: str, content: bytes) -> None:
        write_whole(os.path.join(self.dir, name), content)
        self._saved.add(name)
        self._unsaved.discard(name)

    def _content(self, name: str) -> bytes:
        if name == "metrics.json":
            return _lines({key: _columns(series.points()) for key, series in self._series.items()})
        if name == "info.json":
            return _lines(thinned_info(self.info))
        return _document(self.config if name == "config.json" else self.run_entry)


def check_run_id(run_id: str) -> None:
    """Refuse an id that is not a plain name, with a ConfigError: it becomes a folder's."""
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*", run_id):
        raise ConfigError(f"--id={run_id}: it names a folder: letters, digits, _ . and -, and no dot in front.")


def _columns(points: list[tuple]) -> dict[str, list]:
    steps, values, times = zip(*points, strict=True)
    return {"steps": list(steps), "values": list(values), "timestamps": [time.isoformat() for time in times]}


def _document(obj: Any) -> bytes:
    return json.dumps(flatten(obj), sort_keys=True, indent=2).encode()


def _lines(entries: dict) -> bytes:
    """A JSON object with a line for each of its entries, sorted by their names."""
    plain = {}
    for key, value in entries.items():
        if type(key) is str and (_is_plain(value) or (type(value) is dict and all(map(_is_plain, value.values())))):
            plain[key] = value
        else:  # Sacred's way with everything else, which takes long for long lists
            plain.update(flatten({key: value}))
    lines = [f"{json.dumps(key)}: {json.dumps(plain[key], sort_keys=True)}" for key in sorted(plain)]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN or (type(value) is list and _PLAIN.issuperset(map(type, value)))
