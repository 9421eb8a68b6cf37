"""Rules about what is played: returns, tests, rewards, legal actions, observations, ends."""

import numpy as np

from records.symptoms.evidence import CUT_OFF, ENDED, LARGEST_OBS, ONE_LEGAL, OUTSIDE, RETURNS, Evidence
from records.symptoms.findings import short
from records.symptoms.progress import Gain, gain_of

# thresholds lie between the healthy and the sick runs of docs/debugging.md, which has the figures of both
FEW_EPISODES = 32
FORCED = 0.98
BEYOND = 0.01
UNSCALED = 100.0
TESTS = 4
SAME = 0.01


def no_better_than_random(evidence: Evidence) -> str:
    gain = gain_of(evidence)
    if gain is None or gain.risen or gain.episodes < FEW_EPISODES or rewards_zero(evidence):
        return ""
    return _compared(evidence, gain)


def few_tests(evidence: Evidence) -> str:
    gain = gain_of(evidence)
    if gain is None or gain.risen or gain.episodes >= FEW_EPISODES or gain.error == 0 or rewards_zero(evidence):
        return ""
    return f"{_compared(evidence, gain)} The standard error of the difference is {short(gain.error)}."


def _compared(evidence: Evidence, gain: Gain) -> str:
    tests = min(len(evidence.curve("test_return_mean").value), 5)
    return (
        f"The last {tests} tests ({gain.episodes} episodes) return {short(gain.end)}, random play at the start "
        f"{short(gain.start)}."
    )


def rewards_zero(evidence: Evidence) -> str:
    curves = [evidence.curve(name).value for name in RETURNS]
    if evidence.early or evidence.cancels or len(curves[0]) < 3 or any(values.any() for values in curves):
        return ""
    return f"Every episode returned 0, in {short(evidence.t_env)} steps."


def actions_forced(evidence: Evidence) -> str:
    forced = evidence.rollout(ONE_LEGAL)
    if not len(forced) or np.median(forced) < FORCED:
        return ""
    return f"{100 * np.median(forced):.0f} % of the agents' decisions had one legal action."


def observations_outside(evidence: Evidence) -> str:
    share = evidence.rollout(OUTSIDE)
    if not len(share) or np.median(share) < BEYOND:
        return ""
    return f"{100 * np.median(share):.0f} % of the observations had a number outside of the announced bounds."


def observations_unscaled(evidence: Evidence) -> str:
    largest = evidence.rollout(LARGEST_OBS)
    if evidence.config.get("normalise_observations") or not len(largest) or np.median(largest) < UNSCALED:
        return ""
    return f"Observations have numbers up to {short(largest.max())}."


def limit_ends_all(evidence: Evidence) -> str:
    """Games of a fixed length end by their limit, too: only a run that gains nothing, and whose episodes all return
    about the same, is ill."""
    ended, cut = evidence.rollout(ENDED).sum(), evidence.rollout(CUT_OFF).sum()
    gain = gain_of(evidence)
    if ended < TESTS or cut < ended or gain is None or gain.risen or _returns_differ(evidence):
        return ""
    length = evidence.curve("ep_length_mean").value
    steps = f" of {short(length[-1])} steps" if len(length) else ""
    return f"The time limit{steps} ended all {short(ended)} episodes looked at, and returns hardly differ."


def _returns_differ(evidence: Evidence) -> bool:
    means = np.concatenate([evidence.curve(f"{kind}return_mean").value for kind in ("", "test_")])
    deviations = np.concatenate([evidence.curve(f"{kind}return_std").value for kind in ("", "test_")])
    spread = max(float(np.median(deviations)) if len(deviations) else 0.0, float(means.std()))
    return spread > SAME * float(np.abs(means).mean())
