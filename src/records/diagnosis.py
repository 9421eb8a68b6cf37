"""What the diagnostics of a run come to: read from `runs/<token>/diagnostics.csv` (`records.diagnostics` writes it)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from records.diagnostics import CALLS, HISTOGRAM, LONGEST, MACHINE, MONITOR, TIMES
from records.metric_rows import Rows
from utils.monitoring import EDGES

# the time of a thread that plays ahead passes beside the others'
BESIDE = ("ahead",)


@dataclass(frozen=True)
class PathTime:
    """One path of the timer, such as "train/update/critic"; seconds in all, `own` outside its parts, of the longest."""

    path: str
    count: int
    seconds: float
    own: float
    longest: float

    @property
    def depth(self) -> int:
        return self.path.count("/")

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def each_ms(self) -> float:
        """Milliseconds of a call, the mean; 0 without any."""
        return 1000 * self.seconds / self.count if self.count else 0.0


@dataclass(frozen=True)
class Summary:
    """A monitored value, or a figure of the machine, over the whole run; NaN for what is unknown."""

    name: str
    count: int
    mean: float
    std: float
    least: float
    greatest: float
    last: float
    not_finite: int


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of numbers by their size, over the run.

    Attributes:
        steps: of its N records; int64 [N].
        counts: float64 [N, bins]; the k-th bin ends at `utils.monitoring.EDGES[k]`.
    """

    name: str
    steps: np.ndarray
    counts: np.ndarray


@dataclass
class Diagnosis:
    """The whole run: paths of the timer, parents before their parts; monitored values; histograms; the machine."""

    t_env: int
    times: list[PathTime]
    monitored: list[Summary]
    machine: list[Summary]
    histograms: list[Histogram]


def diagnosed(rows: Mapping[str, Rows]) -> Diagnosis:
    """From the rows of a log of diagnostics by key."""
    last = {key: float(of_key.value[-1]) for key, of_key in rows.items() if len(of_key.value)}
    t_env = max((int(of_key.t_env[-1]) for of_key in rows.values() if len(of_key.t_env)), default=0)
    machine = [_of_samples(name, rows[f"{MACHINE}/{name}"].value) for name in _below(rows, MACHINE)]
    names = dict.fromkeys(name.rpartition("/")[0] for name in _below(rows, MONITOR))
    return Diagnosis(t_env, _times(last), [_of_windows(name, rows) for name in names], machine, _histograms(rows))


def _below(rows: Mapping[str, Rows], kind: str) -> list[str]:
    return sorted(key.removeprefix(f"{kind}/") for key in rows if key.startswith(f"{kind}/"))


def _times(last: Mapping[str, float]) -> list[PathTime]:
    seconds = {key.removeprefix(f"{TIMES}/"): value for key, value in last.items() if key.startswith(f"{TIMES}/")}
    parts: dict[str, float] = {}
    for path, value in seconds.items():
        parent = path.rpartition("/")[0]
        parts[parent] = parts.get(parent, 0.0) + value
    return [
        PathTime(
            path,
            int(last.get(f"{CALLS}/{path}", 0)),
            seconds[path],
            max(0.0, seconds[path] - parts.get(path, 0.0)),
            last.get(f"{LONGEST}/{path}", math.nan),
        )
        for path in sorted(seconds, key=lambda path: path.split("/"))
    ]


def _of_samples(name: str, values: np.ndarray) -> Summary:
    figures = float(values.mean()), float(values.std()), float(values.min()), float(values.max())
    return Summary(name, len(values), *figures, float(values[-1]), 0)


def _of_windows(name: str, rows: Mapping[str, Rows]) -> Summary:
    """All windows together, by their counts, means and deviations."""

    def figure(what: str) -> dict[float, float]:
        of_key = rows.get(f"{MONITOR}/{name}/{what}")
        return {} if of_key is None else dict(zip(of_key.t_env.tolist(), of_key.value.tolist(), strict=True))

    mean, std, least, greatest = map(figure, ("mean", "std", "min", "max"))
    counts = {t: count for t, count in figure("count").items() if count and t in mean}
    total, bad = sum(counts.values()), int(sum(figure("not_finite").values()))
    if not total:
        return Summary(name, 0, math.nan, math.nan, math.nan, math.nan, math.nan, bad)
    middle = sum(count * mean[t] for t, count in counts.items()) / total
    squares = sum(count * (std[t] ** 2 + (mean[t] - middle) ** 2) for t, count in counts.items())
    newest = mean[max(counts)]
    ends = min(least.values()), max(greatest.values())
    return Summary(name, int(total), middle, math.sqrt(squares / total), *ends, newest, bad)


def _histograms(rows: Mapping[str, Rows]) -> list[Histogram]:
    found: dict[str, dict[int, Rows]] = {}
    for path in _below(rows, HISTOGRAM):
        name, _, place = path.rpartition("/")
        if place.isdecimal() and int(place) <= len(EDGES):
            found.setdefault(name, {})[int(place)] = rows[f"{HISTOGRAM}/{path}"]
    return [_histogram(name, bins) for name, bins in found.items()]


def _histogram(name: str, bins: Mapping[int, Rows]) -> Histogram:
    steps = np.unique(np.concatenate([of_bin.t_env for of_bin in bins.values()]))
    counts = np.zeros((len(steps), len(EDGES) + 1))
    for place, of_bin in bins.items():
        np.add.at(counts[:, place], np.searchsorted(steps, of_bin.t_env), of_bin.value)
    return Histogram(name, steps, counts)


def text_of(diagnosis: Diagnosis, depth: int = -1) -> str:
    """Tables of times, monitored values and the machine, as far as there are any.

    Args:
        depth: of the timer's paths; 0: the top only, -1: all.
    """
    parts = [f"After {diagnosis.t_env} steps"]
    times = [path for path in diagnosis.times if depth < 0 or path.depth <= depth]
    if times:
        total = sum(path.seconds for path in diagnosis.times if path.depth == 0 and path.path not in BESIDE)
        head = ("time", "seconds", "share", "calls", "mean ms", "longest ms")
        parts.append(_table(head, (_time_row(path, total) for path in times)))
    for title, summaries in (("monitored", diagnosis.monitored), ("machine", diagnosis.machine)):
        if summaries:
            columns = (title, "count", "mean", "std", "min", "max", "last", "not finite")
            parts.append(_table(columns, map(_summary_row, summaries)))
    return "\n\n".join(parts)


def _time_row(path: PathTime, total: float) -> Sequence[str]:
    share = f"{100 * path.seconds / total:.1f} %" if total else ""
    mean = f"{path.each_ms:.3f}" if path.count else ""
    name = f"{'  ' * path.depth}{path.name}"
    return name, f"{path.seconds:.2f}", share, str(path.count), mean, f"{1000 * path.longest:.1f}"


def _summary_row(summary: Summary) -> Sequence[str]:
    figures = (summary.mean, summary.std, summary.least, summary.greatest, summary.last)
    return (
        summary.name,
        str(summary.count),
        *(f"{figure:.4g}" for figure in figures),
        str(summary.not_finite) if summary.not_finite else "",
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
