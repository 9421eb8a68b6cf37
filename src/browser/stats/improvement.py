"""How likely a run of one algorithm is to beat a run of another on the same map.

Agarwal et al., NeurIPS 2021, section 4.3: the Mann–Whitney U statistic per map, averaged over maps.
"""

from collections.abc import Mapping

import numpy as np

from browser.stats.aggregates import REPETITIONS, Estimate, finite, interval_of


def probability_of_improvement(
    scores: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray], repetitions: int = REPETITIONS, seed: int = 0
) -> Estimate:
    """P(X > Y) averaged over maps, ties counting half, with a stratified bootstrap interval.

    Args:
        scores: of X by map, an array per map.
        others: of Y by map; maps that only one of the two has are left out.
        repetitions: bootstrap samples; the runs of X and of Y are drawn independently.

    Returns:
        The estimate, whose `n` counts the runs of X and of Y that were compared.
    """
    pairs = [(finite([scores[name]]), finite([others[name]])) for name in scores if name in others]
    pairs = [(x[0], y[0]) for x, y in pairs if x and y]
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
