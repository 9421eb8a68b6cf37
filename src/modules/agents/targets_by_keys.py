"""Outputs for any number of targets: products of a query of the agent's memory with a key of each."""

from typing import Any

import torch as th
import torch.nn as nn

from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.seen_entities import SeenEntities, named


class TargetsByKeys(Agent):
    """A linear layer -> GRU cell -> outputs; what comes before it, and the keys, `encode` of a subclass makes.

    Outputs without a target come from the cell. That of an action with a target is an output of the cell for targets of
    its kind, plus the product of a query of the cell with the target's key, / sqrt(D).

    Args:
        args: `rnn_hidden_dim`, H.
        seen: the entities that it sees.
        keys: D, numbers of a key.
    """

    takes_parts = True

    def __init__(self, args: Any, seen: SeenEntities, keys: int):
        super().__init__()
        self.args, self.seen, self._keys = args, seen, keys

    def add_outputs(self, inputs: int) -> None:
        """Build the layers behind `encode`, the first of which, `fc2`, takes so many inputs."""
        seen, hidden = self.seen, self.args.rnn_hidden_dim
        self.fc2 = nn.Linear(inputs, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc3 = nn.Linear(hidden, seen.fixed + len(seen.targeted))
        for kind in seen.targeted:
            self.add_module(named("query", kind), nn.Linear(hidden, self._keys, bias=False))

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]`."""
        return self.fc3.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, H]`, of what `encode` returns, `[P, H + targets * D]`."""
        size, width, targeted = self.args.rnn_hidden_dim, self._keys, self.seen.targeted
        x, *keys = encoded.split([size, *(self.seen.rows[kind] * width for kind in targeted)], 1)
        hidden = gru_sequence(self.rnn, x.contiguous(), sizes, hidden_state.reshape(-1, size))
        fixed, *of_kinds = self.fc3(hidden).split([self.seen.fixed, *[1] * len(targeted)], 1)
        values = []
        for kind, key, base in zip(targeted, keys, of_kinds, strict=True):
            query = getattr(self, named("query", kind))(hidden)
            products = (key.unflatten(1, (-1, width)) * query.unsqueeze(1)).sum(2)
            values.append(base + products / width**0.5)
        return self.seen.outputs(fixed, values), hidden
