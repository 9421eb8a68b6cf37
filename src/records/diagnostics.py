"""What a run looks like from inside: its timer, monitored values and machine, in `runs/<token>/diagnostics.csv`.

The file has the form of the metric log (`records.metric_log`). Its keys are `time/<path>` and `calls/<path>`
(seconds and times since the run began), `longest/<path>` (seconds), `updates`, `monitor/<name>/<figure>`,
`histogram/<name>/<bin>` (how many numbers, of the bin that ends at the bin-th of `EDGES`), `machine/<name>`; and
`rollout/<name>`, what rollouts are made of (`experiment.vitals`).
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from records.machine import MachineSampler
from records.metric_log import MetricLog, MetricRow, parse_metric_log
from utils.monitoring import Monitor, RunningStatistics, monitoring
from utils.timing import Timer, timing

TIMES, CALLS, LONGEST, MONITOR, HISTOGRAM, MACHINE = "time", "calls", "longest", "monitor", "histogram", "machine"
ROLLOUT = "rollout"
# updates of the learner so far
UPDATES = "updates"


class Diagnostics:
    """Collects while it is `active`, and writes when the run logs its summary.

    Args:
        timer: None: the run is not timed.
        sampler: makes what watches the machine; None: nothing does.
        clock: has `episode` and `seconds()`, as a Logger.

    Attributes:
        t_env, updates: environment steps, and updates of the learner, so far; the loop sets them.
    """

    def __init__(
        self,
        console: logging.Logger,
        clock: Any,
        timer: Timer | None,
        sampler: Callable[[], MachineSampler] | None = None,
    ):
        self._log = MetricLog(console, "The log of diagnostics")
        self._clock, self._timer, self._make_sampler = clock, timer, sampler
        self._sampler: MachineSampler | None = None
        self._monitor = Monitor(self._record, self._record_counts)
        self.t_env = self.updates = 0

    @contextmanager
    def active(self) -> Iterator[None]:
        """While the block runs, `timed` and `monitor` count for this run; at its end, everything is written."""
        with ExitStack() as ending:
            ending.callback(self._log.flush)
            if self._make_sampler is not None:
                self._sampler = self._make_sampler()
                ending.callback(self._sampler.close)
            ending.callback(self.write)  # however the run ends
            ending.enter_context(timing(self._timer))
            ending.enter_context(monitoring(self._monitor))
            yield

    def open(self, path: str) -> None:
        """Write into this file from now on, starting with all rows so far."""
        self._log.open(path)

    def write(self) -> None:
        """Write updates so far and the totals of the timer, and what was monitored and sampled since the last time."""
        figures: dict[str, float] = {UPDATES: self.updates}
        for path, spent in (self._timer.totals() if self._timer is not None else {}).items():
            figures |= {f"{TIMES}/{path}": spent.seconds, f"{CALLS}/{path}": spent.count}
            figures[f"{LONGEST}/{path}"] = spent.longest
        for name, value in (self._sampler.means() if self._sampler is not None else {}).items():
            figures[f"{MACHINE}/{name}"] = value
        self._append(figures)
        self._monitor.close_windows()

    def note_rollouts(self, figures: Mapping[str, float]) -> None:
        """Write what the rollouts since the last summary were made of, by name."""
        self._append({f"{ROLLOUT}/{name}": value for name, value in figures.items()})

    def state_dict(self) -> dict:
        self._log.flush()
        return {
            "timer": {} if self._timer is None else self._timer.state_dict(),
            "monitor": self._monitor.state_dict(),
            "histograms": self._monitor.counts_state(),
            "log": self._log.position(),
            "unwritten": self._log.unwritten(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state_dict` was called; the file is cut back to where it was. Raises ValueError."""
        if self._timer is not None:
            self._timer.load_state_dict(state["timer"])
        self._monitor.load_state_dict(state["monitor"])
        self._monitor.load_counts_state(state.get("histograms", {}))  # checkpoints of before have none
        if self._log.path is not None:
            self._log.resume(self._log.path, state["log"])
        self._log.append(*parse_metric_log(state["unwritten"].encode()))

    def _record(self, name: str, statistics: RunningStatistics) -> None:
        self._append({f"{MONITOR}/{name}/{figure}": value for figure, value in statistics.figures().items()})

    def _record_counts(self, name: str, counts: np.ndarray) -> None:
        """Bins that have been empty are left out."""
        self._append({f"{HISTOGRAM}/{name}/{k}": int(counts[k]) for k in np.flatnonzero(counts)})

    def _append(self, figures: Mapping[str, float]) -> None:
        if figures:
            now = self.t_env, self._clock.episode, self._clock.seconds()
            self._log.append(*(MetricRow(*now, key, float(value)) for key, value in figures.items()))
