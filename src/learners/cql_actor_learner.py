"""Conservative Q-learning with a soft actor-critic (Kumar et al. 2020)."""

import math
from typing import Any

import numpy as np
import torch as th

from learners.off_policy import Transitions
from learners.q_targets import legal_values, masked_mean
from learners.sac_learner import SACLearner


class CQLActorLearner(SACLearner):
    """`SACLearner` whose critics value what the data do above what else could be done: CQL(H).

    The critics' loss has `cql_weight` times the mean of log sum_a exp Q(s, a) - Q(s, a_data). Of choices the sum is
    exact; of continuous actions it is estimated with `cql_actions` actions each of a uniform distribution, of the
    policy at s and of the policy at s' (appendix F).
    """

    def _critic_loss(self, now: Transitions, log: bool) -> tuple[th.Tensor, dict[str, Any]]:
        loss, logged = super()._critic_loss(now, log)
        largest = self._soft_largest(now) if self.mac.continuous else self._soft_largest_choice(now)
        gap = largest - self.taken_values(now)
        # of each estimate, as the errors are
        conservative = th.stack([masked_mean(each, now.mask) for each in gap]).sum()
        more = {"cql_loss": conservative.detach()} if log else {}
        return loss + self.args.cql_weight * conservative, logged | more

    def _soft_largest_choice(self, now: Transitions) -> th.Tensor:
        """log sum exp(Q(s, a)) over legal choices, `[E, B, n]`."""
        values = self.values(now, 0, now.taken)
        for mask in self.mac.policy.masks:
            values = legal_values(values, now.batch[mask][:, 0])
        return values.logsumexp(dim=-1)

    def _soft_largest(self, now: Transitions) -> th.Tensor:
        """log mean exp(Q(s, a) - log density of a) of the actions drawn, `[E, B, n]`."""
        with th.no_grad():
            drawn = [self._uniform(now), self._by_policy(now, 0), self._by_policy(now, 1)]
            units, log_probs = (th.cat(parts) for parts in zip(*drawn, strict=True))
        count = len(units)
        field = self._field(now.batch, 0)
        taken = now.taken.repeat(count, 1, 1)
        values = self._forward(
            lambda: self.critic(lambda key: _repeated(field(key), count), taken, units.flatten(0, 1))
        )
        return (values.unflatten(1, (count, -1)) - log_probs).logsumexp(dim=1) - math.log(count)

    def _uniform(self, now: Transitions) -> tuple[th.Tensor, th.Tensor]:
        """Actions `[draws, B, n, K]` over their whole ranges, and the logarithms of their densities."""
        shape = (self.args.cql_actions, *now.taken.shape)
        units = self.made(lambda: (np.random.random(shape) * 2 - 1).astype(np.float32), now.taken.device)
        return units, units.new_full(units.shape[:-1], -math.log(2) * shape[-1])

    def _by_policy(self, now: Transitions, t: int) -> tuple[th.Tensor, th.Tensor]:
        """The same of the policy at step `t`."""
        policy = self.mac.policy_at(now.batch, t)
        drawn = [self._drawn(policy) for _ in range(self.args.cql_actions)]
        return th.stack([each.units for each in drawn]), th.stack([each.log_prob for each in drawn])


def _repeated(x: th.Tensor, count: int) -> th.Tensor:
    """Rows `[B, ...]` as often as there are draws."""
    return x.repeat(count, *(1 for _ in x.shape[1:]))
