"""Policies that are rewarded for their entropy: what their actions are worth (Haarnoja et al. 2018)."""

import math
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn

from learners.off_policy import OffPolicyLearner, Transitions
from learners.q_targets import masked_mean
from modules.policies.distributions import Drawn


class Temperature(nn.Module):
    """The weight of entropy, as its logarithm."""

    def __init__(self, first: float):
        super().__init__()
        self.log_weight = nn.Parameter(th.tensor(math.log(first)))


class SoftPolicyLearner(OffPolicyLearner):
    """Soft values of states and losses of stochastic policies, of one action that is drawn or of all choices."""

    value: nn.Module  # of states, with `value_network`

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        self.temperature = Temperature(self.args.entropy_weight)

    @property
    def entropy_weight(self) -> th.Tensor:
        return self.temperature.log_weight.detach().exp()

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


def choices_of(policy: Any) -> tuple[th.Tensor, th.Tensor]:
    """Probabilities and their logarithms, `[B, n, A]`; of illegal choices 0 and 0."""
    (choice,) = policy.branches.values()
    probs = choice.probs
    return probs, choice.log_probs.masked_fill(probs == 0, 0.0)
