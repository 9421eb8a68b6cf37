"""Action semantics networks (ASN, Wang et al. 2020): an action on an entity is valued by what the agent sees of it."""

from collections.abc import Mapping
from math import prod
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.agents.pymarl3_names import rename
from modules.seen_entities import SeenEntities, named
from utils.config.merging import with_defaults


class ASNAgent(Agent):
    """A memory e of all that the agent sees, and one of each entity that actions have as their target (section 4).

    Both are two linear layers and a GRU cell of D = `asn_hidden_size` units; entities of a kind share theirs. A linear
    layer gives the values of other actions from e; that of an action on entity i is the scalar product e . e_i. All
    that is seen enters one layer, so that e depends on the order of entities.

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: as `SeenEntities`.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.seen = seen = SeenEntities("agent=asn_rnn", input_shape, args)
        size = args.asn_hidden_size
        self._encoder("", sum(map(prod, input_shape.values())))
        for kind in seen.targeted:
            self._encoder(kind, seen.features[kind])
        self.fc3 = nn.Linear(size, seen.fixed)
        self.register_load_state_dict_pre_hook(_from_pymarl3)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, (1 + targets) * D]`."""
        memories = 1 + sum(self.seen.rows[kind] for kind in self.seen.targeted)
        return self.fc3.weight.new_zeros(1, memories * self.args.asn_hidden_size)

    def encode(self, inputs: Any) -> th.Tensor:
        """Of P agents, what enters the cells, `[P, (1 + targets) * D]`."""
        entities = self.seen.split(inputs.observations, inputs.others)[1] if self.seen.targeted else {}
        parts = [self._part("fc2", "")(F.relu(inputs.through(self._part("fc1", ""))))]
        for kind in self.seen.targeted:
            x = self._part("fc2", kind)(F.relu(self._part("fc1", kind)(entities[kind])))
            parts.append(x.transpose(0, 1).flatten(1))
        return th.cat(parts, 1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states, as `init_hidden`."""
        size, kinds = self.args.asn_hidden_size, ("", *self.seen.targeted)
        widths = [size, *(self.seen.rows[kind] * size for kind in self.seen.targeted)]
        parts = zip(
            kinds, encoded.split(widths, 1), hidden_state.reshape(-1, sum(widths)).split(widths, 1), strict=True
        )
        hidden, *of_kinds = states = [self._states(kind, x, sizes, before) for kind, x, before in parts]
        values = [(x.unflatten(1, (-1, size)) @ hidden.unsqueeze(2)).squeeze(2) for x in of_kinds]
        return self.seen.outputs(self.fc3(hidden), values), th.cat(states, 1)

    def _states(self, kind: str, x: th.Tensor, sizes: list[int], before: th.Tensor) -> th.Tensor:
        """After each step, the memories of a kind's entities as sequences of their own, `[P, rows * D]`."""
        cell, size = self._part("rnn", kind), self.args.asn_hidden_size
        rows = x.size(1) // size
        # weights of each agent's own are by the places of agents, which stay innermost
        agents = getattr(cell, "n_agents", 1)

        def apart(y: th.Tensor) -> th.Tensor:
            return y.reshape(-1, agents, rows, size).transpose(1, 2).reshape(-1, size)

        states = gru_sequence(cell, apart(x), [step * rows for step in sizes], apart(before))
        return states.view(-1, rows, agents, size).transpose(1, 2).reshape(-1, rows * size)

    def _encoder(self, kind: str, features: int) -> None:
        size = self.args.asn_hidden_size
        layers = {"fc1": nn.Linear(features, size), "fc2": nn.Linear(size, size), "rnn": nn.GRUCell(size, size)}
        for name, layer in layers.items():
            self.add_module(named(name, kind), layer)

    def _part(self, name: str, kind: str) -> Any:
        return getattr(self, named(name, kind))


def _from_pymarl3(network: ASNAgent, state: dict[str, th.Tensor], prefix: str, *_others: Any) -> None:
    """Weights by the names that PyMARL3 has for them."""
    of_whole = {f"env_info_{theirs}.": f"{ours}." for theirs, ours in THEIR_LAYERS}
    of_enemies = {f"enemies_info_{theirs}.": f"{ours}_enemy." for theirs, ours in THEIR_LAYERS}
    rename(state, prefix, {**of_whole, **of_enemies, "wo_action_fc.": "fc3."})


THEIR_LAYERS = ("fc1", "fc1"), ("fc2", "fc2"), ("rnn3", "rnn")
