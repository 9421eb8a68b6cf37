"""Deep sets (Zaheer et al. 2017) of what an agent sees: a sum over entities, each through a layer of its kind."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.agents.made_outputs import output_layer, values_of_targets
from modules.agents.pymarl3_names import embeddings_as_columns, rename
from modules.seen_entities import SeenEntities, named
from utils.config.merging import with_defaults


class DeepSetAgent(Agent):
    """ReLU(own + sum over entities of W_kind x) -> GRU cell -> outputs; the order of entities does not matter.

    One linear layer gives all outputs, so that an action keeps its value when its target changes place. With
    `target_weights`, the weights of actions with targets are made of the target's features instead, by a hypernetwork
    of `hpn_hyper_dim` hidden units for each kind (PyMARL3's "deepset_hyper", as HPN's outputs).

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: as `SeenEntities`.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.seen = seen = SeenEntities("agent=deepset_rnn", input_shape, args)
        size, width = args.rnn_hidden_dim, args.hpn_hyper_dim
        self.fc1_own = nn.Linear(seen.own, size)
        for kind, features in seen.features.items():
            self.add_module(named("fc1", kind), nn.Linear(features, size, bias=False))
        self.rnn = nn.GRUCell(size, size)
        self.fc2 = nn.Linear(size, seen.fixed if args.target_weights else args.n_actions)
        self.targeted = seen.targeted if args.target_weights else []
        for kind in self.targeted:
            layers = nn.Linear(seen.features[kind], width), nn.ReLU(), nn.Linear(width, size + 1)
            self.add_module(named("hyper", kind), nn.Sequential(*layers))
        self.register_load_state_dict_pre_hook(_from_pymarl3)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]`."""
        return self.fc2.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """Of P agents, what enters the cell, and h(x) of each target, `[P, H + targets * K]`."""
        own, entities = self.seen.split(inputs.observations, inputs.others)
        # of the sum, in place of the sum of the layer's outputs
        of_kinds = (getattr(self, named("fc1", kind))(x.sum(0)) for kind, x in entities.items())
        embedded = sum(of_kinds, self.fc1_own(own))
        targets = (F.relu(self._hyper(kind)[0](entities[kind])) for kind in self.targeted)
        return th.cat([F.relu(embedded), *(x.transpose(0, 1).flatten(1) for x in targets)], 1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, H]`."""
        size, width = self.args.rnn_hidden_dim, self.args.hpn_hyper_dim
        x, *targets = encoded.split([size, *(self.seen.rows[kind] * width for kind in self.targeted)], 1)
        hidden = gru_sequence(self.rnn, x.contiguous(), sizes, hidden_state.reshape(-1, size))
        outputs = self.fc2(hidden)
        if self.args.target_weights:
            layers = (output_layer(layer.weight, layer.bias) for layer in (self._hyper(k)[2] for k in self.targeted))
            values = [values_of_targets(hidden, *of_kind) for of_kind in zip(targets, layers, strict=True)]
            outputs = self.seen.outputs(outputs, values)
        return outputs, hidden

    def _hyper(self, kind: str) -> Any:
        return getattr(self, named("hyper", kind))


def _from_pymarl3(network: DeepSetAgent, state: dict[str, th.Tensor], prefix: str, *_others: Any) -> None:
    """Weights by the names that PyMARL3 has for them."""
    embeddings_as_columns(state, prefix)
    rename(state, prefix, {"fc2_normal_actions.": "fc2.", "hyper_fc2_w_and_b_attack_actions.": "hyper_enemy."})
