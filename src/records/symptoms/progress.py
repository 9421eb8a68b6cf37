"""Whether a run's returns have risen above those of random play, which its first episodes of training were."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from records.run_score import LAST
from records.symptoms.evidence import Curve, Evidence

# exploration at or above which a training episode counts as random play
RANDOM, MOSTLY_RANDOM = 0.9, 0.6
# episodes that tell of random play, of any policy
EPISODES = 10
# lengths of an episode that each environment has played when first episodes tell of random play: before, only short
# ones have ended
ENOUGH = 3
# standard errors by which a gain must exceed chance
SURE = 2.0


class Gain(NamedTuple):
    """Mean returns of random play and of the last tests, the standard error of their difference, tests' episodes.

    `trained`: whether the returns of training have risen, which a policy's greedy tests may not show.
    """

    start: float
    end: float
    error: float
    episodes: int
    trained: bool

    @property
    def risen(self) -> bool:
        return self.trained or _is_more(self.end, self.start, self.error)


def gain_of(evidence: Evidence) -> Gain | None:
    """None where there was no random play at the start, or nothing to compare with it."""
    returns, tests = evidence.curve("return_mean"), evidence.curve("test_return_mean")
    if evidence.config.get("checkpoint_path") or evidence.config.get("evaluate") or len(tests.value) < 2:
        return None
    if evidence.cancels:
        return None
    deviations, counts = evidence.curve("return_std").value, _counts(evidence, returns)
    early = _random_rows(evidence, returns, counts)
    if not early or len(deviations) != len(returns.value) or early == len(returns.value):
        return None
    start = float(np.average(returns.value[:early], weights=counts[:early]))
    # a row of one episode knows of no deviation
    spread = float(deviations[: early + 1].max())
    at_start = spread**2 / counts[:early].sum()
    last = tests.value[-LAST:]
    each = int(max(evidence.number("test_nepisode", 1), 1))
    of_tests = evidence.curve("test_return_std").value[-LAST:]
    own = max(float(of_tests.mean()) if len(of_tests) else 0.0, float(last.std()) if len(last) > 2 else spread)
    error = math.sqrt(own**2 / (each * len(last)) + at_start)
    late = slice(max(early, len(counts) - 3), None)
    at_end = float(deviations[late].max()) ** 2 / counts[late].sum()
    trained = _is_more(
        float(np.average(returns.value[late], weights=counts[late])), start, math.sqrt(at_start + at_end)
    )
    return Gain(start, float(last.mean()), error, each * len(last), trained)


def settled(evidence: Evidence) -> bool:
    """Whether the last tests all had the best return of the run: there is nothing more to learn, it seems."""
    tests = evidence.curve("test_return_mean").value
    return len(tests) >= LAST and bool((tests[-LAST:] >= tests.max()).all())


def _is_more(end: float, start: float, error: float) -> bool:
    return end - start > max(SURE * error, 1e-6 * abs(start))


def _counts(evidence: Evidence, returns: Curve) -> np.ndarray:
    """About how many episodes each statistic of training is the mean of, 1 at least."""
    lengths = dict(_pairs(evidence.curve("ep_length_mean")))
    steps = np.diff(returns.t, prepend=0.0)
    return np.maximum([step / max(lengths.get(t, step), 1.0) for t, step in zip(returns.t, steps, strict=True)], 1.0)


def _pairs(curve: Curve) -> Iterator[tuple[float, float]]:
    return zip(curve.t.tolist(), curve.value.tolist(), strict=True)


def _random_rows(evidence: Evidence, returns: Curve, counts: np.ndarray) -> int:
    """How many of the first statistics of training are of random play."""
    epsilon = evidence.curve("epsilon")
    if len(epsilon.value):
        for least in (RANDOM, MOSTLY_RANDOM):
            early = int(np.argmin(np.r_[epsilon.value, -1.0] >= least))
            if counts[:early].sum() >= EPISODES:
                return early
        return 0
    randomly = evidence.number("random_steps")
    if randomly:
        return int(np.count_nonzero(returns.t <= randomly))
    if not len(evidence.curve("entropy").value):
        return 0
    # a stochastic policy that has learned next to nothing yet
    length = returns.t / np.maximum(np.cumsum(counts), 1.0)
    played = returns.t / max(evidence.number("batch_size_run", 1), 1)
    enough = played >= ENOUGH * length
    return int(np.argmax(enough)) + 1 if enough.any() else 0
