"""Where statistics go: the console, the metric log, Sacred, and sinks such as TensorBoard."""

import logging
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from records.console_log import RecentStats, is_quiet
from records.metric_log import MetricLog, MetricRow, parse_metric_log
from records.on_end import OnEnd
from records.progress import SHOWN, ProgressBar
from records.sinks import Attachment, AttachmentSink, ModelSink, Sink
from utils.plain_values import counted

# the share of a run's steps after which a value is recent
RECENT = 0.9


class Logger:
    """PyMARL's logger: `log_stat` keeps a value and passes it on to every sink that was set up.

    A disk that is full, read-only or gone never raises in code that logs: each sink warns once, keeps missing values
    and retries. Threads may log at the same time.

    Attributes:
        stats: every statistic: its name -> [(t, value), ...], the earlier sessions of a resumed run included.
        on_end: starts the user's command when the run ends or stalls, if there is a run.
        episode: training episodes so far; the loop counts them, the metric log notes them beside each value.
    """

    def __init__(self, console_logger: logging.Logger):
        self.console_logger = console_logger
        self.use_tb = False
        self.use_sacred = False
        self.progress: ProgressBar | None = None
        self.stats: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self.episode = 0
        self.on_end: OnEnd | None = None
        self._metric_log = MetricLog(console_logger)
        self._sinks: list[Sink] = []
        self._in_sacred: dict[str, bool] = {}
        # the step of the last summary on the console
        self._summarised = -1
        self._earlier_seconds = 0.0
        self._session_start = time.monotonic()
        self._lock = threading.RLock()
        self._collected = threading.local()

    def setup_tb(self, directory_name: str) -> None:
        """Also write TensorBoard events into this folder, which is made with the first of them."""
        # imported here: a run without TensorBoard starts faster
        from records.events import EventWriter

        writer = EventWriter(directory_name, self.console_logger)
        self.add_sink(writer)
        self.tb_logger = writer.log_value
        self.use_tb = True

    def add_sink(self, sink: Sink) -> None:
        """Also pass every value on to this sink."""
        self._sinks.append(sink)

    def keep_model(self, folder: Path) -> None:
        """Hand the models in `folder` to the sinks that keep such."""
        for sink in self._sinks:
            if isinstance(sink, ModelSink):
                sink.take_model(folder)

    def attach(self, attachment: Attachment) -> None:
        """Hand a file or folder to the sinks that take such."""
        for sink in self._sinks:
            if isinstance(sink, AttachmentSink):
                sink.attach(attachment)

    def setup_sacred(self, sacred_run_dict: Any) -> None:
        """Also keep values in a Sacred run: in its `info` as `key` and `key_T`, and as its metrics."""
        self.sacred_run = sacred_run_dict
        self.sacred_info = sacred_run_dict.info
        self.use_sacred = True

    def setup_metric_log(self, path: str) -> None:
        """Also append every value to this CSV file (records/metric_log.py), those that were logged before included.

        The file is made with the first value; a file that is there already is set aside, unless `load_state_dict`
        continues it.
        """
        with self._lock:
            self._metric_log.open(path)
            if self.stats:
                self._metric_log.flush()

    def setup_progress(self, t_max: int, t_env: int = 0) -> None:
        """Show a progress bar, if the run is watched on a terminal and not quiet.

        `t_env`: the steps done before this session.
        """
        if sys.__stderr__ is not None and sys.__stderr__.isatty() and not is_quiet(self.console_logger):
            self.progress = ProgressBar(t_max, t_env)

    def moved(self) -> None:
        """The run has played or learned something."""
        if self.on_end is not None:
            self.on_end.moved()

    def seconds(self) -> float:
        """Seconds since this logger was made, and of the earlier sessions of a resumed run."""
        return self._earlier_seconds + time.monotonic() - self._session_start

    def log_stat(self, key: str, value: float, t: int, to_sacred: bool = True) -> None:
        """Log a number (of any library; NaN and infinity too) after `t` steps."""
        value, t = float(value), int(t)
        collected = getattr(self._collected, "calls", None)
        if collected is not None:
            collected.append((key, value, t, to_sacred))
            return
        with self._lock:
            self.stats[key].append((t, value))
            self._in_sacred[key] = to_sacred
            self._metric_log.append(MetricRow(t, self.episode, self.seconds(), key, value))
            for sink in self._sinks:
                sink.log_value(key, value, t)
            if self.use_sacred and to_sacred:
                self._log_to_sacred(key, value, t)

    @contextmanager
    def collecting(self, calls: list[tuple[str, float, int, bool]]) -> Iterator[None]:
        """Within the block, collect this thread's log entries, as arguments of `log_stat`; other threads log as ever.

        Otherwise the entries of a thread would come in another order, and with another count of episodes, in each run
        of the same seed.
        """
        self._collected.calls = calls
        try:
            yield
        finally:
            self._collected.calls = None

    def _log_to_sacred(self, key: str, value: float, t: int) -> None:
        self.sacred_info.setdefault(f"{key}_T", []).append(t)
        self.sacred_info.setdefault(key, []).append(value)
        self.sacred_run.log_scalar(key, value, t)

    def flush(self) -> None:
        """Retry failed writes."""
        with self._lock:
            if self.stats:
                self._metric_log.flush()
            for sink in self._sinks:
                sink.flush()

    def state_dict(self) -> dict:
        """The state of the sinks, as plain numbers and strings; waiting values are written first.

        Returns:
            `seconds`; `metric_log`: {"bytes", "crc32"}; `unwritten`: the lines that it still waits for;
            `not_in_sacred`: the statistics that are not logged in Sacred; the state of every sink, under its name.
        """
        with self._lock:
            self.flush()
            if self.stats:  # the checkpoint that names the position should not outlive the rows
                self._metric_log.flush(to_disk=True)
            return {
                "seconds": self.seconds(),
                "metric_log": self._metric_log.position(),
                "unwritten": self._metric_log.unwritten(),
                "not_in_sacred": [key for key, logged in self._in_sacred.items() if not logged],
                **{sink.name: sink.state_dict() for sink in self._sinks},
            }

    def load_state_dict(self, state: dict) -> None:
        """Continue where `state_dict` was called, after the sinks were set up and before anything is logged.

        `stats` comes from the metric log; the log and TensorBoard's files are cut back to where they were, and Sacred
        and the tracking services get the past. A warning reports missing and damaged files.
        """
        with self._lock:
            self._earlier_seconds = state["seconds"]
            self._session_start = time.monotonic()
            rows = []
            if self._metric_log.path is not None:
                rows = self._metric_log.resume(self._metric_log.path, state["metric_log"])
            unwritten = parse_metric_log(state["unwritten"].encode())
            for row in unwritten:
                self._metric_log.append(row)
            for row in [*rows, *unwritten]:
                self.stats[row.key].append((row.t_env, row.value))
                to_sacred = self._in_sacred[row.key] = row.key not in state["not_in_sacred"]
                if self.use_sacred and to_sacred:
                    self._log_to_sacred(row.key, row.value, row.t_env)
            for sink in self._sinks:
                sink.resume(state.get(sink.name, {}), self.stats)

    def close_sinks(self, finished: bool) -> None:
        """End all sinks, after which nothing is logged; `finished`: whether the run reached its end."""
        with self._lock:
            for sink in self._sinks:
                sink.close(finished)

    def show_progress(self, t_env: int) -> None:
        """Move the progress bar, if there is one."""
        if self.progress is not None:
            with self._lock:
                latest = {key: values[-1][1] for key, values in self.stats.items() if values}
            self.progress.show(t_env, latest)

    def print_test(self, t_env: int) -> None:
        """Print one line with the results of the newest test, if the runner logged it."""
        figures, newest = [], self._newest_step("test_return_mean")
        for key in ("test_return_mean", "test_battle_won_mean"):
            if newest is not None and self._newest_step(key) == newest:
                figures.append(f"{SHOWN[key].removeprefix('test ')} {self.stats[key][-1][1]:.2f}")
        if figures:
            self.console_logger.info(f"Test after {counted(t_env, 'step')}: {', '.join(figures)}")

    def close(self) -> None:
        """Remove the progress bar, if any, and write waiting values."""
        self.flush()
        if self.progress is not None:
            self.progress.close()
            self.progress = None

    def print_recent_stats(self) -> None:
        """Print the mean of the last five values of every statistic (of epsilon: the last).

        One without a value since the last summary, or within the last tenth of the run, is not recent: its name has the
        step of its newest value, `return_mean @992`.
        """
        with self._lock:
            recent = {key: values[-5:] for key, values in self.stats.items() if values}
        t_env, episode = recent.pop("episode", [(0, 0)])[-1]
        means, old = {}, {}
        for key, values in sorted(recent.items()):
            window = 1 if key == "epsilon" else 5
            means[key] = float(np.mean([value for _, value in values[-window:]]))
            if (t := values[-1][0]) <= self._summarised or t < RECENT * t_env:
                old[key] = t
        if t_env > self._summarised:
            self._summarised = t_env
        self.console_logger.info(RecentStats(t_env, int(episode), means, old))

    def _newest_step(self, key: str) -> int | None:
        values = self.stats.get(key)
        return values[-1][0] if values else None
