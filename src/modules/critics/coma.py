"""COMA's centralised critic (Foerster et al. 2018, section 4)."""

from itertools import compress
from typing import Any

import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.critics import REGISTRY
from modules.fast_linear import FastLinear
from modules.unshared import linear, linear_for_all, of_own_id, of_own_part, unshare
from utils.config.merging import with_defaults


class COMACritic(nn.Module):
    """Q(s, (u_-a, .)): for each agent the values of all its actions, the others' actions given.

    Inputs: state, own observation, all current actions with the own one zeroed, all last actions, agent id; options
    leave out the second and the last two.
    """

    # whether the inputs are those of `_build_inputs` here, of which the first layer knows the parts
    knows_parts = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "knows_parts" not in vars(cls):
            cls.knows_parts = cls._build_inputs is COMACritic._build_inputs

    def __init__(self, scheme, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_actions = args.n_actions
        self.n_agents = args.n_agents
        self.output_type = "q"

        self._sees_last = args.critic_last_actions is not False
        width = args.critic_hidden_dim
        self.fc1 = FastLinear(self._get_input_shape(scheme), width)
        self.fc2 = FastLinear(width, width)
        self.fc3 = FastLinear(width, self.n_actions)
        if not args.share_critic_params:
            unshare(self, self.n_agents, "critics")

    def forward(self, batch, t: int | None = None) -> th.Tensor:
        """Values `[B, T, n_agents, n_actions]` at all steps of `batch`, or at step `t` (then T is 1)."""
        x = self._first_layer(batch, t) if self.knows_parts else self.fc1(self._build_inputs(batch, t=t))
        x = F.relu(self.fc2(F.relu(x)))
        return self.fc3(x)

    def _first_layer(self, batch, t: int | None) -> th.Tensor:
        """`fc1(_build_inputs(batch, t))`, but inputs common to all agents pass the layer once, not once an agent."""
        taken, last = taken_and_last(batch["actions_onehot"], t)
        steps = slice(None) if t is None else slice(t, t + 1)
        state, obs = batch["state"][:, steps].flatten(2), batch["obs"][:, steps].flatten(3)
        joint, args = self.n_agents * self.n_actions, self.args
        sizes = [
            state.size(-1),
            obs.size(-1) * args.critic_own_obs,
            joint,
            joint * self._sees_last,
            self.n_agents * args.critic_agent_id,
        ]
        of_state, of_obs, of_taken, of_last, of_id = self.fc1.weight.split(sizes, dim=-1)
        shared = linear_for_all(state, of_state, self.fc1.bias) + linear_for_all(taken.flatten(2), of_taken)
        if self._sees_last:
            shared = shared + linear_for_all(last.flatten(2), of_last)
        # the joint action without the agent's own
        x = -of_own_part(taken, of_taken)
        if args.critic_own_obs:
            x = linear(obs, of_obs) + x
        x = x + shared
        return x + of_own_id(of_id) if args.critic_agent_id else x

    def _build_inputs(self, batch, t: int | None = None) -> th.Tensor:
        steps = slice(None) if t is None else slice(t, t + 1)
        taken, last = taken_and_last(batch["actions_onehot"], t)
        batch_size, length = taken.shape[:2]

        def for_each_agent(x: th.Tensor) -> th.Tensor:
            return x.reshape(batch_size, length, 1, -1).expand(-1, -1, self.n_agents, -1)

        agent_id = th.eye(self.n_agents, device=taken.device)
        others = (1 - agent_id).repeat_interleave(self.n_actions, dim=1)
        inputs = [
            for_each_agent(batch["state"][:, steps]),
            batch["obs"][:, steps].reshape(batch_size, length, self.n_agents, -1),
            for_each_agent(taken) * others,
            for_each_agent(last),
            agent_id.expand(batch_size, length, -1, -1),
        ]
        args = self.args
        seen = True, args.critic_own_obs, True, self._sees_last, args.critic_agent_id
        return th.cat(list(compress(inputs, seen)), dim=-1)

    def _get_input_shape(self, scheme) -> int:
        args, actions = self.args, scheme["actions_onehot"]["vshape"][0] * self.n_agents
        size = int(np.prod(scheme["state"]["vshape"])) + actions + actions * self._sees_last
        return size + int(np.prod(scheme["obs"]["vshape"])) * args.critic_own_obs + self.n_agents * args.critic_agent_id


def taken_and_last(onehot: th.Tensor, t: int | None) -> tuple[th.Tensor, th.Tensor]:
    """One-hot actions `[B, T, n, A]` of all steps, or of step `t`, and those of the steps before."""
    if t is None:
        return onehot, th.cat([th.zeros_like(onehot[:, :1]), onehot[:, :-1]], dim=1)
    taken = onehot[:, t : t + 1]
    return taken, onehot[:, t - 1 : t] if t > 0 else th.zeros_like(taken)
