"""OMAR: offline multi-agent RL with actor rectification (Pan et al. 2022, "Plan Better Amid Conservatism")."""

from typing import Any

import torch as th

from learners.ddpg_learner import DDPGLearner
from learners.many_actions import conservative_gap, soft_largest, uniform_units, values_of_each
from learners.off_policy import Transitions
from learners.q_targets import masked_mean
from modules.critics import REGISTRY as critic_REGISTRY
from utils.errors import ConfigError


class OMARLearner(DDPGLearner):
    """TD3 with conservative values, whose policies also go towards the best of the actions that they try.

    The critics' loss has `cql_weight` times log sum_a exp Q(s, a) - Q(s, a_data), estimated with `cql_actions`
    actions of a uniform distribution. The policies' loss is (1 - w) (-Q(s, mu(o))) + w (mu(o) - a)^2 with w =
    `omar_weight` and the action a of `_best_tried`: a policy on a poor local maximum of Q leaves it.
    """

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        if not mac.continuous:
            raise ConfigError(f"learner={self.args.learner} needs continuous actions. Use learner=cql_learner.")
        if self.order is not None:
            raise ConfigError(
                f"learner={self.args.learner} tries actions for all agents at once. Use update_order=together."
            )

    def _add_critics(self, scheme: Any) -> None:
        """Each agent's own: nothing mixes their values."""
        made = critic_REGISTRY[self.args.critic](scheme, self.args)
        self.critic, self.target_critic = self.add_network("critic", made)

    def _critic_loss(self, now: Transitions, log: bool) -> tuple[th.Tensor, dict[str, Any]]:
        loss, logged = super()._critic_loss(now, log)
        largest = soft_largest(self, now, *uniform_units(self, now, self.args.cql_actions))
        conservative = conservative_gap(self, now, largest)
        more = {"cql_loss": conservative.detach()} if log else {}
        return loss + self.args.cql_weight * conservative, logged | more

    def _policy_loss(self, now: Transitions, values: th.Tensor, actions: th.Tensor) -> tuple[th.Tensor, dict[str, Any]]:
        best, best_values = self._best_tried(now, actions.detach(), values.detach())
        distance = masked_mean(((actions - best) ** 2).mean(dim=-1), now.mask)
        weight = self.args.omar_weight
        loss = (1 - weight) * -masked_mean(values, now.mask) + weight * distance
        gain = masked_mean(best_values - values.detach(), now.mask)
        return loss, {"omar_distance": distance.detach(), "omar_gain": gain}

    @th.no_grad()
    def _best_tried(self, now: Transitions, own: th.Tensor, value: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Each agent's best action by the first critic, `[B, n, K]`, and its value, `[B, n]`.

        `omar_samples` actions are drawn of N(mean, deviation), cut to their range; mean and deviation become those of
        the actions weighted by softmax(`omar_beta` Q), and so on `omar_iterations` times. Of all of them and the
        policy's own the best one is returned.

        Args:
            own: the policies' actions, `[B, n, K]`.
            value: theirs, `[B, n]`.
        """
        best, best_value = own, value
        mean, deviation = th.full_like(own, self.args.omar_mean), th.full_like(own, self.args.omar_deviation)
        count = (self.args.omar_iterations, self.args.omar_samples)
        for noise in self._noise(own.expand(*count, *own.shape)):
            tried = (mean + deviation * noise).clamp(-1.0, 1.0)
            values = values_of_each(self, now, tried, estimates=slice(1))[0]
            weights = (self.args.omar_beta * values).softmax(dim=0).unsqueeze(-1)
            mean = (weights * tried).sum(dim=0)
            deviation = (weights * (tried - mean) ** 2).sum(dim=0).sqrt()
            largest, which = values.max(dim=0)
            picked = tried.gather(0, which[None, ..., None].expand(1, *own.shape))[0]
            best = th.where((largest > best_value).unsqueeze(-1), picked, best)
            best_value = th.maximum(largest, best_value)
        return best, best_value
