"""Sacred's record of a run in MongoDB, beside the one in files, which does not wait for it."""

import logging
import os
import re
from collections.abc import Callable
from typing import Any

from sacred.observers import MongoObserver
from sacred.serializer import flatten

from records.thinning import ThinnedMetrics, thinned_info
from utils.errors import ConfigError
from utils.plain_values import quoted

VARIABLE = "MUSTER_MONGO_URL"
DATABASE = "muster"
# below that of files (20): these come first, and give the run its id
PRIORITY = 10
# milliseconds until a server counts as unreachable; heartbeats come every 10 seconds
TIMEOUT = 3000
# characters of the console's output, whose end is kept; a document has at most 16 MB
LONGEST_OUTPUT = 2**20


def mongo_recorder(config: dict, console: logging.Logger) -> "MongoRecorder | None":
    """The recorder that `mongo_url` asks for, or else the environment variable MUSTER_MONGO_URL; nothing is connected.

    Raises:
        ConfigError: the URL is invalid, has a password where it would be recorded, or pymongo is not installed.
    """
    key, url = "mongo_url", config["mongo_url"]
    if not url:
        key, url = VARIABLE, os.environ.get(VARIABLE, "")
    if not url:
        return None
    parts = re.fullmatch(r"mongodb(?:\+srv)?://(?:(.*)@)?[^/?@]+(?:/([A-Za-z0-9_-]*))?(\?.*)?", url)
    if parts is None or not url.isprintable():
        raise ConfigError(f"{key}={without_secrets(url)}: it is not of the form mongodb://HOST:PORT/DATABASE.")
    user, database, query = parts.groups(default="")
    if key == "mongo_url" and (":" in user or re.search("password|token", query, re.IGNORECASE)):
        raise ConfigError(
            f"mongo_url={without_secrets(url)} has a password, which would be recorded with the config. "
            f"Put the URL into the environment variable {VARIABLE} instead, and leave the key out."
        )
    try:
        import pymongo  # noqa: F401
    except ModuleNotFoundError:
        raise ConfigError(
            f"{key} needs the package 'pymongo', which is not installed. "
            "Install it with: pip install -r requirements-mongo.txt"
        ) from None
    return MongoRecorder(url, database or DATABASE, console)


def without_secrets(url: str) -> str:
    """A URL as it may be shown: without user, password and options."""
    scheme, _, rest = url.partition("//")
    return quoted(f"{scheme}//{'***@' if '@' in rest else ''}{rest.rpartition('@')[2].partition('?')[0]}")


class MongoRecorder(MongoObserver):
    """Sacred's MongoObserver, of which

    - a missing server costs nothing but time: one warning, and a retry with each heartbeat;
    - `info` and metrics keep about 1,000 points of a series (`records.thinning`), which keeps documents small;
    - runs are numbered by the database, which may have those of many machines.
    """

    def __init__(self, url: str, database: str, console: logging.Logger):
        self._url, self._database, self._console = url, database, console
        self.priority = PRIORITY
        self._begin: Callable[[], Any] | None = None
        self._connected = self._told = False
        self._series = ThinnedMetrics()
        self._metrics: dict[str, Any] = {}

    def started_event(self, ex_info, command, host_info, start_time, config, meta_info, _id):
        """Record the beginning, now or when the server is there. The run's id is that of its files."""
        arguments = (dict(ex_info), command, host_info, start_time, config, {**meta_info, "files_id": _id}, None)
        self._begin = lambda: super(MongoRecorder, self).started_event(*arguments)
        self._attempt(lambda: None)
        return _id

    def queued_event(self, ex_info, command, host_info, queue_time, config, meta_info, _id):
        """Record the run before its start."""
        arguments = (dict(ex_info), command, host_info, queue_time, config, {**meta_info, "files_id": _id}, None)
        self._begin = lambda: super(MongoRecorder, self).queued_event(*arguments)
        self._attempt(lambda: None)
        return _id

    def log_metrics(self, metrics_by_name, info):
        """Add measurements, which the heartbeat that follows writes."""
        self._series.add(metrics_by_name)

    def heartbeat_event(self, info, captured_out, beat_time, result):
        """Write new entries."""

        def write() -> None:
            self._write_metrics()
            entries = {key: _document(value) for key, value in thinned_info(info).items()}
            entries["metrics"] = [{"name": name, "id": str(number)} for name, number in self._metrics.items()]
            output = captured_out[-LONGEST_OUTPUT:]
            self.run_entry.update(info=entries, captured_out=output, heartbeat=beat_time, result=flatten(result))
            self.save()

        self._attempt(write)

    def completed_event(self, stop_time, result):
        """Write the end of the run."""
        self._end(stop_time=stop_time, result=flatten(result), status="COMPLETED")

    def interrupted_event(self, interrupt_time, status):
        """Write the end of the run."""
        self._end(stop_time=interrupt_time, status=status)

    def failed_event(self, fail_time, fail_trace):
        """Write the end of the run."""
        self._end(stop_time=fail_time, status="FAILED", fail_trace=fail_trace)

    def resource_event(self, filename):
        """Keep a copy of a file that the run reads."""
        self._attempt(lambda: super(MongoRecorder, self).resource_event(filename))

    def artifact_event(self, name, filename, metadata=None, content_type=None):
        """Keep a copy of a file that the run made."""
        self._attempt(lambda: super(MongoRecorder, self).artifact_event(name, filename, metadata, content_type))

    def save(self):
        """Write the run's document; Sacred's own method would hide failures."""
        self.runs.update_one({"_id": self.run_entry["_id"]}, {"$set": self.run_entry}, upsert=True)

    def _end(self, **entries: Any) -> None:
        def write() -> None:
            self.run_entry.update(entries)
            self.save()

        if not self._attempt(write):
            self._console.warning(f"MongoDB's record of this run is incomplete ({without_secrets(self._url)}).")

    def _write_metrics(self) -> None:
        from pymongo import ReturnDocument

        for name, series in self._series.items():
            steps, values, times = (list(column) for column in zip(*series.points(), strict=True))
            found = self.metrics.find_one_and_update(
                {"run_id": self.run_entry["_id"], "name": name},
                {"$set": {"steps": steps, "values": values, "timestamps": times}},
                upsert=True,
                return_document=ReturnDocument.AFTER,
            )
            self._metrics[name] = found["_id"]

    def _attempt(self, write: Callable[[], Any]) -> bool:
        """Connect and start the record if that failed before, and write. Returns whether it worked."""
        try:
            if not self._connected:
                names = ("serverSelectionTimeoutMS", "connectTimeoutMS", "socketTimeoutMS")
                timeouts: dict[str, Any] = dict.fromkeys(names, TIMEOUT)
                super().__init__(self._url, self._database, priority=PRIORITY, **timeouts)
                self._connected = True
            if self._begin is not None:
                self._begin()
                self._begin = None
            write()
        except Exception as error:  # a failing database must not end a run
            if not self._told:
                # the error's own text could have the password in it
                self._console.warning(
                    f"The run cannot be recorded in MongoDB ({without_secrets(self._url)}): {type(error).__name__}. "
                    "Its files are complete; writing to the database is retried."
                )
            self._told = True
            return False
        if self._told:
            self._console.info(f"MongoDB can be written again ({without_secrets(self._url)}).")
        self._told = False
        return True


def _document(value: Any) -> Any:
    # Sacred's serialiser takes long for long lists of numbers, which need none
    if isinstance(value, list) and all(type(item) in (int, float) for item in value):
        return value
    return flatten(value)
