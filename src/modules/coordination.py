"""Coordination graphs of a team: utilities, payoffs of pairs, and the best joint action (DCG, Boehmer et al. 2020)."""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import torch as th
import torch.nn as nn

from utils.errors import ConfigError
from utils.plain_values import quoted


class Graph(NamedTuple):
    """Values of joint actions of n agents with A actions each, on E edges.

    Attributes:
        utilities: of each agent's actions, `[..., n, A]`.
        payoffs: of each edge's pairs of actions, `[..., E, A, A]`.
        start, end: the agents of each edge, int64 `[E]`.
    """

    utilities: th.Tensor
    payoffs: th.Tensor
    start: th.Tensor
    end: th.Tensor


def edges_of(kind: str, n_agents: int, pairs: Sequence = ()) -> list[tuple[int, int]]:
    """The pairs of agents that have payoffs, by `cg_edges`; or `pairs`, if there are any.

    Raises:
        ConfigError: `pairs` are not pairs of different agents, each once.
    """
    if pairs:
        return _checked(pairs, n_agents)
    line = list(pairwise(range(n_agents)))
    return {
        "vdn": [],
        "line": line,
        # of two agents, a ring is a line
        "cycle": [*line, (n_agents - 1, 0)] if n_agents > 2 else line,
        "star": [(0, i) for i in range(1, n_agents)],
        "full": list(combinations(range(n_agents), 2)),
    }[kind]


def _checked(pairs: Sequence, n_agents: int) -> list[tuple[int, int]]:
    edges: list[tuple[int, int]] = []
    for pair in pairs:
        of_agents = isinstance(pair, list | tuple) and len(pair) == 2 and all(type(i) is int for i in pair)
        if not of_agents or pair[0] == pair[1] or not all(0 <= i < n_agents for i in pair):
            raise ConfigError(
                f"cg_pairs: {quoted(str(pair))} is no pair of two of the {n_agents} agents, whose numbers are 0 to "
                f"{n_agents - 1}. Example: cg_pairs=[[0, 1]]."
            )
        if tuple(pair) in edges or tuple(reversed(pair)) in edges:
            raise ConfigError(f"cg_pairs: the pair {list(pair)} is there twice. Name each once.")
        edges.append(tuple(pair))
    return edges


def edge_ends(edges: Sequence[tuple[int, int]]) -> tuple[th.Tensor, th.Tensor]:
    """The agents of each edge: where it starts and where it ends, int64 `[E]` each."""
    ends = th.tensor(edges, dtype=th.long).view(-1, 2)
    return ends[:, 0].contiguous(), ends[:, 1].contiguous()


def value_layers(inputs: int, hidden: int | None, outputs: int) -> nn.Sequential:
    """A network of utilities or payoffs: one linear layer, or two with a rectifier between them."""
    if hidden is None:
        return nn.Sequential(nn.Linear(inputs, outputs))
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def payoff_layers(width: int, n_actions: int, edges: int, args: Any) -> nn.Sequential:
    """The network of an edge's payoffs, by the memories `[2 * width]` of its agents; without edges an empty one.

    Args:
        args: `cg_payoffs_hidden_dim` and `cg_payoff_rank`.
    """
    if not edges:
        return nn.Sequential()
    rank = args.cg_payoff_rank
    return value_layers(2 * width, args.cg_payoffs_hidden_dim, 2 * rank * n_actions if rank else n_actions**2)


def graph_of(
    utilities: th.Tensor, memories: th.Tensor, network: nn.Module, start: th.Tensor, end: th.Tensor, rank: int | None
) -> Graph:
    """The graph of utilities `[..., n, A]` and of payoffs by memories `[..., n, H]` of both agents of an edge.

    A payoff is the mean of what `network` says of the two in either order. With a `rank`, it is
    the sum of so many outer products (section 4).
    """
    size = utilities.size(-1)
    if not len(start):
        return Graph(utilities, utilities.new_zeros(*utilities.shape[:-2], 0, size, size), start, end)

    def payoffs(*ends: th.Tensor) -> th.Tensor:
        x = network(th.cat(ends, dim=-1))
        if not rank:
            return x.unflatten(-1, (size, size))
        left, right = x.unflatten(-1, (-1, 2, size)).unbind(dim=-2)
        return left.transpose(-2, -1) @ right

    first, second = memories.index_select(-2, start), memories.index_select(-2, end)
    there_and_back = payoffs(first, second) + payoffs(second, first).transpose(-2, -1)
    return Graph(utilities, there_and_back / 2, start, end)


