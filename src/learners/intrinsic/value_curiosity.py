"""Curiosity of EMC (Zheng et al. 2021): how badly agents' next values are predicted."""

import copy
from typing import Any

import torch as th

from controllers.unroll import BatchUnroll
from learners.intrinsic.rewards import IntrinsicReward
from learners.q_targets import masked_mean


class ValueCuriosity(IntrinsicReward):
    """|Q~_i(tau', .) - Q'_i(tau', .)|, where Q~ learns to predict Q', which follows the agents slowly (section 3.1).

    Both are networks like the agents', with a memory of what happened. An agent's values hang together with those of
    the others by the team's reward, so what is new to them together is new to it.
    """

    def watch(self, learner: Any) -> None:
        """See `IntrinsicReward.watch`."""
        # controllers are no modules: their networks are registered by themselves
        self._mac, self._predicts, self._follows = learner.mac, copy.deepcopy(learner.mac), copy.deepcopy(learner.mac)
        self.predictor, self.followed = self._predicts.agent, self._follows.agent.requires_grad_(False)
        for module in self.predictor.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()

    def forward(self, batch: Any, mask: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """See `IntrinsicReward.forward`."""
        self._follow()
        with th.no_grad():
            unroll = BatchUnroll(batch, self._mac)
            values = unroll.spread(unroll.outputs(self._follows))[:, 1:]
        predicted = unroll.spread(unroll.outputs(self._predicts))[:, 1:]
        errors = (predicted - values).norm(dim=-1)
        return errors.detach(), masked_mean(errors, mask)

    @th.no_grad()
    def _follow(self) -> None:
        for kept, new in zip(self.followed.parameters(), self._mac.parameters(), strict=True):
            kept.lerp_(new, self.args.curiosity_tau)
