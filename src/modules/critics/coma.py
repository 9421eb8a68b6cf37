"""COMA's centralised critic (Foerster et al. 2018, section 4)."""

import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F


class COMACritic(nn.Module):
    """Q(s, (u_-a, .)): for each agent the values of all its actions, the others' actions given.

    Inputs: state, own observation, all current actions with the own one zeroed, all last actions, agent id.
    """

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
        inputs = self._build_inputs(batch, t=t)
        x = F.relu(self.fc1(inputs))
        x = F.relu(self.fc2(x))
        return self.fc3(x)

    def _build_inputs(self, batch, t: int | None = None) -> th.Tensor:
        steps = slice(None) if t is None else slice(t, t + 1)
        onehot = batch["actions_onehot"]
        taken = onehot[:, steps]
        batch_size, length = taken.shape[:2]
        if t is None:
            last = th.cat([th.zeros_like(onehot[:, :1]), onehot[:, :-1]], dim=1)
        else:
            last = onehot[:, t - 1 : t] if t > 0 else th.zeros_like(taken)

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
