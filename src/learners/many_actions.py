"""Values of several actions in each state, by critics that see one at a time."""

import math

import numpy as np
import torch as th

from learners.off_policy import OffPolicyLearner, Transitions
from learners.q_targets import masked_mean


def values_of_each(learner: OffPolicyLearner, now: Transitions, units: th.Tensor, **which: slice) -> th.Tensor:
    """Values of C continuous actions in each state at step 0, `[E, C, B, n]`, in one pass.

    Args:
        units: the agent's own actions `[C, B, n, K]`, in halves of their ranges; the others act as in `now.taken`.
        which: `estimates` of the critics.
    """
    count, field = len(units), learner._field(now.batch, 0)
    taken = now.taken.repeat(count, 1, 1)
    values = learner._forward(
        lambda: learner.critic(lambda key: _repeated(field(key), count), taken, units.flatten(0, 1), **which)
    )
    return values.unflatten(1, (count, -1))


def soft_largest(learner: OffPolicyLearner, now: Transitions, units: th.Tensor, log_probs: th.Tensor) -> th.Tensor:
    """log mean exp(Q(s, a) - log density of a) of the actions drawn, `[E, B, n]` (CQL, appendix F).

    Args:
        units: `[C, B, n, K]`.
        log_probs: logarithms of the densities that they were drawn with, `[C, B, n]`.
    """
    return (values_of_each(learner, now, units) - log_probs).logsumexp(dim=1) - math.log(len(units))


def uniform_units(learner: OffPolicyLearner, now: Transitions, count: int) -> tuple[th.Tensor, th.Tensor]:
    """Actions `[count, B, n, K]` over their whole ranges, and the logarithms of their densities."""
    shape = (count, *now.taken.shape)
    units = learner.made(lambda: (np.random.random(shape) * 2 - 1).astype(np.float32), now.taken.device)
    return units, units.new_full(units.shape[:-1], -math.log(2) * shape[-1])


def conservative_gap(learner: OffPolicyLearner, now: Transitions, largest: th.Tensor) -> th.Tensor:
    """CQL's loss: the mean of the largest values `[E, B, n]` above those of the data's actions, of all estimates."""
    gap = largest - learner.taken_values(now)
    # of each estimate, as the errors are
    return th.stack([masked_mean(each, now.mask) for each in gap]).sum()


def _repeated(x: th.Tensor, count: int) -> th.Tensor:
    """Rows `[B, ...]` as often as there are draws."""
    return x.repeat(count, *(1 for _ in x.shape[1:]))
