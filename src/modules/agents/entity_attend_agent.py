"""Attention of an agent to the entities that it sees, and a GRU cell (REFIL, Iqbal et al. 2021)."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.agents.gru_sequence import gru_sequence
from modules.agents.seen_entities import SeenEntities, named
from modules.attention import EntityAttention, KindEmbedding
from utils.config.merging import with_defaults


class EntityAttendAgent(Agent):
    """Itself and the entities that it sees, of any number -> attention -> GRU cell -> outputs.

    Outputs without a target come from the cell. That of an action with a target is an output of the cell for targets of
    its kind, plus the product of a query of the cell with a key of the target, / sqrt(D). The authors, whose number of
    actions is fixed, have outputs of the cell only. An entity that is not seen has a key of zeros.

    D = `attn_embed_dim`, H = `rnn_hidden_dim`.

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: as `SeenEntities` and `EntityAttention`.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.seen = seen = SeenEntities("entity_attend_rnn", input_shape, args, masked=True)
        size, hidden = args.attn_embed_dim, args.rnn_hidden_dim
        self.fc1_own = nn.Linear(seen.own, size)
        self.fc1 = KindEmbedding(seen.features, size)
        self.attention = EntityAttention(size, args.attn_heads)
        self.fc2 = nn.Linear(size, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc3 = nn.Linear(hidden, seen.fixed + len(seen.targeted))
        for kind in seen.targeted:
            self.add_module(named("query", kind), nn.Linear(hidden, size, bias=False))
            self.add_module(named("key", kind), nn.Linear(size, size, bias=False))

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, H]`."""
        return self.fc3.weight.new_zeros(1, self.args.rnn_hidden_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """Of P agents, what enters the cell, and the keys of targets, `[P, H + targets * D]`.

        `inputs.kept`: what they look at, of themselves and of the entities that they see, bool `[P, 1 + entities]`; or
        None, at all.
        """
        own, entities = self.seen.split(inputs)
        allowed = self.seen.there(own, entities)
        if inputs.kept is not None:
            allowed = allowed & inputs.kept
        me = self.fc1_own(own).unsqueeze(0)
        tokens = F.relu(th.cat([me, *self.fc1(entities)]))
        found = self.attention(tokens[:1], tokens, allowed.unsqueeze(1)).squeeze(0)
        of_kinds = (tokens * allowed.T.unsqueeze(2))[1:].split(list(self.seen.rows.values()))
        by_kind = dict(zip(self.seen.rows, of_kinds, strict=True))
        keys = [getattr(self, named("key", kind))(by_kind[kind]) for kind in self.seen.targeted]
        return th.cat([F.relu(self.fc2(found)), *(x.transpose(0, 1).flatten(1) for x in keys)], 1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, H]`."""
        size, width, targeted = self.args.rnn_hidden_dim, self.args.attn_embed_dim, self.seen.targeted
        x, *keys = encoded.split([size, *(self.seen.rows[kind] * width for kind in targeted)], 1)
        hidden = gru_sequence(self.rnn, x.contiguous(), sizes, hidden_state.reshape(-1, size))
        fixed, *of_kinds = self.fc3(hidden).split([self.seen.fixed, *[1] * len(targeted)], 1)
        values = []
        for kind, key, base in zip(targeted, keys, of_kinds, strict=True):
            query = getattr(self, named("query", kind))(hidden)
            products = (key.unflatten(1, (-1, width)) * query.unsqueeze(1)).sum(2)
            values.append(base + products / width**0.5)
        return self.seen.outputs(fixed, values), hidden
