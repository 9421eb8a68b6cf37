"""SAC: soft actor-critic (Haarnoja et al. 2018), for continuous actions and for choices (Christodoulou 2019)."""

import math
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn

from learners.networks import at_rest
from learners.off_policy import OffPolicyLearner, Transitions
from learners.q_targets import masked_mean
from modules.critics import REGISTRY as critic_REGISTRY
from modules.policies.distributions import Drawn
from utils.errors import ConfigError
from utils.tensors.optimisers import build_optimiser


class Temperature(nn.Module):
    """The weight of entropy, as its logarithm."""

    def __init__(self, first: float):
        super().__init__()
        self.log_weight = nn.Parameter(th.tensor(math.log(first)))


class SACLearner(OffPolicyLearner):
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
        self.temperature = Temperature(args.entropy_weight)
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

    @property
    def entropy_weight(self) -> th.Tensor:
        return self.temperature.log_weight.detach().exp()

    @th.no_grad()
    def targets_of(self, now: Transitions) -> th.Tensor:
        """r + gamma V(s'), V(s') = E[min_e Q'_e(s', a') - alpha log pi(a' | s')], by one action or all choices."""
        if self.args.value_network:
            following = self._state_values(self.target_value, now, 1)
        else:
            following = self._soft_values(now, 1, self.mac.policy_at(now.batch, 1), target=True)
        return now.rewards + now.discount * (1 - now.ended) * following

    def _soft_values(
        self, now: Transitions, t: int, policy: Any, target: bool, drawn: Drawn | None = None
    ) -> th.Tensor:
        """`[B, n]` of the policy at step `t`; of continuous actions by those `drawn`, or new ones."""
        weight = self.entropy_weight
        if self.mac.continuous:
            units, log_prob, _ = self._drawn(policy) if drawn is None else drawn
            soft = self._judged(self.values(now, t, units, target=target)) - weight * log_prob
            return soft - weight * self._of_others(log_prob) if self.args.team_entropy else soft
        probs, log_probs = choices_of(policy)
        values = self._judged(self.values(now, t, self._others(now, t, probs), target=target))
        soft = (probs * (values - weight * log_probs)).sum(dim=-1)
        return soft - weight * self._of_others((probs * log_probs).sum(dim=-1)) if self.args.team_entropy else soft

    def _judged(self, values: th.Tensor) -> th.Tensor:
        """What all estimates together say, from `[E, ...]`: the least."""
        return values.amin(dim=0)

    def _following_actions(self, now: Transitions) -> tuple[th.Tensor, th.Tensor]:
        """Drawn at step 1, `[B, n, K]`, and their log-probabilities `[B, n]`, the team's with `team_entropy`."""
        policy = self.mac.policy_at(now.batch, 1)
        if self.mac.continuous:
            units, log_prob, _ = self._drawn(policy)
        else:
            probs, log_probs = choices_of(policy)
            units = self._choices_drawn(probs)
            log_prob = (log_probs * units).sum(dim=-1)
        return units, log_prob.sum(dim=-1, keepdim=True) if self.args.team_entropy else log_prob

    @staticmethod
    def _of_others(x: th.Tensor) -> th.Tensor:
        """For each agent, the sum over the others, `[B, n]`."""
        return x.sum(dim=-1, keepdim=True) - x

    @th.no_grad()
    def _acting(self, now: Transitions) -> th.Tensor:
        policy = self.policy_of(now)
        return self._drawn(policy).units if self.mac.continuous else self._choices_drawn(choices_of(policy)[0])

    def _others(self, now: Transitions, t: int, probs: th.Tensor) -> th.Tensor:
        """The choices of all agents that central critics see at step `t`: those taken, or later ones drawn now."""
        return now.taken if t == 0 or not self.critic.central else self._choices_drawn(probs)

    def _choices_drawn(self, probs: th.Tensor) -> th.Tensor:
        shape = tuple(probs.shape)
        race = self.made(lambda: np.random.exponential(size=shape).astype(np.float32), probs.device)
        drawn = (probs / race).argmax(dim=-1)
        return nn.functional.one_hot(drawn, probs.size(-1)).float()

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

    def _policy_loss(self, now: Transitions, policy: Any, drawn: Drawn | None = None) -> tuple[th.Tensor, th.Tensor]:
        """The loss, and the entropy of each policy, estimated by one action or exact, `[B, n]`."""
        weight = self.entropy_weight
        if not self.mac.continuous:
            probs, log_probs = choices_of(policy)
            with th.no_grad():
                values = self._judged(self.values(now, 0, now.taken))
            loss = masked_mean((probs * (weight * log_probs - values)).sum(dim=-1), now.mask)
            return loss, -(probs * log_probs).sum(dim=-1).detach()
        units, log_prob, raw = self._drawn(policy) if drawn is None else drawn
        if self.args.policy_gradient == "score":
            loss = self._score_loss(now, units, log_prob)
        else:
            values = self._judged(self.values(now, 0, now.taken, units))
            loss = masked_mean(weight * log_prob - values, now.mask)
        if self.args.mean_penalty or self.args.deviation_penalty:
            for branch in policy.branches.values():
                penalties = self.args.mean_penalty * branch.mean**2 + self.args.deviation_penalty * branch.log_std**2
                loss = loss + masked_mean(penalties.mean(dim=-1), now.mask)
        if self.args.sample_penalty:
            loss = loss + self.args.sample_penalty * masked_mean((raw**2).sum(dim=-1), now.mask)
        return loss, -log_prob.detach()

    def _score_loss(self, now: Transitions, units: th.Tensor, log_prob: th.Tensor) -> th.Tensor:
        """log pi(a | s) (alpha log pi(a | s) - Q(s, a) + V(s)), the bracket without gradient (Haarnoja et al. 2018)."""
        with th.no_grad():
            values = self._judged(self.values(now, 0, now.taken, units))
            worse = self.entropy_weight * log_prob - (values - self._state_values(self.value, now, 0))
        return masked_mean(log_prob * worse, now.mask)

    def _drawn(self, policy: Any) -> Drawn:
        """Actions of all branches together, with gradients, or as constants for the score function."""
        fixed = self.args.policy_gradient == "score"
        drawn = [branch.drawn(self._noise(branch.mean), fixed) for branch in policy.branches.values()]
        units, log_probs, raw = zip(*drawn, strict=True)
        return Drawn(th.cat(units, dim=-1), sum(log_probs), th.cat(raw, dim=-1))

    def _state_values(self, network: Any, now: Transitions, t: int) -> th.Tensor:
        """Values of the states at step `t`, `[B, n]`."""
        return self._forward(lambda: network.values(self._field(now.batch, t), 1))

    def _usual_entropy(self) -> float:
        if self.mac.continuous:
            return -float(self.mac.action_size)
        return 0.98 * math.log(self.mac.action_size)


def choices_of(policy: Any) -> tuple[th.Tensor, th.Tensor]:
    """Probabilities and their logarithms, `[B, n, A]`; of illegal choices 0 and 0."""
    (choice,) = policy.branches.values()
    probs = choice.probs
    return probs, choice.log_probs.masked_fill(probs == 0, 0.0)
