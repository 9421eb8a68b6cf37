"""Values of joint actions by a coordination graph (DCG, Boehmer et al. 2020)."""

from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents.gru_sequence import gru_sequence
from modules.coordination import (
    Graph,
    edge_ends,
    edges_of,
    graph_of,
    greedy_actions,
    joint_values,
    payoff_layers,
    value_layers,
)
from modules.critics import REGISTRY
from modules.critics.team_inputs import TeamInputs
from modules.initialisation import RELU_GAIN, orthogonal
from modules.unshared import unshare
from utils.config.merging import with_defaults


class CoordinationGraph(nn.Module):
    """Q(s, u): the mean of utilities f_i(u_i) plus the mean of payoffs f_ij(u_i, u_j) over the edges (eq. 4).

    Each agent has a GRU of `TeamInputs`, from whose memory a network makes its utilities, and that of each edge, from
    the memories of both of its agents, payoffs: an A x A matrix, or with `cg_payoff_rank` the sum of so many outer
    products. The weights are those of all, or without `share_critic_params` each agent's and each edge's.
    """

    start: th.Tensor
    end: th.Tensor

    def __init__(self, scheme, args):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents, n_actions, width = args.n_agents, args.n_actions, args.critic_hidden_dim
        edges = edges_of(args.cg_edges, self.n_agents, args.cg_pairs)
        for name, ends in zip(("start", "end"), edge_ends(edges), strict=True):
            self.register_buffer(name, ends, persistent=False)
        self._inputs = TeamInputs(scheme, args, args.critic_agent_id)
        self.agents = nn.Module()
        self.agents.fc1 = nn.Linear(sum(self._inputs.sizes), width)
        self.agents.rnn = nn.GRUCell(width, width)
        self.utility_fun = value_layers(width, args.cg_utilities_hidden_dim, n_actions)
        self.payoff_fun = payoff_layers(width, n_actions, len(edges), args)
        if not args.share_critic_params:
            unshare(self.agents, self.n_agents, "")
            unshare(self.utility_fun, self.n_agents, "")
            unshare(self.payoff_fun, len(edges), "")
        if args.orthogonal_init:
            for part, gain in ((self.agents, RELU_GAIN), (self.utility_fun, 1.0), (self.payoff_fun, 1.0)):
                orthogonal(part, gain)

    def of_taken(self, batch) -> th.Tensor:
        """The values of the joint actions taken, `[B, T, 1]`."""
        return joint_values(self.graph(batch), batch["actions"].unsqueeze(2))

    def best_of_own(self, batch) -> th.Tensor:
        """The values of each agent's action taken with the others' best ones, `[B, T, n]`."""
        graph = self.graph(batch)
        best = greedy_actions(graph, batch["avail_actions"], self.args).unsqueeze(2)
        own = th.eye(self.n_agents, dtype=th.bool, device=best.device).unsqueeze(-1)
        return joint_values(graph, th.where(own, batch["actions"].unsqueeze(2), best))

    def graph(self, batch) -> Graph:
        """Of all steps of a batch of episodes, `[B, T, ...]`."""
        fc1: Any = self.agents.fc1
        x = F.relu(self._inputs.through(batch, fc1.weight.split(self._inputs.sizes, dim=-1), fc1.bias))
        size, length, _, width = x.shape
        rows = size * self.n_agents
        x = x.expand(-1, -1, self.n_agents, -1).transpose(0, 1).reshape(-1, width)
        hidden = gru_sequence(self.agents.rnn, x, [rows] * length, x.new_zeros(rows, width))
        hidden = hidden.unflatten(0, (length, size, self.n_agents)).transpose(0, 1)
        utilities = self.utility_fun(hidden)
        return graph_of(utilities, hidden, self.payoff_fun, self.start, self.end, self.args.cg_payoff_rank)
