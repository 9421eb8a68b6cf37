"""Long series made short for Sacred's files: every point, then every second, every fourth, ..."""

from collections.abc import Mapping, Sequence
from typing import Any

# points of a series in Sacred's files, and one more: the last
LIMIT = 1000


def thinned(values: Sequence, count: int) -> list:
    """Of the first `count` values: every 2^k-th from the first on, k as small as LIMIT allows, and the last."""
    stride = 1
    while -(-count // stride) > LIMIT:
        stride *= 2
    kept = list(values[:count:stride])
    if count and (count - 1) % stride:
        kept.append(values[count - 1])
    return kept


def thinned_info(info: dict[str, Any]) -> dict[str, Any]:
    """A copy of a Sacred run's `info` whose lists are `thinned`; other threads may append to them meanwhile.

    A list `key` and the list of its steps, `key_T`, keep the same points.
    """
    info = dict(info)
    counts = {key: len(value) for key, value in info.items() if isinstance(value, list)}
    for key in list(counts):
        if f"{key}_T" in counts:  # one of the two may just have got its newest entry
            steps, both = counts[f"{key}_T"], min(counts[key], counts[f"{key}_T"])
            if steps - counts[key] in (-1, 0, 1):
                counts[key] = counts[f"{key}_T"] = both
    return {key: thinned(value, counts[key]) if key in counts else value for key, value in info.items()}


class ThinnedSeries:
    """`thinned` of a series that grows point by point, without keeping all of it."""

    def __init__(self):
        self._kept: list = []
        self._stride = 1
        self._count = 0
        self._last: Any = None

    def append(self, point: Any) -> None:
        """Add a point of any kind."""
        if self._count % self._stride == 0:
            self._kept.append(point)
            if len(self._kept) > LIMIT:
                self._kept = self._kept[::2]
                self._stride *= 2
        self._count += 1
        self._last = point

    def points(self) -> list:
        """The points that are kept, and the last."""
        between = (self._count - 1) % self._stride != 0
        return [*self._kept, self._last] if between else list(self._kept)


class ThinnedMetrics(dict[str, ThinnedSeries]):
    """The series of a run's metrics by name, of points (step, value, time)."""

    def add(self, metrics_by_name: Mapping[str, Mapping[str, Sequence]]) -> None:
        """Add measurements, as Sacred gives them to its observers."""
        for name, new in metrics_by_name.items():
            series = self.setdefault(name, ThinnedSeries())
            for point in zip(new["steps"], new["values"], new["timestamps"], strict=True):
                series.append(point)
