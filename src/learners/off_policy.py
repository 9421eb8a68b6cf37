"""The common part of off-policy actor-critics: transitions, targets, the critic's step."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch as th
import torch.nn.functional as F

from controllers.actor_controller import ActorMAC
from learners.base import BaseLearner
from learners.q_targets import masked_mean
from modules.critics import REGISTRY as critic_REGISTRY
from utils.errors import ConfigError
from utils.rl_utils import discount_of, rewards_of, terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser


@dataclass
class Transitions:
    """A sample of B transitions of n agents.

    `batch`: step 0 and what follows it, step 1; `mask`, `rewards`, `ended`: `[B, n]`; `discount`: of what follows, a
    number or `[B, 1]`; `weights`: importance sampling's, 1.0 or `[B, 1]`; `taken`: actions `[B, n, K]`.
    """

    batch: Any
    mask: th.Tensor
    rewards: th.Tensor
    ended: th.Tensor
    discount: th.Tensor | float
    weights: th.Tensor | float
    taken: th.Tensor


class OffPolicyLearner(BaseLearner):
    """A policy and critics of actions, from single transitions; a subclass has their targets and losses.

    Random numbers are NumPy's: torch's belong to acting. Truncated episodes continue with the value of their last
    state, terminated ones end.
    """

    unrolls = False

    def __init__(self, mac, scheme, logger, args):
        super().__init__(mac, scheme, logger, args)
        if not isinstance(mac, ActorMAC):
            raise ConfigError(f"learner={self.args.learner} needs mac=actor_mac, not {type(mac).__name__}.")
        self._add_critics(scheme)
        parameters = list(mac.parameters())
        self.agent_optimiser = self.optimisers["agent_opt"] = build_optimiser(parameters, self.args.lr, self.args)
        parameters = [weight for network in self.networks.values() for weight in network.parameters()]
        self.critic_optimiser = self.optimisers["critic_opt"] = build_optimiser(
            parameters, self.args.critic_lr, self.args
        )
        self.critic_updates = 0
        # of the last sample with importance weights, `[B]`
        self.new_priorities: th.Tensor | None = None

    def _add_critics(self, scheme: Any) -> None:
        """Add the networks that learn from the critics' loss."""
        self.critic, self.target_critic = self.add_network(
            "critic", critic_REGISTRY[self.args.critic](scheme, self.args)
        )

    def train(self, batch, t_env: int, episode_num: int) -> None:
        """One update of the critic, and every `policy_delay` of them one of the policy and the targets."""
        if self.mac.normalisers:
            self.mac.take_in(batch[:, :1], batch["filled"][:, :1])
        log, policy = self._log_due(t_env), (self.critic_updates + 1) % self.args.policy_delay == 0
        logged, self.new_priorities = self.captured(self._update, batch, log, policy)
        self.critic_updates += 1
        if policy:
            self._update_targets_by(self.args.target_update_interval_or_tau, self.args.target_update_every)
        if log:
            self._log(logged, t_env)

    def _update(self, batch: Any, log: bool, policy: bool) -> tuple[dict[str, Any], th.Tensor | None]:
        """All steps of an update; returns its statistics and new priorities."""
        logged = self._learn(self.transitions(batch), log, policy)
        return logged, self.new_priorities

    def _learn(self, now: Transitions, log: bool, policy: bool) -> dict[str, Any]:
        logged = self._learn_values(now, log)
        return logged | self._learn_policy(now) if policy else logged

    def targets_of(self, now: Transitions) -> th.Tensor:
        """What the critics learn, `[B, n]`."""
        raise NotImplementedError(f"{type(self).__name__} does not define targets_of()")

    def _learn_policy(self, now: Transitions) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__} does not define _learn_policy()")

    def transitions(self, batch: Any) -> Transitions:
        """What the losses need of a batch of two time steps."""
        n = self.args.n_agents
        mask = valid_transitions(batch, by_agent=True)[:, 0].expand(-1, n)
        rewards = rewards_of(batch)[:, 0].expand(-1, n)
        ended = terminations(batch, by_agent=True)[:, 0].expand(-1, n)
        discount = discount_of(batch, self.args.gamma)
        weights = batch["weights"].unsqueeze(1) if "weights" in batch.scheme else 1.0
        return Transitions(batch, mask, rewards, ended, discount, weights, self.mac.taken_at(batch, 0))

    def values(
        self, now: Transitions, t: int, taken: th.Tensor, own: th.Tensor | None = None, target=False, **which: slice
    ) -> th.Tensor:
        """Values at step `t` by all estimates, `[E, B, n]` or `[E, B, n, A]`; see `ActionValueCritic.forward`."""
        critic = self.target_critic if target else self.critic
        return self._forward(lambda: critic(self._field(now.batch, t), taken, own, **which))

    def _field(self, batch: Any, t: int):
        norms = self.mac.normalisers
        return lambda key: norms[key].normalize(batch[key][:, t]) if key in norms else batch[key][:, t]

    def _learn_values(self, now: Transitions, log: bool = True) -> dict[str, Any]:
        """A step of the critics towards their targets; returns its statistics if they are to be logged."""
        loss, logged = self._critic_loss(now, log)
        norm = self._step(self.critic_optimiser, loss)
        return logged | {"critic_grad_norm": norm} if log else {}

    def _critic_loss(self, now: Transitions, log: bool) -> tuple[th.Tensor, dict[str, Any]]:
        """The critics' loss and its statistics; new priorities, where a sample has importance weights."""
        targets = self.targets_of(now)
        values = self.taken_values(now)
        errors = values - targets
        loss = self._loss(errors, now)
        with th.no_grad():
            if isinstance(now.weights, th.Tensor):
                distance = errors.abs().mean(dim=0) * now.mask
                self.new_priorities = distance.sum(dim=1) / now.mask.sum(dim=1).clamp(min=1)
            if not log:
                return loss, {}
            return loss, {
                "critic_loss": loss.detach(),
                "td_error_abs": masked_mean(errors.abs().mean(dim=0), now.mask),
                "q_taken_mean": masked_mean(values.mean(dim=0), now.mask),
                "target_mean": masked_mean(targets, now.mask),
            }

    def _loss(self, errors: th.Tensor, now: Transitions) -> th.Tensor:
        """The sum over estimates of their mean losses, from errors `[E, B, n]`."""
        return (self._squared(errors) * (now.weights * now.mask)).sum() / now.mask.sum()

    def taken_values(self, now: Transitions) -> th.Tensor:
        """Values of the actions that were taken, `[E, B, n]`."""
        return self.of_actions(now, 0, self.values(now, 0, now.taken), now.taken)

    def of_actions(
        self, now: Transitions, t: int, values: th.Tensor, actions: th.Tensor, target: bool = False
    ) -> th.Tensor:
        """Values `[E, B, n]` of actions `[B, n, K]` at step `t`, from what `values` returned."""
        return values if self.mac.continuous else (values * actions).sum(dim=-1)

    @th.no_grad()
    def test_loss(self, batch: Any) -> float:
        """The critics' loss on a sample that is not learned from."""
        now = self.transitions(batch)
        return float(self._loss(self.taken_values(now) - self.targets_of(now), now))

    def _squared(self, errors: th.Tensor) -> th.Tensor:
        if self.args.critic_loss == "mse":
            return errors**2
        return F.smooth_l1_loss(errors, th.zeros_like(errors), reduction="none")

    def _noise(self, like: th.Tensor) -> th.Tensor:
        """Standard normal numbers of the shape of `like`."""
        shape = tuple(like.shape)
        return self.made(lambda: np.random.standard_normal(shape).astype(np.float32), like.device)
