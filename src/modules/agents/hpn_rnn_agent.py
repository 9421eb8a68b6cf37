"""Hypernetworks that make each entity's weights from its features (HPN, Hao et al. 2023)."""

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
from modules.unshared import linear
from utils.config.merging import with_defaults


class HPNAgent(Agent):
    """What an agent sees, whatever the order of its entities -> GRU cell -> outputs, those for targets in their order.

    Entity x of F features gets the weights W(x) = V_in h(x) + c_in, [F, H], of a hypernetwork with K hidden units
    h(x) = ReLU(U x + u); the agent's own numbers enter a linear layer. With their sum, the cell has (section 4.1)

        ReLU(own + sum over entities of x W(x)),

    and the action that has entity x as its target the value w(x) . cell + b(x), by weights of the same hypernetwork
    (section 4.2). Neither W(x) nor w(x) is computed: the sum is linear in the sum of the products x h(x), [F, K], and
    the value in h(x), which are of one agent and of one entity each.

    `hpn_head_num` hypernetworks a kind are merged by a softmax of weights. H = `rnn_hidden_dim`, K = `hpn_hyper_dim`.

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: as `SeenEntities`.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.seen = seen = SeenEntities("agent=hpn_rnn", input_shape, args)
        size, heads = args.rnn_hidden_dim, args.hpn_head_num
        self.fc1_own = nn.Linear(seen.own, size)
        for kind, features in seen.features.items():
            weights = features * size + (kind in seen.targeted) * (size + 1)
            layers = nn.Linear(features, args.hpn_hyper_dim), nn.ReLU(), nn.Linear(args.hpn_hyper_dim, weights * heads)
            self.add_module(named("hyper", kind), nn.Sequential(*layers))
        if heads > 1:
            self.input_heads = nn.Linear(heads, size, bias=False)
            for kind in seen.targeted:
                self.add_module(named("output_heads", kind), nn.Linear(heads, 1, bias=False))
        self.rnn = nn.GRUCell(size, size)
        self.fc2 = nn.Linear(size, seen.fixed)
        self.initialise()
        self.register_load_state_dict_pre_hook(_from_pymarl3)

    def initialise(self) -> None:
        """Heads count the same at first."""
        for name, weight in self.named_parameters():
            if "heads" in name:
                nn.init.ones_(weight)

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]`."""
        return self.fc2.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """Of P agents, what enters the cell, and h(x) of each target, `[P, H + targets * K]`."""
        own, entities = self.seen.split(inputs.observations, inputs.others)
        embedded, targets = self.fc1_own(own), []
        for kind, x in entities.items():
            hidden = F.relu(self._hyper(kind)[0](x))
            products = th.einsum("epf,epk->pfk", x, hidden).flatten(1)
            embedded = embedded + linear(th.cat([products, x.sum(0)], 1), self._input_weights(kind))
            if kind in self.seen.targeted:
                targets.append(hidden.transpose(0, 1).flatten(1))
        return th.cat([F.relu(embedded), *targets], 1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, H]`."""
        size, width = self.args.rnn_hidden_dim, self.args.hpn_hyper_dim
        targeted = self.seen.targeted
        x, *targets = encoded.split([size, *(self.seen.rows[kind] * width for kind in targeted)], 1)
        hidden = gru_sequence(self.rnn, x.contiguous(), sizes, hidden_state.reshape(-1, size))
        layers = map(self._output_layer, targeted)
        values = [values_of_targets(hidden, *of_kind) for of_kind in zip(targets, layers, strict=True)]
        return self.seen.outputs(self.fc2(hidden), values), hidden

    def _hyper(self, kind: str) -> Any:
        return getattr(self, named("hyper", kind))

    def _input_weights(self, kind: str) -> th.Tensor:
        """Those of the layer that takes the products and the sum of the features, `[H, F * K + F]`."""
        features, size, heads = self.seen.features[kind], self.args.rnn_hidden_dim, self.args.hpn_head_num
        count, layer = features * size * heads, self._hyper(kind)[2]
        # by feature, head and unit
        weight = layer.weight[..., :count, :].unflatten(-2, (features, heads, size))
        bias = layer.bias[..., :count].unflatten(-1, (features, heads, size))
        if heads == 1:
            weight, bias = weight.squeeze(-3), bias.squeeze(-2)
        else:
            share = self.input_heads.weight.softmax(-1).mT.unsqueeze(-3)  # [1, heads, H]
            weight, bias = (weight * share.unsqueeze(-1)).sum(-3), (bias * share).sum(-2)
        # [F, H, K] and [F, H]
        return th.cat([weight.transpose(-3, -2).flatten(-2), bias.mT], -1)

    def _output_layer(self, kind: str) -> tuple[th.Tensor, th.Tensor]:
        """`output_layer` of the merged heads."""
        size, heads, layer = self.args.rnn_hidden_dim, self.args.hpn_head_num, self._hyper(kind)[2]
        count = (size + 1) * heads
        # of each unit, then of the bias b(x): by head
        weight = layer.weight[..., -count:, :].unflatten(-2, (size + 1, heads))
        bias = layer.bias[..., -count:].unflatten(-1, (size + 1, heads))
        if heads == 1:
            weight, bias = weight.squeeze(-2), bias.squeeze(-1)
        else:
            share = getattr(self, named("output_heads", kind)).weight.softmax(-1)  # [1, heads]
            weight, bias = (weight * share.unsqueeze(-1)).sum(-2), (bias * share).sum(-1)
        return output_layer(weight, bias)


def _from_pymarl3(network: HPNAgent, state: dict[str, th.Tensor], prefix: str, *_others: Any) -> None:
    """Weights by the names that PyMARL3 has for them."""
    embeddings_as_columns(state, prefix)
    rename(state, prefix, {"fc2_normal_actions.": "fc2."})
    for theirs, ours in THEIR_HEADS.items():
        weight = state.pop(f"{prefix}{theirs}.weight", None)
        if weight is not None:
            state[f"{prefix}{ours}.weight"] = weight[0].t()


# of [1, heads, outputs]
THEIR_HEADS = {
    "unify_input_heads": "input_heads",
    "unify_output_heads": "output_heads_enemy",
    "unify_output_heads_rescue": "output_heads_ally",
}
