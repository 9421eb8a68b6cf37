"""The common part of off-policy actor-critics: transitions, targets, the critic's step."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch as th
import torch.nn.functional as F

from components.sampling.fields import of_agent
from controllers.actor_controller import ActorMAC
from learners.base import BaseLearner
from learners.figures import Averages
from learners.q_targets import masked_mean
from learners.update_order import TOGETHER, UpdateOrder
from modules.critics import REGISTRY as critic_REGISTRY
from utils.errors import ConfigError
from utils.rl_utils import discount_of, rewards_of, terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser


@dataclass
class Transitions:
    """A sample of B transitions of n agents.

    `batch`: step 0 and what follows it, step 1; `mask`, `rewards`, `ended`: `[B, n]`; `discount`: of what follows, a
    number or `[B, 1]`; `weights`: importance sampling's, 1.0 or `[B, 1]`; `taken`: actions `[B, n, K]`.

    `turn`: as the agent sees it whose policy learns, its number, the batch with it alone, and its copy of the policy:
    then `mask` is `[B, 1]`, and `taken` is what all agents do by their present policies.
    """

    batch: Any
    mask: th.Tensor
    rewards: th.Tensor
    ended: th.Tensor
    discount: th.Tensor | float
    weights: th.Tensor | float
    taken: th.Tensor
    turn: tuple[int, Any, Any] | None = None


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
        # None: all agents' policies are updated at once
        self.order = None if self.args.update_order == TOGETHER else UpdateOrder(mac, self.args)
        if self.order is not None:
            self.mac_copies = self.order.macs
        parameters = [weight for each in self.mac_copies or [mac] for weight in each.parameters()]
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
        logged, self.new_priorities = self.captured(self._update, batch, log, policy and self.order is None)
        self.critic_updates += 1
        if policy and self.order is not None:
            logged |= self._learn_in_turn(batch, log)
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

    def _learn_in_turn(self, batch: Any, log: bool) -> dict[str, Any]:
        """One policy's step after another's, which act by their new policies from then on; returns mean statistics."""
        assert self.order is not None
        acting, stats = self.captured(self._acts, batch), Averages(log)
        for i, own in self.order.in_turn():
            acting, found = self.captured(self._take_turn, batch, of_agent(batch, i), i, own, acting)
            stats.note(found)
        return stats.means()

    def _take_turn(self, batch: Any, alone: Any, i: int, own: Any, acting: th.Tensor) -> tuple[th.Tensor, dict]:
        """A step of agent i's policy where all do what `acting` says, `[B, n, K]`; returns that with its new action."""
        now = self.transitions(batch)
        now = replace(now, mask=now.mask[:, i : i + 1], taken=acting, turn=(i, alone, own))
        logged = self._learn_policy(now)
        return th.cat([acting[:, :i], self._acting(now), acting[:, i + 1 :]], dim=1), logged

    def _acts(self, batch: Any) -> th.Tensor:
        return self._acting(self.transitions(batch))

    def _acting(self, now: Transitions) -> th.Tensor:
        """Actions of the present policies at step 0, `[B, n, K]`, or of the one whose turn it is, without gradients."""
        raise NotImplementedError(f"{type(self).__name__} does not define _acting()")

    def policy_of(self, now: Transitions) -> Any:
        """The distribution of actions at step 0, of all agents or of the one whose turn it is."""
        _, batch, mac = now.turn or (None, now.batch, self.mac)
        return self._forward(lambda: mac.policy_at(batch, 0))

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
        if now.turn is None:
            return self._forward(lambda: critic(self._field(now.batch, t), taken, own, **which))
        i = now.turn[0]
        own = None if own is None else own.expand_as(taken)  # only this agent's row counts
        return self._forward(lambda: critic(self._field(now.batch, t), taken, own, **which))[:, :, i : i + 1]

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
        values, targets = self._values_and_targets(now)
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

    def _values_and_targets(self, now: Transitions) -> tuple[th.Tensor, th.Tensor]:
        """Of the actions that were taken `[E, B, n]`, and what they are to become."""
        targets = self.targets_of(now)
        return self.taken_values(now), targets

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
