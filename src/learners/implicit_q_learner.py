"""Implicit Q-learning (Kostrikov et al. 2022): no action is ever valued that the data do not have."""

from typing import Any

import torch as th

from learners.off_policy import OffPolicyLearner, Transitions
from learners.q_targets import masked_mean
from modules.critics import REGISTRY as critic_REGISTRY
from modules.policies.policy import plain
from utils.errors import ConfigError
from utils.tensors.optimisers import build_optimiser

# weights of the policy's loss are cut there (section 5 and the authors' code)
LARGEST_WEIGHT = 100.0


class ImplicitQLearner(OffPolicyLearner):
    """Values of states are an upper expectile of those of the data's actions, and the policy clones the better ones.

    V learns L(min_e Q'_e(s, a) - V(s)), where L(u) is u^2 times expectile, or times 1 - expectile if u < 0 (eq. 5); Q
    learns r + gamma V(s') (eq. 6); the policy exp(advantage_weight (min_e Q'_e(s, a) - V(s))) log pi(a | s) (eq. 7).
    """

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        if self.order is not None:
            raise ConfigError(f"learner={self.args.learner} clones all agents at once. Use update_order=together.")
        if mac.deterministic:
            raise ConfigError(f"learner={self.args.learner} needs probabilities of actions: deviation=parameter.")
        self.value = self.networks["value"] = critic_REGISTRY[self.args.value_critic](scheme, self.args)
        self.value_optimiser = self.optimisers["value_opt"] = build_optimiser(
            list(self.value.parameters()), self.args.critic_lr, self.args
        )

    def _learn(self, now: Transitions, log: bool, policy: bool) -> dict[str, Any]:
        with th.no_grad():
            values = self.values(now, 0, now.taken, target=True)
            least = self.of_actions(now, 0, values, now.taken, target=True).amin(dim=0)
        advantages = least - self._state_values(now, 0)
        share = th.where(advantages < 0, 1 - self.args.expectile, self.args.expectile)
        value_loss = masked_mean(share * advantages**2, now.mask)
        self._step(self.value_optimiser, value_loss)
        logged = self._learn_values(now, log)
        if policy:
            logged |= self._learn_policy(now, least)
        return logged | {"value_loss": value_loss.detach()}

    @th.no_grad()
    def targets_of(self, now: Transitions) -> th.Tensor:
        """r + gamma V(s')."""
        return now.rewards + now.discount * (1 - now.ended) * self._state_values(now, 1)

    def _learn_policy(self, now: Transitions, least: th.Tensor | None = None) -> dict[str, Any]:  # type: ignore[override]
        assert least is not None
        with th.no_grad():
            advantages = least - self._state_values(now, 0)
            weights = (self.args.advantage_weight * advantages).exp().clamp(max=LARGEST_WEIGHT)
        policy = self.policy_of(now)
        taken = {path: plain(now.batch[path][:, 0], 2) for path in policy.branches}
        loss = -masked_mean(weights * policy.log_prob(taken), now.mask)
        norm = self._step(self.agent_optimiser, loss)
        return {"pg_loss": loss.detach(), "agent_grad_norm": norm, "advantage_mean": masked_mean(advantages, now.mask)}

    def _state_values(self, now: Transitions, t: int) -> th.Tensor:
        """`[B, n]`."""
        return self._forward(lambda: self.value.values(self._field(now.batch, t), 1))
