"""The record of a run that is started from Python, without Sacred: the files that Sacred would write."""

import json
import logging
import os
import platform
import shutil
import socket
import threading
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from records.console_log import lines_of
from records.fault_notice import FaultNotice
from records.installed_packages import installed_packages
from records.layout import RUNS, SACRED
from records.recorded import sacred_numbers
from records.thinning import thinned_info
from utils.errors import ConfigError, MusterError
from utils.files.whole_files import write_whole
from utils.processes.stop_signals import Interrupted

# seconds; Sacred's
BEAT = 10.0


class RunRecord:
    """A folder `<results>/sacred/<number>` with config.json, run.json, info.json and cout.txt, for `with`.

    It takes the place of a Sacred run where `run` asks for one; every JSON is at any moment the old or the new one. At
    the end of the block it has the status of the run; a run that is refused leaves no record.

    Args:
        results: the folder of all results.
        config: checked, as it is recorded.
        log: of the run; its messages go to cout.txt, too.

    Attributes:
        _id: the number of the record, under Sacred's name for it.
        info: what the run says of itself, and its statistics.

    Raises:
        MusterError: the folder cannot be made.
    """

    def __init__(self, results: str | Path, config: Mapping[str, Any], log: logging.Logger):
        self.info: dict[str, Any] = {}
        self._results, self._log = Path(results), log
        self._result: float | None = None
        self._lock, self._ended = threading.Lock(), threading.Event()
        try:
            self._folder = _new_folder(self._results / SACRED)
            self._id = self._folder.name
            self._write("config.json", dict(config))
            self._run = _first_entries()
            self._write("run.json", self._run)
        except OSError as error:
            raise MusterError(
                f"The record of this run cannot be written under {self._results / SACRED}: {error.strerror or error}. "
                "The run has not started."
            ) from None
        self._notice = FaultNotice(f"The record {self._folder}", log)
        self._lines = lines_of(self._folder / "cout.txt")
        self._beat = threading.Thread(target=self._beats, name="run record", daemon=True)

    def log_scalar(self, key: str, value: float, t: int) -> None:
        """The metric log has it."""

    def __enter__(self) -> "RunRecord":
        self._log.addHandler(self._lines)
        self._beat.start()
        return self

    def ended(self, result: float | None) -> None:
        """Note the result of the run."""
        self._result = result

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._beat.join()
        self._log.removeHandler(self._lines)
        self._lines.close()
        token = self.info.get("unique_token")
        if isinstance(error, ConfigError) and not (token and os.path.exists(self._results / RUNS / token)):
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        self._run |= {"stop_time": _now(), "result": self._result, "status": "COMPLETED"}
        if isinstance(error, KeyboardInterrupt):
            self._run["status"] = Interrupted.STATUS
        elif error is not None:
            self._run |= {"status": "FAILED", "fail_trace": traceback.format_exception(error)}
        self._save()

    def _beats(self) -> None:
        while not self._ended.wait(BEAT):
            self._save()

    def _save(self) -> None:
        with self._lock:
            self._run["heartbeat"] = _now()
            try:
                os.makedirs(self._folder, mode=0o700, exist_ok=True)
                self._write("run.json", self._run)
                if self.info:
                    self._write("info.json", thinned_info(self.info))
            except RuntimeError:  # a dictionary has grown meanwhile; the next beat comes
                pass
            except OSError as error:
                self._notice.failed(error)
            else:
                self._notice.worked()

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        text = json.dumps(content, sort_keys=True, indent=2, default=str)
        write_whole(str(self._folder / name), f"{text}\n".encode())


def _new_folder(folder: Path) -> Path:
    """A new one below the folder, of the next number."""
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        path = folder / str(max(sacred_numbers(folder.parent), default=0) + 1)
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:  # another process was faster
            continue
        return path


def _first_entries() -> dict[str, Any]:
    """Those of run.json at the start, under Sacred's names."""
    host = {
        "hostname": socket.gethostname(),
        "os": [platform.system(), platform.platform()],
        "python_version": platform.python_version(),
        "cpu": platform.processor(),
    }
    experiment = {"name": "muster", "mainfile": "muster.train", "dependencies": list(installed_packages())}
    return {
        "experiment": {**experiment, "repositories": [], "sources": []},
        "command": "train",
        "host": host,
        "meta": {"command": "train", "options": {}},
        "status": "RUNNING",
        "start_time": _now(),
        "heartbeat": None,
        "result": None,
        "resources": [],
        "artifacts": [],
    }


def _now() -> str:
    """UTC, in Sacred's form."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat()
