"""Curiosity of EMC as its authors have it: of values that a VDN of its own learns (Zheng et al. 2021)."""

import copy
from typing import Any

import torch as th
import torch.nn as nn

from controllers.unroll import BatchUnroll
from learners.intrinsic.value_curiosity import ValueCuriosity
from learners.q_targets import gather_actions, legal_values, masked_mean
from learners.standardisation import Standardisation
from utils.rl_utils import terminations, valid_transitions
from utils.tensors.optimisers import build_optimiser


class TeamCuriosity(ValueCuriosity):
    """`ValueCuriosity` of values Q_i whose sum learns the team's value (VDN), by the environment's rewards alone.

    They are a network like the agents', which nobody acts by, with targets that follow when the learner's do; by the
    learner's `lr`, `optimizer` and `double_q`. What is predicted is `curiosity_factor` Q'_i, where Q' follows Q slowly.
    """

    def __init__(self, scheme: Any, args: Any):
        super().__init__(scheme, args)
        self._standardised = Standardisation(scheme, args, 1)
        self.norms = nn.ModuleDict(self._standardised.networks)

    def watch(self, learner: Any) -> None:
        """See `IntrinsicReward.watch`."""
        super().watch(learner)
        self._learner, self._mac, self._target = learner, copy.deepcopy(learner.mac), copy.deepcopy(learner.mac)
        learner.networks["curiosity_values"], learner.target_networks["curiosity_values"] = (
            mac.agent for mac in (self._mac, self._target)
        )
        values = list(self._mac.parameters())
        self._optimiser = learner.optimisers["curiosity_opt"] = build_optimiser(values, learner.args.lr, learner.args)

    def forward(self, batch: Any, mask: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """See `IntrinsicReward.forward`."""
        unroll = BatchUnroll(batch, self._mac)
        with th.no_grad():
            values = self.args.curiosity_factor * unroll.spread(unroll.outputs(self._follows))[:, 1:]
        errors = (unroll.spread(unroll.outputs(self._predicts))[:, 1:] - values).norm(dim=-1)
        self._learn(unroll)
        self._follow()
        return errors.detach(), masked_mean(errors, mask)

    def _learn(self, unroll: BatchUnroll) -> None:
        """A step of the values by one-step targets of the team's value."""
        learner, batch = self._learner, unroll.batch
        mask = valid_transitions(batch)
        mac_out = learner._forward(unroll.outputs, self._mac)

        def of_team(values: th.Tensor, actions: th.Tensor) -> th.Tensor:
            return unroll.spread(gather_actions(values, actions)).sum(dim=2, keepdim=True)

        with th.no_grad():
            target_out = legal_values(learner._forward(unroll.outputs, self._target), unroll.avail_actions)
            chooser = legal_values(mac_out, unroll.avail_actions) if learner.args.double_q else target_out
            following = of_team(target_out, chooser.argmax(dim=-1, keepdim=True))[:, 1:]
            rewards = self._standardised.rewards(batch, mask)
            targets = rewards + learner.args.gamma * (1 - terminations(batch)) * following
        errors = of_team(mac_out, unroll.take(batch["actions"]))[:, :-1] - targets
        learner._step(self._optimiser, masked_mean(errors**2, mask))
