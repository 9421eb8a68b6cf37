"""SAC: soft actor-critic (Haarnoja et al. 2018), for continuous actions and for choices (Christodoulou 2019)."""

import math
from typing import Any

import torch as th

from learners.networks import at_rest
from learners.off_policy import Transitions
from learners.q_targets import masked_mean
from learners.soft_policies import SoftPolicyLearner
from modules.critics import REGISTRY as critic_REGISTRY
from modules.policies.distributions import Drawn
from utils.errors import ConfigError
from utils.tensors.optimisers import build_optimiser


class SACLearner(SoftPolicyLearner):
    """A stochastic policy that is rewarded for its entropy, with several critics of which the least counts.

    With `value_network`, targets go by values of states (SAC's first form); else by the critics' target networks.
    With `critic: q_central`, the other agents' actions are those of the batch where an agent's policy learns.
    """

    @property
    def without_gradient(self) -> dict[str, str]:
        """See `experiment.learning_checks.excuses`."""
        return {} if self.args.tune_entropy else {"temperature.*": "tune_entropy=False"}

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        args = self.args
        if mac.continuous and (mac.deterministic or not mac.bounded):
            raise ConfigError(f"learner={args.learner} needs bounded actions: squash=tanh, and deviation=network.")
        if args.policy_gradient == "score" and not (args.value_network and mac.continuous):
            raise ConfigError("policy_gradient=score needs value_network=True and continuous actions.")
        if args.losses_first and args.policy_delay > 1:
            raise ConfigError("losses_first=True: all networks learn in each update. Use policy_delay=1.")
        if args.tune_entropy:
            self.networks["temperature"] = self.temperature
            parameters = list(self.temperature.parameters())
            self.entropy_optimiser = self.optimisers["entropy_opt"] = build_optimiser(parameters, args.entropy_lr, args)
        self.target_entropy = self._usual_entropy() if args.target_entropy is None else args.target_entropy
        if args.value_network:
            # values take the place of target critics
            del self.target_networks["critic"]
            self.target_critic = None
            network = critic_REGISTRY[args.value_critic](scheme, args)
            self.value, self.target_value = self.add_network("value", network)
            self.value_optimiser = self.optimisers["value_opt"] = build_optimiser(
                list(self.value.parameters()), args.critic_lr, args
            )

    @th.no_grad()
    def targets_of(self, now: Transitions) -> th.Tensor:
        """r + gamma V(s'), V(s') = E[min_e Q'_e(s', a') - alpha log pi(a' | s')], by one action or all choices."""
        if self.args.value_network:
            following = self._state_values(self.target_value, now, 1)
        else:
            following = self._soft_values(now, 1, self.mac.policy_at(now.batch, 1), target=True)
        return now.rewards + now.discount * (1 - now.ended) * following

    def _learn(self, now: Transitions, log: bool, policy: bool) -> dict[str, Any]:
        return self._learn_at_once(now, log) if self.args.losses_first else super()._learn(now, log, policy)

    def _log(self, stats: dict[str, Any], t_env: int) -> None:
        # not of a captured update: it is a constant of the CPU if it is not tuned
        super()._log(stats | {"entropy_weight": self.entropy_weight} if "entropy" in stats else stats, t_env)

    def _learn_at_once(self, now: Transitions, log: bool) -> dict[str, Any]:
        """One step of all networks down losses of the same weights, by one action in each state."""
        losses = {}
        losses[self.critic_optimiser], logged = self._critic_loss(now, log)
        policy = self.policy_of(now)
        drawn = self._drawn(policy) if self.mac.continuous else None
        if self.args.value_network:
            losses[self.value_optimiser] = loss = self._value_loss(now, policy, drawn)
            logged["value_loss"] = loss.detach()
        with at_rest(self.critic):
            losses[self.agent_optimiser], entropy = self._policy_loss(now, policy, drawn)
        logged |= self._policy_statistics(now, losses[self.agent_optimiser], entropy)
        if self.args.tune_entropy:
            losses[self.entropy_optimiser] = self._entropy_loss(logged["entropy"])
        norms = dict(zip(losses, self._steps(losses), strict=True))
        return logged | {
            "critic_grad_norm": norms[self.critic_optimiser],
            "agent_grad_norm": norms[self.agent_optimiser],
        }

    def _learn_values(self, now: Transitions, log: bool = True) -> dict[str, Any]:
        logged = super()._learn_values(now, log)
        if self.args.value_network:
            with th.no_grad():
                policy = self.mac.policy_at(now.batch, 0)
            loss = self._value_loss(now, policy)
            self._step(self.value_optimiser, loss)
            logged["value_loss"] = loss.detach()
        return logged

    def _learn_policy(self, now: Transitions) -> dict[str, Any]:
        policy = self.policy_of(now)
        with at_rest(self.critic):
            loss, entropy = self._policy_loss(now, policy)
            norm = self._step(self.agent_optimiser, loss)
        logged = self._policy_statistics(now, loss, entropy) | {"agent_grad_norm": norm}
        if self.args.tune_entropy:
            self._step(self.entropy_optimiser, self._entropy_loss(logged["entropy"]))
        return logged

    def _policy_statistics(self, now: Transitions, loss: th.Tensor, entropy: th.Tensor) -> dict[str, Any]:
        return {"pg_loss": loss.detach(), "entropy": masked_mean(entropy, now.mask)}

    def _entropy_loss(self, entropy: th.Tensor) -> th.Tensor:
        """Down where there is more entropy than wanted (eq. 18)."""
        return self.temperature.log_weight * (entropy - self.target_entropy)

    def _value_loss(self, now: Transitions, policy: Any, drawn: Drawn | None = None) -> th.Tensor:
        with th.no_grad():
            soft = self._soft_values(now, 0, policy, target=False, drawn=drawn)
        return masked_mean((self._state_values(self.value, now, 0) - soft) ** 2, now.mask)

    def _usual_entropy(self) -> float:
        if self.mac.continuous:
            return -float(self.mac.action_size)
        return 0.98 * math.log(self.mac.action_size)
