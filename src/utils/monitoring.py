"""Running statistics of any value, from anywhere in the program.

    monitor("advantage", advantages.abs().max())
    monitor("reward", reward, window=100)  # a record for every 100 values

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
    """

    def __init__(self, record: Callable[[str, RunningStatistics], None]):
        self._record = record
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

    def close_windows(self) -> None:
        """Record everything that waits: the run logs its summary."""
        with self._lock:
            waiting, self._open = self._open, {}
        for key, statistics in waiting.items():
            self._record(key, statistics)

    def state_dict(self) -> dict[str, dict[str, float]]:
        """The statistics that wait, by name."""
        with self._lock:
            return {key: asdict(statistics) for key, statistics in self._open.items()}

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
    if hasattr(value, "detach"):  # a tensor
        value = value.detach().cpu().double().numpy()
    array = np.asarray(value, dtype=np.float64).reshape(-1)
    if not 0 < len(array) <= LARGEST:
        raise ValueError(f"monitor('{name}'): {len(array)} numbers; at most {LARGEST}. Monitor a summary of them")
    return array.tolist()
