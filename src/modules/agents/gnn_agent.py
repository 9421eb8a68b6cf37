"""A graph network over what an agent sees: messages between the agent itself and all entities (as in PyMARL3)."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.agents.pymarl3_names import embeddings_as_columns, rename
from modules.seen_entities import SeenEntities, named
from utils.config.merging import with_defaults


class GNNAgent(Agent):
    """Nodes of the agent itself and of all entities -> `gnn_layer_num` graph layers -> mean -> GRU cell -> outputs.

    The order of entities does not matter. One linear layer gives all outputs, so that an action keeps its value when
    its target changes place.

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: as `SeenEntities`.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.seen = seen = SeenEntities("agent=gnn_rnn", input_shape, args)
        size = args.rnn_hidden_dim
        self.fc1_own = nn.Linear(seen.own, size)
        for kind, features in seen.features.items():
            self.add_module(named("fc1", kind), nn.Linear(features, size, bias=False))
        self.layers = nn.ModuleList(GraphLayer(size) for _ in range(args.gnn_layer_num))
        self.rnn = nn.GRUCell(size, size)
        self.fc2 = nn.Linear(size, args.n_actions)
        self.register_load_state_dict_pre_hook(_from_pymarl3)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]`."""
        return self.fc2.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """Of P agents, what enters the cell, `[P, H]`."""
        own, entities = self.seen.split(inputs.observations, inputs.others)
        nodes = [getattr(self, named("fc1", kind))(x) for kind, x in entities.items()]
        x = F.relu(th.cat([self.fc1_own(own).unsqueeze(0), *nodes]))
        for layer in self.layers:
            x = layer(x)
        return x.mean(0)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, H]`."""
        hidden = gru_sequence(self.rnn, encoded, sizes, hidden_state.reshape(-1, self.args.rnn_hidden_dim))
        return self.fc2(hidden), hidden


class GraphLayer(nn.Module):
    """(ReLU(W x_i) + ReLU(sum over j other than i of V x_j)) / N of each of N nodes `[N, P, H]`."""

    def __init__(self, size: int):
        super().__init__()
        self.itself, self.neighbour = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x: th.Tensor) -> th.Tensor:
        messages = self.neighbour(x)
        return (F.relu(self.itself(x)) + F.relu(messages.sum(0) - messages)) / len(x)


def _from_pymarl3(network: GNNAgent, state: dict[str, th.Tensor], prefix: str, *_others: Any) -> None:
    """Weights by the names that PyMARL3 has for them; its graph is complete."""
    embeddings_as_columns(state, prefix)
    state.pop(f"{prefix}gnn.adj", None)
    names: dict[str, str] = {}
    for i in range(len(network.layers)):
        names |= {f"gnn.gnn_layers.{i}.lin_layer_{theirs}.": f"layers.{i}.{ours}." for theirs, ours in THEIR_LAYERS}
    rename(state, prefix, names)


THEIR_LAYERS = ("self", "itself"), ("neighbor", "neighbour")
