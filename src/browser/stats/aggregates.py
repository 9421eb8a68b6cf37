"""Numbers over many runs and maps, each with an interval: aggregates, probabilities of improvement, profiles.

After Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from utils.errors import ConfigError
from utils.nearest import suggestion
from utils.numbers.interquartile import iqm

# scores of one algorithm: one array per map (task), of a score per run; maps may have different numbers of runs
Scores = Sequence[np.ndarray]

LEVEL = 0.95
REPETITIONS = 2000
# runs of which a 95 % interval can be made: the true median lies between two runs in 50 % of all cases, between the
# outermost of three in 75 %, of four in 88 %, of five in 94 % (1 - 2 / 2^n); no bootstrap reaches beyond them
FEWEST = 5
# of the values of cells; equal ones share a rank
DIGITS = 2


@dataclass(frozen=True)
class Estimate:
    """A number over runs, and how far the runs spread.

    Attributes:
        low, high: the 95 % interval, or the lowest and the highest run (`few`); NaN where one run is all there is.
        n: how many runs there are.
        few: they are fewer than FEWEST.
    """

    value: float
    low: float
    high: float
    n: int
    few: bool = False

    def spread(self, digits: int = DIGITS) -> str:
        """ "[0.71, 0.90]", the interval; "0.71 to 0.90", the lowest and the highest run; empty for a single run."""
        if not np.isfinite(self.low):
            return ""
        low, high = f"{self.low:.{digits}f}", f"{self.high:.{digits}f}"
        return f"{low} to {high}" if self.few else f"[{low}, {high}]"

    def text(self, digits: int = DIGITS) -> str:
        """ "0.83 [0.71, 0.90], n = 5", or "0.83 (0.71 to 0.90), n = 2"; "no run" without runs."""
        return f"{self.short(digits)}, n = {self.n}" if self.n else "no run"

    def short(self, digits: int = DIGITS, form: str = "{}") -> str:
        """`text` without the number of runs, and with the value in a form."""
        value, spread = form.format(f"{self.value:.{digits}f}"), self.spread(digits)
        return f"{value} ({spread})" if spread and self.few else f"{value} {spread}".rstrip()


# each takes samples [S, runs of all maps together], grouped by map; `bounds` are the maps' ends
def _iqm_of(samples: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    return iqm(samples, axis=1)


def _mean_of(samples: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    return _task_means(samples, bounds).mean(axis=1)


def _median_of(samples: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    return np.median(_task_means(samples, bounds), axis=1)


def _optimality_gap_of(samples: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    return 1.0 - np.minimum(samples, 1.0).mean(axis=1)


def _task_means(samples: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    starts = np.r_[0, bounds[:-1]]
    return np.add.reduceat(samples, starts, axis=1) / (bounds - starts)


AGGREGATES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "iqm": _iqm_of,
    "mean": _mean_of,
    "median": _median_of,
    "optimality_gap": _optimality_gap_of,
}


def aggregate(scores: Scores, how: str = "iqm", repetitions: int = REPETITIONS, seed: int = 0) -> Estimate:
    """Aggregate one algorithm's scores over runs and maps, with a stratified bootstrap interval.

    "iqm" is the interquartile mean of all runs of all maps; "mean" and "median" are those of the maps' means;
    "optimality_gap" is how far runs fall short of a score of 1 on average (scores above 1 count as 1).
    Scores of different maps must be comparable (win rates, or normalised returns).

    Args:
        scores: one array of scores per map; NaN is left out, and so is a map without runs.
        repetitions: bootstrap samples.
        seed: of the resampling; the same input always gives the same interval.

    Raises:
        ConfigError: there is no such aggregate.
    """
    if how not in AGGREGATES:
        raise ConfigError(f"There is no aggregate '{how}'.{suggestion(how, AGGREGATES)}")
    scores = finite(scores)
    n = sum(map(len, scores))
    if n == 0:
        return Estimate(np.nan, np.nan, np.nan, 0)
    bounds = np.cumsum([len(task) for task in scores])
    function = AGGREGATES[how]
    value = function(np.concatenate(scores)[None], bounds)[0]
    low, high = (
        interval_of(function(bootstrap(scores, repetitions, seed), bounds)) if resamples(scores) else (np.nan,) * 2
    )
    return Estimate(float(value), float(low), float(high), n)


def bootstrap(scores: Scores, repetitions: int = REPETITIONS, seed: int = 0) -> np.ndarray:
    """Stratified bootstrap: runs are drawn with replacement within each map.

    Returns:
        float64 [repetitions, runs of all maps together], grouped by map.
    """
    rng = np.random.default_rng(seed)
    return np.concatenate([task[rng.integers(len(task), size=(repetitions, len(task)))] for task in scores], axis=1)


def resamples(scores: Scores) -> bool:
    """Whether any map has two runs: otherwise every bootstrap sample is the same, and an interval would mislead."""
    return any(len(task) > 1 for task in scores)


def interval_of(samples: np.ndarray) -> np.ndarray:
    """The 95 % percentile interval of bootstrap samples [S, ...]: [2, ...]."""
    return np.quantile(samples, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)


def finite(scores: Scores) -> list[np.ndarray]:
    """Scores as float64 without NaN and infinities, and without maps that have none left."""
    arrays = [np.asarray(task, dtype=np.float64) for task in scores]
    return [kept for array in arrays if len(kept := array[np.isfinite(array)])]


def best_on_maps(matrix: Mapping[str, Mapping[str, Estimate]], lower: bool = False) -> set[tuple[str, str]]:
    """The algorithm and map of every cell that is better than those of all other algorithms on its map.

    None where an algorithm is alone, and none of several that show the same number.

    Args:
        matrix: as `score_matrix` makes it.
        lower: whether the lowest value is the best.
    """
    best = set()
    for name in {name for cells in matrix.values() for name in cells}:
        cells = {label: row[name] for label, row in matrix.items() if name in row and row[name].n}
        values = {label: round(cell.value, DIGITS) for label, cell in cells.items()}
        if len(values) > 1:
            top = min(values.values()) if lower else max(values.values())
            first = [(label, name) for label, value in values.items() if value == top]
            best |= {*first} if len(first) == 1 else set()
    return best


def normalised(scores: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, dict[str, np.ndarray]]:
    """Scores by algorithm and map, scaled on every map: its lowest run is 0 and its highest 1.

    A map on which all runs score the same has 0.5. Gorsane et al., NeurIPS 2022, normalise returns this way.
    """
    scaled: dict[str, dict[str, np.ndarray]] = {algorithm: {} for algorithm in scores}
    for name in {name for tasks in scores.values() for name in tasks}:
        pooled = finite([tasks[name] for tasks in scores.values() if name in tasks])
        low, high = (np.min(np.concatenate(pooled)), np.max(np.concatenate(pooled))) if pooled else (0.0, 1.0)
        for algorithm, tasks in scores.items():
            if name in tasks:
                values = np.asarray(tasks[name], dtype=np.float64)
                scaled[algorithm][name] = (values - low) / (high - low) if high > low else values * 0.0 + 0.5
    return scaled


def score_matrix(scores: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, dict[str, Estimate]]:
    """Interquartile means by algorithm and map, from scores by the same; every map of any algorithm has a cell.

    A cell of fewer than FEWEST runs has their lowest and highest score in place of an interval.
    """
    maps = sorted({name for tasks in scores.values() for name in tasks})
    return {
        algorithm: {name: _cell(tasks.get(name, np.zeros(0))) for name in maps} for algorithm, tasks in scores.items()
    }


def _cell(scores: np.ndarray) -> Estimate:
    estimate = aggregate([scores])
    if not 0 < estimate.n < FEWEST:
        return estimate
    (runs,) = finite([scores])
    low, high = (float(runs.min()), float(runs.max())) if len(runs) > 1 else (np.nan, np.nan)
    return replace(estimate, low=low, high=high, few=True)


def cells_of(matrix: Mapping[str, Mapping[str, Estimate]]) -> list[Estimate]:
    """The cells of a matrix that have runs."""
    return [cell for row in matrix.values() for cell in row.values() if cell.n]


def mean_title(estimates: Iterable[Estimate], over: str = "runs") -> str:
    """What these interquartile means are, in words: over what, and what stands beside them."""
    spread = spread_title(estimate.few for estimate in estimates if np.isfinite(estimate.low))
    return f"interquartile mean over {over}" + (f" with {spread}" if spread else "")


def spread_title(few: Iterable[bool]) -> str:
    """What stands beside numbers, of which some are over fewer than FEWEST runs, in words; empty for no numbers."""
    kinds = set(few)
    if kinds == {True}:
        return "lowest and highest run"
    return "95 % bootstrap interval" + (f" (range below {FEWEST} runs)" if True in kinds else "") if kinds else ""


def probability_of_improvement(
    scores: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray], repetitions: int = REPETITIONS, seed: int = 0
) -> Estimate:
    """P(X > Y) averaged over maps, ties counting half, with a stratified bootstrap interval (section 4.3).

    That is the Mann–Whitney U statistic per map.

    Args:
        scores: of X by map, an array per map.
        others: of Y by map; maps that only one of the two has are left out.
        repetitions: bootstrap samples; the runs of X and of Y are drawn independently.

    Returns:
        The estimate, whose `n` counts the runs of X and of Y that were compared.
    """
    shared = [(finite([scores[name]]), finite([others[name]])) for name in scores if name in others]
    pairs = [(x[0], y[0]) for x, y in shared if x and y]
    if not pairs:
        return Estimate(np.nan, np.nan, np.nan, 0)
    n = sum(len(x) + len(y) for x, y in pairs)
    wins = [_wins(x, y) for x, y in pairs]
    value = float(np.mean([table.mean() for table in wins]))
    if n == 2 * len(pairs):
        return Estimate(value, np.nan, np.nan, n)
    rng = np.random.default_rng(seed)
    sampled = np.mean([_resampled(table, repetitions, rng) for table in wins], axis=0)
    low, high = interval_of(sampled)
    return Estimate(value, float(low), float(high), n)


def _wins(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """1 where a run of X beats one of Y, ½ where they tie: [runs of X, runs of Y]."""
    return (x[:, None] > y) + 0.5 * (x[:, None] == y)


def _resampled(table: np.ndarray, repetitions: int, rng: np.random.Generator) -> np.ndarray:
    """The share of wins in samples of both algorithms' runs: [repetitions]."""
    counts_x, counts_y = (rng.multinomial(n, np.full(n, 1 / n), size=repetitions) for n in table.shape)
    return np.einsum("sx,xy,sy->s", counts_x, table, counts_y, optimize=True) / table.size


