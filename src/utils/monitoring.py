"""Running statistics of any value, from anywhere in the program.

    monitor("advantage", advantages.abs().max())
    monitor("reward", reward, window=100)  # a record for every 100 values
    histogram("advantages", advantages)  # how many numbers are of which size

A run records the statistics beside its metric log (docs/debugging.md); outside of one nothing happens.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

# numbers of an array that have statistics each
LARGEST = 32
# ends of a histogram's bins: a decade each, of either sign, with all that is smaller in the bin around 0; float64 [20]
DECADES = 10.0 ** np.arange(-6, 4)
EDGES = np.r_[-DECADES[::-1], DECADES]
_active: "Monitor | None" = None


def monitor(name: str, value: Any, window: int = 0) -> None:
    """Add a value to the statistics of `name`.

    Args:
        value: a number, or an array or tensor of at most `LARGEST` numbers, which have statistics each.
        window: values of a record, after which the next one starts; 0: as many as come until the run logs its summary.

    Raises:
        ValueError: a larger array, another shape than before, or a window below 0.
    """
    if _active is not None:
        _active.add(name, value, window)


def histogram(name: str, values: Any) -> None:
    """Count the numbers of an array or tensor of any size in the bins of EDGES; NaN and infinities are left out.

    A record has all that came since the last one. A tensor on a GPU is waited for.
    """
    if _active is not None:
        _active.count(name, values)


@dataclass
class RunningStatistics:
    """Count, mean, deviation and range of numbers (Welford 1962); those that are NaN or infinite are only counted."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0  # sum of squared differences from the mean
    least: float = math.inf
    greatest: float = -math.inf
    not_finite: int = 0

    def add(self, value: float) -> None:
        if not math.isfinite(value):
            self.not_finite += 1
            return
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self.squares += delta * (value - self.mean)
        self.least, self.greatest = min(self.least, value), max(self.greatest, value)

    @property
    def std(self) -> float:
        """Of the population; NaN without values."""
        return math.sqrt(self.squares / self.count) if self.count else math.nan

    def figures(self) -> dict[str, float]:
        """What is recorded, by name."""
        known = {"mean": self.mean, "std": self.std, "min": self.least, "max": self.greatest} if self.count else {}
        return {"count": self.count, **known, **({"not_finite": self.not_finite} if self.not_finite else {})}


class Monitor:
    """The statistics of all values since they were last recorded.

    Args:
        record: gets a name, such as "reward" or "weights[1]", and the statistics of a window that is full.
        record_counts: gets a name and the counts of a histogram, int64 [bins]; the k-th bin ends at EDGES[k].
    """

    def __init__(
        self,
        record: Callable[[str, RunningStatistics], None],
        record_counts: Callable[[str, np.ndarray], None] = lambda name, counts: None,
    ):
        self._record, self._record_counts = record, record_counts
        self._counts: dict[str, np.ndarray] = {}
        self._open: dict[str, RunningStatistics] = {}
        self._sizes: dict[str, int] = {}
        self._lock = threading.RLock()

    def add(self, name: str, value: Any, window: int = 0) -> None:
        """See `monitor`."""
        if window < 0:
            raise ValueError(f"monitor('{name}'): the window is {window}; it must be 0 or more")
        numbers = [value] if type(value) in (int, float) else _numbers(name, value)
        with self._lock:
            if self._sizes.setdefault(name, len(numbers)) != len(numbers):
                raise ValueError(f"monitor('{name}'): {len(numbers)} numbers, and {self._sizes[name]} before")
            for key, number in zip(_keys(name, len(numbers)), numbers, strict=True):
                statistics = self._open.get(key)
                if statistics is None:
                    statistics = self._open[key] = RunningStatistics()
                statistics.add(number)
                if window and statistics.count + statistics.not_finite >= window:
                    self._record(key, self._open.pop(key))

    def count(self, name: str, values: Any) -> None:
        """See `histogram`."""
        numbers = _array(values)
        numbers = numbers[np.isfinite(numbers)]
        counts = np.bincount(np.searchsorted(EDGES, numbers, side="right"), minlength=len(EDGES) + 1)
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + counts

    def close_windows(self) -> None:
        """Record everything that waits: the run logs its summary."""
        with self._lock:
            waiting, self._open = self._open, {}
            counted, self._counts = self._counts, {}
        for name, counts in counted.items():
            self._record_counts(name, counts)
        for key, statistics in waiting.items():
            self._record(key, statistics)

    def state_dict(self) -> dict[str, dict[str, float]]:
        """The statistics that wait, by name."""
        with self._lock:
            return {key: asdict(statistics) for key, statistics in self._open.items()}

    def counts_state(self) -> dict[str, list[int]]:
        """The counts that wait, by name."""
        with self._lock:
            return {name: counts.tolist() for name, counts in self._counts.items()}

    def load_counts_state(self, state: Mapping[str, list[int]]) -> None:
        """Raises: ValueError: counts of other bins."""
        if any(len(counts) != len(EDGES) + 1 for counts in state.values()):
            raise ValueError("the state of the histograms has other bins")
        self._counts = {str(name): np.array(counts, dtype=np.int64) for name, counts in state.items()}

    def load_state_dict(self, state: Mapping[str, Mapping[str, Any]]) -> None:
        """Raises: ValueError: another state."""
        names = {field.name for field in fields(RunningStatistics)}
        if any(set(figures) != names for figures in state.values()):
            raise ValueError("the state of the monitor has other entries")
        self._open = {str(key): RunningStatistics(**figures) for key, figures in state.items()}


@contextmanager
def monitoring(active: Monitor | None) -> Iterator[None]:
    """While the block runs, `monitor` adds to this one; None: to none."""
    global _active
    before, _active = _active, active
    try:
        yield
    finally:
        _active = before


def _keys(name: str, size: int) -> list[str]:
    return [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]


def _numbers(name: str, value: Any) -> list[float]:
    array = _array(value)
    if not 0 < len(array) <= LARGEST:
        raise ValueError(f"monitor('{name}'): {len(array)} numbers; at most {LARGEST}. Monitor a summary of them")
    return array.tolist()


def _array(value: Any) -> np.ndarray:
    """The numbers of an array or tensor; float64 [N]."""
    if hasattr(value, "detach"):  # a tensor
        value = value.detach().cpu().double().numpy()
    return np.asarray(value, dtype=np.float64).reshape(-1)
