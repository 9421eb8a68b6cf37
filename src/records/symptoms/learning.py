"""Rules about the learner: its policy, its steps, its values, its exploration."""

import math
from typing import NamedTuple

import numpy as np

from records.symptoms.evidence import Evidence
from records.symptoms.findings import short
from records.symptoms.progress import settled

# thresholds lie between the healthy and the sick runs of docs/debugging.md, which has the figures of both
LARGE_KL, MOST_CLIPPED = 0.5, 0.5
COLLAPSED = 0.02
SURE_CHOICE = 0.995
VANISHED = 1e-8
NONSENSE = 1.5
SOLVED = 0.01
OVERESTIMATED = 3.0
DEVIATIONS = 5.0
EXPLORING = 0.1
NORMALISING = ("ppo_learner", "a2c_learner")
NORMS = ("grad_norm", "agent_grad_norm", "critic_grad_norm")


def policy_jumps(evidence: Evidence) -> str:
    kl, clipped = evidence.curve("approx_kl"), evidence.curve("clip_fraction")
    steps, at_kl, at_clipped = np.intersect1d(kl.t, clipped.t, return_indices=True)  # where both are finite
    if not len(steps):
        return ""
    moved, share = kl.value[at_kl], clipped.value[at_clipped]
    worst = int(moved.argmax())
    if moved[worst] < LARGE_KL or share[worst] < MOST_CLIPPED:
        return ""
    return (
        f"approx_kl was {short(moved[worst])} after {short(steps[worst])} steps, with clip_fraction {share[worst]:.2f}."
    )


def policy_collapsed(evidence: Evidence) -> str:
    """A policy that became sure of its choices in the first half of the run, since when tests have not got better."""
    entropy, surest = evidence.curve("entropy"), evidence.curve("pi_max")
    if len(entropy.value) >= 4 and entropy.value[0] > 0:
        sure = (entropy.value >= 0) & (entropy.value < COLLAPSED * entropy.value[0])
        seen, curve = f"The entropy fell from {short(entropy.value[0])} to {short(entropy.value[-1])}", entropy
    elif len(surest.value) >= 4 and not len(entropy.value):
        sure = surest.value > SURE_CHOICE
        seen, curve = f"The likeliest action has probability {surest.value[-1]:.3f} (pi_max)", surest
    else:
        return ""
    if evidence.early:
        return ""
    first = len(sure) - int(np.argmin(np.r_[sure[::-1], False]))
    tests = evidence.curve("test_return_mean")
    if first > len(sure) / 2 or not len(tests.value) or settled(evidence):
        return ""
    after = tests.value[tests.t >= curve.t[first]]
    spread = evidence.curve("test_return_std").value
    chance = 2 * float(np.median(spread)) / math.sqrt(max(evidence.number("test_nepisode", 1), 1)) if len(spread) else 0
    if len(after) < 3 or after[-3:].mean() > after[0] + chance:
        return ""
    return f"{seen} by step {short(curve.t[first])}, and tests have returned {short(after.mean())} since."


def learning_diverges(evidence: Evidence) -> str:
    """Errors of values that were larger than any return twice, the first statistic aside: the values are nonsense."""
    if (scale := scale_of(evidence)) is None or not evidence.curve("return_mean").value.any():
        return ""
    errors = evidence.curve("td_error_abs")
    if np.count_nonzero(errors.value[1:] > NONSENSE * scale.largest) < 2:
        return ""
    worst = 1 + int(errors.value[1:].argmax())
    return (
        f"td_error_abs, the mean error of values, was {short(errors.value[worst])} after {short(errors.t[worst])} "
        f"steps, {scale.words}."
    )


def no_gradient(evidence: Evidence) -> str:
    """A gradient of exactly nothing while values are wrong; without errors there is nothing to learn."""
    errors = evidence.curve("td_error_abs").value
    if len(errors) and np.median(errors[-3:]) <= SOLVED:
        return ""
    for name in NORMS:
        norms = evidence.curve(name).value
        if len(norms) >= 3 and (norms[-3:] <= VANISHED).all():
            return f"{name} was {short(norms[-3:].max())} in the last {np.count_nonzero(norms <= VANISHED)} statistics."
    return ""


def values_explode(evidence: Evidence) -> str:
    """Values far beyond any return that was ever seen."""
    if (scale := scale_of(evidence)) is None:
        return ""
    for name in ("q_taken_mean", "target_mean", "td_chosen_qs", "v_mean"):
        values = np.abs(evidence.curve(name).last())
        if len(values) and np.median(values) > OVERESTIMATED * scale.largest:
            return f"{name} is {short(np.median(values))}, {scale.words}."
    return ""


class Scale(NamedTuple):
    """How large values may be, and where that comes from, in words."""

    largest: float
    words: str


def scale_of(evidence: Evidence) -> Scale | None:
    """About the largest absolute return of any episode so far, 1 at least: three deviations from each mean.

    Values that are logged in units of the deviation of returns are of a few; of other rewards nothing is known.
    """
    if evidence.cancels or any(evidence.config.get(key) for key in ("standardise_rewards", "normalise_rewards")):
        return None
    config = evidence.config
    # a record has no defaults, and theirs is to normalise
    if config.get("normalise_values", config.get("learner") in NORMALISING) or config.get("standardise_returns"):
        return Scale(DEVIATIONS, "in units of the deviation of returns")
    largest = 1.0
    for kind in ("", "test_"):
        means, deviations = evidence.curve(f"{kind}return_mean").value, evidence.curve(f"{kind}return_std").value
        if len(means) and len(means) == len(deviations):
            largest = max(largest, float((np.abs(means) + 3 * deviations).max()))
    return Scale(largest, f"and no episode returned more than about {short(largest)}")


def epsilon_left(evidence: Evidence) -> str:
    epsilon = evidence.curve("epsilon").value
    start, finish = evidence.number("epsilon_start", 1.0), evidence.number("epsilon_finish", 0.05)
    if not len(epsilon) or start <= finish or settled(evidence):
        return ""
    if epsilon[-1] - finish <= EXPLORING * (start - finish):
        return ""
    return f"At the end, after {short(evidence.t_env)} steps, epsilon is still {epsilon[-1]:.2f}, not {finish:g}."


def skipped(evidence: Evidence) -> str:
    for name in ("skipped_updates", "skipped_rollouts"):
        count = evidence.curve(name).value
        if len(count) and count[-1] > 0:
            return f"{short(count[-1])} {name.removeprefix('skipped_')} were left out, because numbers were not finite."
    return ""
