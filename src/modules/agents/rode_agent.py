"""Agents that choose a role now and then, and act within its actions (RODE, Wang et al. 2021)."""

from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.action_effects import clusters
from modules.agents import REGISTRY
from modules.agents.agent import Agent, encoded_by
from modules.agents.gru_sequence import gru_sequence
from utils.config.merging import with_defaults

Memory = dict[str, th.Tensor]


class RODEAgent(Agent):
    """A role selector and the policies of R = `n_role_clusters` roles, each on a linear layer and a GRU cell.

    Actions are known by vectors of D = `action_latent_dim` numbers, z; a role by the mean of those of its actions. The
    value of role j is z_j . f(selector's memory), and that of action u in it z_u . f_j(agent's memory). The vectors are
    random and every role has all actions, until a learner calls `take_spaces`.

    Its memory has those of both cells, "hidden" and "role_hidden" `[N, H]`, the agent's "role" `[N, 1]`, and how many
    steps it has made, "step" `[N, 1]`: every `role_interval` steps the role becomes that with the largest value.
    """

    action_vectors: th.Tensor
    role_vectors: th.Tensor
    role_actions: th.Tensor
    has_spaces: th.Tensor

    def __init__(self, input_shape: int, args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        size, vector, roles = args.rnn_hidden_dim, args.action_latent_dim, args.n_role_clusters
        self.fc1, self.role_fc1 = nn.Linear(input_shape, size), nn.Linear(input_shape, size)
        self.rnn, self.role_rnn = nn.GRUCell(size, size), nn.GRUCell(size, size)
        self.role_fc2, self.selector = nn.Linear(size, size), nn.Linear(size, vector)
        self.policies = nn.Linear(size, roles * vector)
        self.register_buffer("action_vectors", th.randn(args.n_actions, vector))
        self.register_buffer("role_vectors", th.randn(roles, vector))
        self.register_buffer("role_actions", th.ones(roles, args.n_actions))
        self.register_buffer("has_spaces", th.zeros(1))

    def init_hidden(self) -> Memory:
        """Zeros, `[1, H]` and `[1, 1]`."""
        zeros, size = self.fc1.weight.new_zeros, self.args.rnn_hidden_dim
        return {"hidden": zeros(1, size), "role_hidden": zeros(1, size), "role": zeros(1, 1), "step": zeros(1, 1)}

    def encode(self, inputs: Any) -> th.Tensor:
        """The first layers' outputs, `[P, 2 H]`."""
        return encoded_by(inputs, self.fc1, self.role_fc1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: Memory) -> tuple[th.Tensor, Memory]:
        """Values `[P, A]` of all actions in roles that follow their values, and memories."""
        before = {key: x.reshape(-1, x.size(-1)) for key, x in hidden_state.items()}
        x, of_roles = F.relu(encoded).chunk(2, dim=1)
        hidden = gru_sequence(self.rnn, x.contiguous(), sizes, before["hidden"])
        role_hidden = gru_sequence(self.role_rnn, of_roles.contiguous(), sizes, before["role_hidden"])
        best = self.role_values(role_hidden).argmax(dim=-1, keepdim=True).to(hidden.dtype)
        role, step = before["role"], before["step"]
        roles, steps = [], []
        for choice in best.split(sizes):
            step = step[: len(choice)]
            role = th.where(step % self.args.role_interval == 0, choice, role[: len(choice)])
            step = step + 1
            roles.append(role)
            steps.append(step)
        memory = {"hidden": hidden, "role_hidden": role_hidden, "role": th.cat(roles), "step": th.cat(steps)}
        return self.values(hidden, memory["role"].long()), memory

    def role_values(self, role_hidden: th.Tensor) -> th.Tensor:
        """Of the roles by the selector's memory `[..., H]`: `[..., R]`."""
        return self.selector(F.relu(self.role_fc2(role_hidden))) @ self.role_vectors.T

    def values(self, hidden: th.Tensor, role: th.Tensor) -> th.Tensor:
        """Of all actions by the memory `[..., H]` in roles int64 `[..., 1]`: `[..., A]`."""
        keys = self.policies(hidden).unflatten(-1, (-1, self.args.action_latent_dim))
        of_role = keys.gather(-2, role.unsqueeze(-1).expand(*role.shape, keys.size(-1))).squeeze(-2)
        return of_role @ self.action_vectors.T

    def legal(self, avail_actions: th.Tensor, role: th.Tensor) -> th.Tensor:
        """The legal actions `[..., A]` of roles int64 `[..., 1]`; where a role has none, all legal ones."""
        allowed = avail_actions * self.role_actions[role.squeeze(-1)].to(avail_actions.dtype)
        return th.where(allowed.any(dim=-1, keepdim=True), allowed, avail_actions)

    @th.no_grad()
    def take_spaces(self, action_vectors: th.Tensor) -> None:
        """Know actions by these vectors `[A, D]`, and make roles of those that are near each other (k-means)."""
        roles = len(self.role_vectors)
        of_action = F.one_hot(clusters(action_vectors, roles), roles).to(action_vectors.dtype)
        number = of_action.sum(dim=0)
        # fewer actions than roles, or equal vectors: what is left over has all actions
        self.role_actions.copy_(th.where(number.unsqueeze(1) > 0, of_action.T, 1.0))
        self.action_vectors.copy_(action_vectors)
        self.role_vectors.copy_(self.role_actions @ action_vectors / self.role_actions.sum(dim=1, keepdim=True))
        self.has_spaces.fill_(1.0)
