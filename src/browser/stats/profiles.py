"""Performance profiles: the share of runs that score above τ, for every τ.

Dolan and Moré 2002; for runs over seeds and maps Agarwal et al., NeurIPS 2021, section 4.2 (score distributions).
"""

from dataclasses import dataclass

import numpy as np

from browser.stats.aggregates import REPETITIONS, Scores, bootstrap, finite, interval_of, resamples


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
