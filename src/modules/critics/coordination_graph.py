"""Values of joint actions by a coordination graph (DCG, Boehmer et al. 2020)."""

from itertools import combinations, pairwise
from typing import Any, NamedTuple

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents.gru_sequence import gru_sequence
from modules.critics import REGISTRY
from modules.critics.team_inputs import TeamInputs
from modules.initialisation import RELU_GAIN, orthogonal
from modules.unshared import unshare
from utils.config.merging import with_defaults


class Graph(NamedTuple):
    """Utilities of each agent's actions `[..., n, A]`, and payoffs of each edge's pairs of actions `[..., E, A, A]`."""

    utilities: th.Tensor
    payoffs: th.Tensor


def edges_of(kind: str, n_agents: int) -> list[tuple[int, int]]:
    """The pairs of agents that have payoffs, by `cg_edges`."""
    line = list(pairwise(range(n_agents)))
    return {
        "vdn": [],
        "line": line,
        "cycle": [*line, (n_agents - 1, 0)],
        "star": [(0, i) for i in range(1, n_agents)],
        "full": list(combinations(range(n_agents), 2)),
    }[kind]


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
        self.n_agents, self.n_actions, width = args.n_agents, args.n_actions, args.critic_hidden_dim
        edges = th.tensor(edges_of(args.cg_edges, self.n_agents), dtype=th.long).view(-1, 2)
        self.register_buffer("start", edges[:, 0].contiguous(), persistent=False)
        self.register_buffer("end", edges[:, 1].contiguous(), persistent=False)
        self._inputs = TeamInputs(scheme, args, args.critic_agent_id)
        self.agents = nn.Module()
        self.agents.fc1 = nn.Linear(sum(self._inputs.sizes), width)
        self.agents.rnn = nn.GRUCell(width, width)
        self.utility_fun = _layers(width, args.cg_utilities_hidden_dim, self.n_actions)
        rank = args.cg_payoff_rank
        size = 2 * rank * self.n_actions if rank else self.n_actions**2
        self.payoff_fun = _layers(2 * width, args.cg_payoffs_hidden_dim, size) if len(edges) else nn.Sequential()
        if not args.share_critic_params:
            unshare(self.agents, self.n_agents, "")
            unshare(self.utility_fun, self.n_agents, "")
            unshare(self.payoff_fun, len(edges), "")
        if args.orthogonal_init:
            for part, gain in ((self.agents, RELU_GAIN), (self.utility_fun, 1.0), (self.payoff_fun, 1.0)):
                orthogonal(part, gain)

    def of_taken(self, batch) -> th.Tensor:
        """The values of the joint actions taken, `[B, T, 1]`."""
        return joint_values(self, self.graph(batch), batch["actions"].unsqueeze(2))

    def best_of_own(self, batch) -> th.Tensor:
        """The values of each agent's action taken with the others' best ones, `[B, T, n]`."""
        graph = self.graph(batch)
        best = self.greedy(graph, batch["avail_actions"]).unsqueeze(2)
        own = th.eye(self.n_agents, dtype=th.bool, device=best.device).unsqueeze(-1)
        return joint_values(self, graph, th.where(own, batch["actions"].unsqueeze(2), best))

    def graph(self, batch) -> Graph:
        """Of all steps of a batch of episodes, `[B, T, ...]`."""
        fc1: Any = self.agents.fc1
        x = F.relu(self._inputs.through(batch, fc1.weight.split(self._inputs.sizes, dim=-1), fc1.bias))
        size, length, _, width = x.shape
        rows = size * self.n_agents
        x = x.expand(-1, -1, self.n_agents, -1).transpose(0, 1).reshape(-1, width)
        hidden = gru_sequence(self.agents.rnn, x, [rows] * length, x.new_zeros(rows, width))
        hidden = hidden.unflatten(0, (length, size, self.n_agents)).transpose(0, 1)
        start, end = hidden[:, :, self.start], hidden[:, :, self.end]
        ahead, back = self._payoffs(th.cat([start, end], dim=-1)), self._payoffs(th.cat([end, start], dim=-1))
        return Graph(self.utility_fun(hidden), (ahead + back.transpose(-2, -1)) / 2)

    def _payoffs(self, pairs: th.Tensor) -> th.Tensor:
        """`[B, T, E, 2 H]` -> `[B, T, E, A, A]`."""
        size = self.n_actions
        if not len(self.start):
            return pairs.new_zeros(*pairs.shape[:3], size, size)
        x = self.payoff_fun(pairs)
        if not self.args.cg_payoff_rank:
            return x.unflatten(-1, (size, size))
        left, right = x.unflatten(-1, (-1, 2, size)).unbind(dim=-2)
        return left.transpose(-2, -1) @ right

    @th.no_grad()
    def greedy(self, graph: Graph, avail_actions: th.Tensor) -> th.Tensor:
        """Joint actions of a large value among the legal ones, int64 `[..., n, 1]`, by max-sum (algorithm 3).

        In `msg_iterations` rounds each agent tells the others on its edges what it would gain with each of their
        actions. With `msg_anytime` the best joint action of all rounds is taken, else the last one. Where two are
        equally good, rounding decides.
        """
        args, edges = self.args, len(self.start)
        # in double precision, as rounding adds up
        own = (graph.utilities.double() / self.n_agents).masked_fill(avail_actions == 0, -th.inf)
        payoffs = graph.payoffs.double() / max(edges, 1)
        gains, best = own, own.argmax(dim=-1, keepdim=True)
        if not edges:
            return best
        to_end, to_start = payoffs.new_zeros(2, *payoffs.shape[:-1]).unbind()
        value = gains.new_full((*gains.shape[:-2], 1), -th.inf)
        for _ in range(args.msg_iterations):
            from_start = (gains[..., self.start, :] - to_start).unsqueeze(-1) + payoffs
            from_end = (gains[..., self.end, :] - to_end).unsqueeze(-1) + payoffs.transpose(-2, -1)
            to_end, to_start = from_start.amax(dim=-2), from_end.amax(dim=-2)
            if args.msg_normalized:
                to_end = to_end - to_end.mean(dim=-1, keepdim=True)
                to_start = to_start - to_start.mean(dim=-1, keepdim=True)
            nothing = th.zeros_like(own)
            gains = own + (nothing.index_add(-2, self.end, to_end) + nothing.index_add(-2, self.start, to_start))
            actions = gains.argmax(dim=-1, keepdim=True)
            if not args.msg_anytime:
                best = actions
                continue
            found = joint_values(self, graph, actions.unsqueeze(-3))
            best = th.where((found > value).unsqueeze(-1), actions, best)
            value = th.maximum(value, found)
        return best


def joint_values(critic: CoordinationGraph, graph: Graph, actions: th.Tensor) -> th.Tensor:
    """The values of J joint actions `[..., J, n, 1]` of each graph, `[..., J]` (algorithm 2)."""
    number, edges = critic.n_actions, len(critic.start)
    utilities = graph.utilities.unsqueeze(-3).expand(*actions.shape[:-1], -1)
    values = utilities.gather(-1, actions).squeeze(-1).mean(dim=-1)
    if not edges:
        return values
    pairs = actions[..., critic.start, :] * number + actions[..., critic.end, :]
    payoffs = graph.payoffs.flatten(-2).unsqueeze(-3).expand(*pairs.shape[:-1], -1)
    return values + payoffs.gather(-1, pairs).squeeze(-1).mean(dim=-1)


def _layers(inputs: int, hidden: int | None, outputs: int) -> nn.Sequential:
    """One linear layer, or two with a rectifier between them."""
    if hidden is None:
        return nn.Sequential(nn.Linear(inputs, outputs))
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
