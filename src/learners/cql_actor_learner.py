"""Conservative Q-learning with a soft actor-critic (Kumar et al. 2020)."""

from typing import Any

import torch as th

from learners.many_actions import conservative_gap, soft_largest, uniform_units
from learners.off_policy import Transitions
from learners.q_targets import legal_values
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
        conservative = conservative_gap(self, now, largest)
        more = {"cql_loss": conservative.detach()} if log else {}
        return loss + self.args.cql_weight * conservative, logged | more

    def _soft_largest_choice(self, now: Transitions) -> th.Tensor:
        """log sum exp(Q(s, a)) over legal choices, `[E, B, n]`."""
        values = self.values(now, 0, now.taken)
        for mask in self.mac.policy.masks:
            values = legal_values(values, now.batch[mask][:, 0])
        return values.logsumexp(dim=-1)

    def _soft_largest(self, now: Transitions) -> th.Tensor:
        """The same of continuous actions, estimated."""
        with th.no_grad():
            uniform = uniform_units(self, now, self.args.cql_actions)
            drawn = [uniform, self._by_policy(now, 0), self._by_policy(now, 1)]
            units, log_probs = (th.cat(parts) for parts in zip(*drawn, strict=True))
        return soft_largest(self, now, units, log_probs)

    def _by_policy(self, now: Transitions, t: int) -> tuple[th.Tensor, th.Tensor]:
        """Actions of the policy at step `t`, `[draws, B, n, K]`, and the logarithms of their densities."""
        policy = self.mac.policy_at(now.batch, t)
        drawn = [self._drawn(policy) for _ in range(self.args.cql_actions)]
        return th.stack([each.units for each in drawn]), th.stack([each.log_prob for each in drawn])
