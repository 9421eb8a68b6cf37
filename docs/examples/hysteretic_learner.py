"""A user's own learner: hysteretic Q-learning (Matignon et al. 2007; Omidshafiei et al. 2017).

An agent whose teammates explore is often punished for a good action. So bad news counts less: squared TD errors
are weighted by `hysteretic_beta` where they are negative, i.e. where the target is below the estimate.
"""

import torch as th

from learners import REGISTRY
from learners.options import DOUBLE_Q, MIXER, STANDARDISE, TARGETS, TD_LAMBDA
from learners.q_learner import QLearner
from utils.config.options import Option


class HystereticLearner(QLearner):
    """Q-learning, alone or mixed, that forgives; `hysteretic_beta` is between 0 (all) and 1 (nothing)."""

    def _loss(self, td_error: th.Tensor, mask: th.Tensor) -> th.Tensor:
        # td_error is estimate minus target: positive where the target is the lower one
        weight = th.where(td_error > 0, self.args.hysteretic_beta, 1.0)
        return (weight * td_error**2 * mask).sum() / mask.sum()


BETA = Option(0.1, "weight of squared errors where the target is below the estimate, 0 to 1", at_least=0, at_most=1)
REGISTRY.declare(
    "hysteretic_learner",
    HystereticLearner,
    "Q-learning, alone or mixed, that forgives",
    learns_from="q",
    takes=("agent_rewards",),
    mixes=("nothing", "chosen_values"),
    options={**MIXER, **TD_LAMBDA, **DOUBLE_Q, **TARGETS, **STANDARDISE, "hysteretic_beta": BETA},
)
