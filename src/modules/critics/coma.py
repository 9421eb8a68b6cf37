"""COMA's centralised critic (Foerster et al. 2018, section 4)."""

from typing import Any

import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F


class COMACritic(nn.Module):
    """Q(s, (u_-a, .)): for each agent the values of all its actions, the others' actions given.

    Inputs: state, own observation, all current actions with the own one zeroed, all last actions, agent id.
    """

    # whether the inputs are those of `_build_inputs` here, of which the first layer knows the parts
    knows_parts = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "knows_parts" not in vars(cls):
            cls.knows_parts = cls._build_inputs is COMACritic._build_inputs

    def __init__(self, scheme, args):
        super().__init__()
        self.args = args
        self.n_actions = args.n_actions
        self.n_agents = args.n_agents
        self.output_type = "q"

        self.fc1 = nn.Linear(self._get_input_shape(scheme), 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, self.n_actions)

    def forward(self, batch, t: int | None = None) -> th.Tensor:
        """Values `[B, T, n_agents, n_actions]` at all steps of `batch`, or at step `t` (then T is 1)."""
        x = self._first_layer(batch, t) if self.knows_parts else self.fc1(self._build_inputs(batch, t=t))
        x = F.relu(self.fc2(F.relu(x)))
        return self.fc3(x)

    def _first_layer(self, batch, t: int | None) -> th.Tensor:
        """`fc1(_build_inputs(batch, t))`, but inputs common to all agents pass the layer once, not once an agent."""
        taken, last = _taken_and_last(batch["actions_onehot"], t)
        steps = slice(None) if t is None else slice(t, t + 1)
        obs = batch["obs"][:, steps].flatten(3)
        state = batch["state"][:, steps].flatten(2)
        joint_size = self.n_agents * self.n_actions
        sizes = [state.size(-1), obs.size(-1), joint_size, joint_size, self.n_agents]
        of_state, of_obs, of_taken, of_last, of_id = self.fc1.weight.split(sizes, dim=1)
        shared = F.linear(state, of_state, self.fc1.bias)
        shared = shared + F.linear(taken.flatten(2), of_taken) + F.linear(last.flatten(2), of_last)
        # the joint action without the agent's own
        own = th.einsum("btna,hna->btnh", taken, of_taken.view(-1, self.n_agents, self.n_actions))
        return F.linear(obs, of_obs) - own + shared.unsqueeze(2) + of_id.t()

    def _build_inputs(self, batch, t: int | None = None) -> th.Tensor:
        steps = slice(None) if t is None else slice(t, t + 1)
        taken, last = _taken_and_last(batch["actions_onehot"], t)
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
        return th.cat(inputs, dim=-1)

    def _get_input_shape(self, scheme) -> int:
        state_and_obs = int(np.prod(scheme["state"]["vshape"])) + int(np.prod(scheme["obs"]["vshape"]))
        actions = scheme["actions_onehot"]["vshape"][0] * self.n_agents
        return state_and_obs + 2 * actions + self.n_agents


def _taken_and_last(onehot: th.Tensor, t: int | None) -> tuple[th.Tensor, th.Tensor]:
    """One-hot actions `[B, T, n, A]` of all steps, or of step `t`, and those of the steps before."""
    if t is None:
        return onehot, th.cat([th.zeros_like(onehot[:, :1]), onehot[:, :-1]], dim=1)
    taken = onehot[:, t : t + 1]
    return taken, onehot[:, t - 1 : t] if t > 0 else th.zeros_like(taken)
