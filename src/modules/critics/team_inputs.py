"""What critics of a team's actions see beside these: the state and, by options, what all agents see and did before."""

from itertools import compress
from math import prod
from typing import Any

import torch as th

from modules.critics.coma import taken_and_last
from modules.unshared import linear_for_all, of_own_id
from utils.tensors.schemes import shape_of


class TeamInputs:
    """State (+ all observations) (+ all last actions) (+ agent id), the first inputs of a linear layer.

    Attributes:
        sizes: of these parts.
    """

    def __init__(self, scheme: Any, args: Any, agent_id: bool):
        n, all_obs = args.n_agents, prod(shape_of(scheme["obs"])) * args.n_agents
        sizes = [prod(shape_of(scheme["state"])), all_obs, args.n_actions * n, n]
        self._seen = [True, args.critic_all_obs, args.critic_last_actions is True, agent_id]
        self.sizes = list(compress(sizes, self._seen))

    def through(self, batch: Any, weights: tuple[th.Tensor, ...], bias: th.Tensor) -> th.Tensor:
        """A layer's outputs at all steps, `[B, T, 1 or n, out]`; what all agents share passes it once.

        `weights`: of each part `[out, size]`, or of each agent `[n, out, size]`.
        """
        rest = iter(weights[1:])
        x = linear_for_all(batch["state"].flatten(2), weights[0], bias)
        if self._seen[1]:
            x = x + linear_for_all(batch["obs"].flatten(2), next(rest))
        if self._seen[2]:
            _, last = taken_and_last(batch["actions_onehot"], None)
            x = x + linear_for_all(last.flatten(2).float(), next(rest))
        return x + of_own_id(next(rest)) if self._seen[3] else x