def joint_values(graph: Graph, actions: th.Tensor) -> th.Tensor:
    """The values of J joint actions `[..., J, n, 1]` of each graph, `[..., J]` (equation 4, algorithm 2).

    They are the mean of the agents' utilities plus the mean of the edges' payoffs.
    """
    number = graph.utilities.size(-1)
    utilities = graph.utilities.unsqueeze(-3).expand(*actions.shape[:-1], -1)
    values = utilities.gather(-1, actions).squeeze(-1).mean(dim=-1)
    if not len(graph.start):
        return values
    pairs = actions[..., graph.start, :] * number + actions[..., graph.end, :]
    payoffs = graph.payoffs.flatten(-2).unsqueeze(-3).expand(*pairs.shape[:-1], -1)
    return values + payoffs.gather(-1, pairs).squeeze(-1).mean(dim=-1)


def values_beside(graph: Graph, actions: th.Tensor) -> th.Tensor:
    """The values of each agent's own actions, `[..., n, A]`, where the others do those of `actions` `[..., n, 1]`."""
    own = graph.utilities / graph.utilities.size(-2)
    if edges := len(graph.start):
        size = own.size(-1)
        at_start, at_end = actions[..., graph.start, :].unsqueeze(-1), actions[..., graph.end, :].unsqueeze(-1)
        of_start = graph.payoffs.gather(-1, at_end.expand(*at_end.shape[:-2], size, 1)).squeeze(-1) / edges
        of_end = graph.payoffs.gather(-2, at_start.expand(*at_start.shape[:-1], size)).squeeze(-2) / edges
        own = own.index_add(-2, graph.start, of_start).index_add(-2, graph.end, of_end)
    together = joint_values(graph, actions.unsqueeze(-3)).unsqueeze(-1)
    return together + own - own.gather(-1, actions)


@th.no_grad()
def greedy_actions(graph: Graph, avail_actions: th.Tensor, args: Any) -> th.Tensor:
    """Joint actions of a large value among the legal ones, int64 `[..., n, 1]`, by max-sum (algorithm 3).

    In `msg_iterations` rounds each agent tells the others on its edges what it would gain with each of their actions.
    With `msg_anytime` the best joint action of all rounds is taken, else the last one. Where two are equally good,
    rounding decides.
    """
    start, end, edges = graph.start, graph.end, len(graph.start)
    # in double precision, as rounding adds up
    own = (graph.utilities.double() / graph.utilities.size(-2)).masked_fill(avail_actions == 0, -th.inf)
    payoffs = graph.payoffs.double() / max(edges, 1)
    gains, best = own, own.argmax(dim=-1, keepdim=True)
    if not edges:
        return best
    to_end, to_start = payoffs.new_zeros(2, *payoffs.shape[:-1]).unbind()
    value = gains.new_full((*gains.shape[:-2], 1), -th.inf)
    for _ in range(args.msg_iterations):
        from_start = (gains[..., start, :] - to_start).unsqueeze(-1) + payoffs
        from_end = (gains[..., end, :] - to_end).unsqueeze(-1) + payoffs.transpose(-2, -1)
        to_end, to_start = from_start.amax(dim=-2), from_end.amax(dim=-2)
        if args.msg_normalized:
            to_end = to_end - to_end.mean(dim=-1, keepdim=True)
            to_start = to_start - to_start.mean(dim=-1, keepdim=True)
        nothing = th.zeros_like(own)
        gains = own + (nothing.index_add(-2, end, to_end) + nothing.index_add(-2, start, to_start))
        actions = gains.argmax(dim=-1, keepdim=True)
        if not args.msg_anytime:
            best = actions
            continue
        found = joint_values(graph, actions.unsqueeze(-3))
        best = th.where((found > value).unsqueeze(-1), actions, best)
        value = th.maximum(value, found)
    return best
