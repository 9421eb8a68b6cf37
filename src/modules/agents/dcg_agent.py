"""The agents of a coordination graph (DCG, Boehmer et al. 2020)."""

from collections.abc import Mapping
from typing import Any

import torch as th

from modules.agents.rnn_agent import RNNAgent
from modules.coordination import Graph, edge_ends, edges_of, graph_of, greedy_actions, payoff_layers, value_layers
from utils.errors import ConfigError


class DCGAgent(RNNAgent):
    """`RNNAgent`, whose outputs are an agent's utilities f_i(u_i), with a network of payoffs f_ij(u_i, u_j) of pairs.

    Both see memories, `[..., n, H]`. The value of a joint action is the mean of utilities plus that of payoffs over the
    edges (eq. 4, `modules.coordination`).

    Raises:
        ConfigError: `cg_pairs` names other pairs than of the team's agents.
    """

    start: th.Tensor
    end: th.Tensor

    def __init__(self, input_shape: int, args: Any):
        super().__init__(input_shape, args)
        args = self.args
        edges = edges_of(args.cg_edges, args.n_agents, args.cg_pairs)
        for name, ends in zip(("start", "end"), edge_ends(edges), strict=True):
            self.register_buffer(name, ends, persistent=False)
        if args.cg_utilities_hidden_dim is not None:
            self.fc2 = value_layers(args.rnn_hidden_dim, args.cg_utilities_hidden_dim, args.n_actions)
        self.payoffs = payoff_layers(args.rnn_hidden_dim, args.n_actions, len(edges), args)

    def graph(self, utilities: th.Tensor, hidden: th.Tensor) -> Graph:
        """The graph of the outputs `[..., n, A]` and the memories `[..., n, H]` after a step."""
        hidden = self._normed(hidden)
        return graph_of(utilities, hidden, self.payoffs, self.start, self.end, self.args.cg_payoff_rank)

    def greedy(self, graph: Graph, avail_actions: th.Tensor) -> th.Tensor:
        """The best legal joint actions that messages find, int64 `[..., n, 1]`."""
        return greedy_actions(graph, avail_actions, self.args)


def check(config: Mapping[str, Any]) -> None:
    """Raises ConfigError: weights of each agent's own, while payoffs are those of pairs."""
    if not config["share_params"]:
        raise ConfigError("agent=dcg has payoffs of pairs of agents, by weights that all share. Use share_params=True.")
