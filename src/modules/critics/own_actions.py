"""The critic of DOP: values of an agent's actions, whatever the others do (Wang et al. 2021)."""

from math import prod
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.critics import REGISTRY
from modules.fast_linear import FastLinear
from modules.unshared import linear, linear_for_all, of_own_id, unshare
from utils.config.merging import with_defaults
from utils.tensors.schemes import shape_of


class OwnActionsCritic(nn.Module):
    """Q_i(s, o_i, .) = A(x) + V(x) of each agent, x two hidden layers of `critic_hidden_dim` units, for a mixer.

    Inputs: state, own observation, and the agent's one-hot number with `critic_agent_id`. The weights' names are
    PyMARL2's.
    """

    def __init__(self, scheme: Any, args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        width = args.critic_hidden_dim
        ids = args.n_agents * args.critic_agent_id
        self._sizes = [prod(shape_of(scheme["state"])), prod(shape_of(scheme["obs"])), ids]
        self.fc1 = FastLinear(sum(self._sizes), width)
        self.fc2 = FastLinear(width, width)
        self.fc_v = FastLinear(width, 1)
        self.fc3 = FastLinear(width, args.n_actions)
        if not args.share_critic_params:
            unshare(self, args.n_agents, "critics")

    def forward(self, batch: Any, t: int | None = None) -> th.Tensor:
        """Values `[B, T, n, A]` at all steps of a batch, or at step `t` (then T is 1)."""
        steps = slice(None) if t is None else slice(t, t + 1)
        of_state, of_obs, of_id = self.fc1.weight.split(self._sizes, dim=-1)
        # the state passes the first layer once, not once an agent
        x = linear_for_all(batch["state"][:, steps].flatten(2), of_state, self.fc1.bias)
        x = linear(batch["obs"][:, steps].flatten(3), of_obs) + x
        if self.args.critic_agent_id:
            x = x + of_own_id(of_id)
        x = F.relu(self.fc2(F.relu(x)))
        return self.fc3(x) + self.fc_v(x)
