"""CrossQ: SAC with normalised critics and without target networks (Bhatt et al. 2024), also for choices."""

from typing import Any

import torch as th

from learners.off_policy import Transitions
from learners.sac_learner import SACLearner
from modules.critics import REGISTRY as critic_REGISTRY
from utils.errors import ConfigError


class CrossQLearner(SACLearner):
    """SAC whose critic is its own target.

    Values of (s, a) and (s', a') are computed in one pass, a ~ the buffer and a' ~ the policy, so that both are
    normalised by the moments of their mixture (eq. 1); otherwise a critic with batch normalisation misjudges a', which
    it has not seen. The policy goes up values that are normalised by running moments.
    """

    critic: Any
    target_critic: Any

    def _add_critics(self, scheme: Any) -> None:
        for key, value in (("value_network", False), ("target_update_interval_or_tau", None)):
            if vars(self.args)[key] != value:
                raise ConfigError(
                    f"{key}={vars(self.args)[key]}: learner={self.args.learner} has neither state values nor target "
                    f"networks. Use {key}={'null' if value is None else value}."
                )
        self.critic = self.networks["critic"] = critic_REGISTRY[self.args.critic](scheme, self.args)
        self.target_critic = None

    @th.no_grad()
    def targets_of(self, now: Transitions) -> th.Tensor:
        """As targets are learned, but normalised by running moments."""
        units, log_prob = self._following_actions(now)
        return self._targets(now, self.of_actions(now, 1, self.values(now, 1, units), units), log_prob)

    def _values_and_targets(self, now: Transitions) -> tuple[th.Tensor, th.Tensor]:
        with th.no_grad():
            units, log_prob = self._following_actions(now)
        fields, taken = (self._field(now.batch, 0), self._field(now.batch, 1)), (now.taken, units)
        values, following = self._forward(lambda: self.critic.of_both(fields, taken, now.mask))
        targets = self._targets(now, self.of_actions(now, 1, following.detach(), units), log_prob)
        return self.of_actions(now, 0, values, now.taken), targets

    def _targets(self, now: Transitions, following: th.Tensor, log_prob: th.Tensor) -> th.Tensor:
        """r + gamma (min_e Q_e(s', a') - alpha log pi(a' | s')), `[B, n]`."""
        soft = self._judged(following) - self.entropy_weight * log_prob
        return now.rewards + now.discount * (1 - now.ended) * soft