@dataclass(frozen=True, eq=False)
class Profile:
    """The profile of one algorithm.

    Attributes:
        label: the algorithm.
        thresholds: τ, increasing; float64 [N].
        share, low, high: of runs above τ, with a 95 % bootstrap interval at every τ (NaN of single runs);
            float64 [N].
        n: runs.
    """

    label: str
    thresholds: np.ndarray
    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int


def performance_profile(
    label: str, scores: Scores, thresholds: np.ndarray, repetitions: int = REPETITIONS, seed: int = 0
) -> Profile:
    """The share of runs with a score above each threshold; all runs of all maps count alike.

    After Dolan and Moré 2002; for runs over seeds and maps the paper's section 4.2 (score distributions).

    Args:
        scores: one array of scores per map.
        thresholds: τ, increasing; [N].
        repetitions: samples of the stratified bootstrap.
    """
    thresholds = np.asarray(thresholds, dtype=np.float64)
    scores = finite(scores)
    if not scores:
        nothing = np.full(len(thresholds), np.nan)
        return Profile(label, thresholds, nothing, nothing, nothing, 0)
    pooled = np.sort(np.concatenate(scores))
    share = _share_above(pooled, thresholds)
    if not resamples(scores):
        nothing = np.full(len(thresholds), np.nan)
        return Profile(label, thresholds, share, nothing, nothing, len(pooled))
    samples = np.sort(bootstrap(scores, repetitions, seed), axis=1)
    shares = np.stack([_share_above(sample, thresholds) for sample in samples])
    low, high = interval_of(shares)
    return Profile(label, thresholds, share, low, high, len(pooled))


def _share_above(ordered: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    return 1.0 - np.searchsorted(ordered, thresholds, side="right") / len(ordered)
