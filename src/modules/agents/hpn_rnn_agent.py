"""Hypernetworks that make each entity's weights from its features (HPN, Hao et al. 2023)."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.agents.seen_entities import SeenEntities
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
        self.seen = seen = SeenEntities("hpn_rnn", input_shape, args)
        size, heads = args.rnn_hidden_dim, args.hpn_head_num
        self.fc1_own = nn.Linear(seen.own, size)
        for kind, features in seen.features.items():
            weights = features * size + (kind in seen.targeted) * (size + 1)
            layers = nn.Linear(features, args.hpn_hyper_dim), nn.ReLU(), nn.Linear(args.hpn_hyper_dim, weights * heads)
            self.add_module(_named("hyper", kind), nn.Sequential(*layers))
        if heads > 1:
            self.input_heads = nn.Linear(heads, size, bias=False)
            for kind in seen.targeted:
                self.add_module(_named("output_heads", kind), nn.Linear(heads, 1, bias=False))
        self.rnn = nn.GRUCell(size, size)
        self.fc2 = nn.Linear(size, seen.fixed)
        self.initialise()

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
        own, entities = self.seen.split(inputs)
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
        values = []
        for kind, of_targets in zip(targeted, targets, strict=True):
            query, constant = linear(hidden, *self._output_weights(kind)).split([width, 1], 1)
            values.append((of_targets.unflatten(1, (-1, width)) @ query.unsqueeze(2)).squeeze(2) + constant)
        return self.seen.outputs(self.fc2(hidden), values), hidden

    def _hyper(self, kind: str) -> Any:
        return getattr(self, _named("hyper", kind))

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

    def _output_weights(self, kind: str) -> tuple[th.Tensor, th.Tensor]:
        """Those of the layer that gives, of the cell, what h(x) and 1 are multiplied with: `[K + 1, H]`, `[K + 1]`."""
        size, heads, layer = self.args.rnn_hidden_dim, self.args.hpn_head_num, self._hyper(kind)[2]
        count = (size + 1) * heads
        # of each unit, then of the bias b(x): by head
        weight = layer.weight[..., -count:, :].unflatten(-2, (size + 1, heads))
        bias = layer.bias[..., -count:].unflatten(-1, (size + 1, heads))
        if heads == 1:
            weight, bias = weight.squeeze(-2), bias.squeeze(-1)
        else:
            share = getattr(self, _named("output_heads", kind)).weight.softmax(-1)  # [1, heads]
            weight, bias = (weight * share.unsqueeze(-1)).sum(-2), (bias * share).sum(-1)
        # [H + 1, K + 1]
        together = th.cat([weight, bias.unsqueeze(-1)], -1)
        return together[..., :size, :].mT, together[..., size, :]


def _named(part: str, kind: str) -> str:
    """The name of a part of the network; a module's has no dot."""
    return f"{part}_{kind}".replace(".", "_")
