"""Rewards and returns in units of their deviation from their mean (EPyMARL)."""

from math import prod
from typing import Any

import torch as th
import torch.nn as nn

from utils.numbers.running_statistics import Standardiser
from utils.rl_utils import rewards_of
from utils.tensors.schemes import shape_of


class Standardisation:
    """Standardises rewards (`standardise_rewards`) and returns (`standardise_returns`), each agent's separately.

    With `standardise_returns`, the networks' values are in units of the deviation, too. `networks`: by the names of
    their files, those that have a state.

    Args:
        scheme: of the batches.
        values: how many values a state has: one for each agent, or 1 for the team.
    """

    def __init__(self, scheme: Any, args: Any, values: int):
        self._with_padding = args.standardise_padding
        # as often as a team's reward counts
        self._repeats = args.n_agents if args.standardise_repeats else 1
        self._rewards = Standardiser(reward_count(scheme, args.n_agents)) if args.standardise_rewards else None
        self._returns = Standardiser(values) if args.standardise_returns else None
        known = {"reward_norm": self._rewards, "return_norm": self._returns}
        self.networks: dict[str, nn.Module] = {name: part for name, part in known.items() if part is not None}

    def rewards(self, batch: Any, mask: th.Tensor, rewards: th.Tensor | None = None) -> th.Tensor:
        """Rewards `[B, T - 1, 1 or n]` of a batch, or those given, taken in where `mask`, of such a shape, is 1."""
        rewards = rewards_of(batch) if rewards is None else rewards
        if self._rewards is None:
            return rewards
        if rewards.size(2) > 1:
            self._take_in(self._rewards, rewards, mask)
        else:  # a team's reward counts where it was any agent's
            of_any = mask.amax(dim=2, keepdim=True)
            self._take_in(self._rewards, *(x.repeat(1, self._repeats, 1) for x in (rewards, of_any)))
        return self._rewards.normalize(rewards)

    def values(self, outputs: th.Tensor) -> th.Tensor:
        """Networks' outputs in the units of (standardised) rewards."""
        return outputs if self._returns is None else self._returns.denormalize(outputs)

    def returns(self, returns: th.Tensor, mask: th.Tensor) -> th.Tensor:
        """Returns `[B, T, values]` in units of the networks' outputs, after taking them in where `mask` is 1."""
        if self._returns is None:
            return returns
        self._take_in(self._returns, returns, mask)
        return self._returns.normalize(returns)

    def _take_in(self, norm: Standardiser, seen: th.Tensor, mask: th.Tensor) -> None:
        norm.update(seen, None if self._with_padding else mask)


def reward_count(scheme: Any, n_agents: int) -> int:
    """How many rewards a step has: n of a reward by agent, which may be `[n]` or `[n, 1]`, else 1."""
    info = scheme.get("reward", {"vshape": 1})
    return n_agents if "group" in info else prod(shape_of(info))
