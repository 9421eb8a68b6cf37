"""Values of the state and the actions of all agents, at all steps of a batch (MADDPG, Lowe et al. 2017)."""

from itertools import compress
from math import prod

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.critics import REGISTRY
from modules.critics.coma import taken_and_last
from modules.fast_linear import FastLinear
from modules.unshared import linear, linear_for_all, of_own_id, of_own_part, unshare
from utils.config.merging import with_defaults
from utils.tensors.schemes import shape_of


class JointActionCritic(nn.Module):
    """Q_i(s, u) of each agent i, by three linear layers with rectifiers between them.

    Inputs: state, own observation, own last action, agent id, and the actions of all agents; options leave out those
    between. What all agents share passes the first layer once.
    """

    def __init__(self, scheme, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents, actions = args.n_agents, args.n_agents * args.n_actions
        sizes = [prod(shape_of(scheme["state"])), prod(shape_of(scheme["obs"])), args.n_actions, self.n_agents, actions]
        self._seen = [True, args.critic_own_obs, args.critic_last_actions is True, args.critic_agent_id, True]
        self._sizes = list(compress(sizes, self._seen))
        width = args.critic_hidden_dim
        self.fc1 = FastLinear(sum(self._sizes), width)
        self.fc2 = FastLinear(width, width)
        self.fc3 = FastLinear(width, 1)
        if not args.share_critic_params:
            unshare(self, self.n_agents, "critics")

    def forward(self, batch, steps: slice, taken: th.Tensor, own: th.Tensor | None = None) -> th.Tensor:
        """Values `[B, T, n]` at the steps of `batch` that `steps` names.

        Args:
            taken: one-hot actions of all agents at these, `[B, T, n, A]`.
            own: those that each agent takes itself instead, while the others act as in `taken`; None: the same.
        """
        of_state, *between, of_actions = self.fc1.weight.split(self._sizes, dim=-1)
        x = linear_for_all(batch["state"][:, steps].flatten(2), of_state, self.fc1.bias)
        x = x + linear_for_all(taken.flatten(2), of_actions)
        weights = iter(between)
        if self._seen[1]:
            x = x + linear(batch["obs"][:, steps].flatten(3), next(weights))
        if self._seen[2]:
            _, last = taken_and_last(batch["actions_onehot"], None)
            x = x + linear(last[:, steps].float(), next(weights))
        if self._seen[3]:
            x = x + of_own_id(next(weights))
        if own is not None:
            x = x + of_own_part(own - taken, of_actions)
        x = self.fc3(F.relu(self.fc2(F.relu(x)))).squeeze(-1)
        return x.expand(-1, -1, self.n_agents)
