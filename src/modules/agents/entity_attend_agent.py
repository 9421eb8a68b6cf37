"""Attention of an agent to the entities that it sees, and a GRU cell (REFIL, Iqbal et al. 2021)."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.targets_by_keys import TargetsByKeys
from modules.attention import EntityAttention, KindEmbedding
from modules.seen_entities import SeenEntities, named
from utils.config.merging import with_defaults


class EntityAttendAgent(TargetsByKeys):
    """Itself and the entities that it sees, of any number -> attention -> GRU cell -> outputs.

    Outputs are those of `TargetsByKeys`; the authors, whose number of actions is fixed, have outputs of the cell only.
    An entity that is not seen has a key of zeros. D = `attn_embed_dim`, H = `rnn_hidden_dim`.

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: as `SeenEntities` and `EntityAttention`.
    """

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        seen = SeenEntities("agent=entity_attend_rnn", input_shape, args, masked=True)
        size = args.attn_embed_dim
        super().__init__(args, seen, size)
        self.fc1_own = nn.Linear(seen.own, size)
        self.fc1 = KindEmbedding(seen.features, size)
        self.attention = EntityAttention(size, args.attn_heads)
        self.add_outputs(size)
        for kind in seen.targeted:
            self.add_module(named("key", kind), nn.Linear(size, size, bias=False))

    def encode(self, inputs: Any) -> th.Tensor:
        """Of P agents, what enters the cell, and the keys of targets, `[P, H + targets * D]`.

        `inputs.kept`: what they look at, of themselves and of the entities that they see, bool `[P, 1 + entities]`; or
        None, at all.
        """
        own, entities = self.seen.split(inputs.observations, inputs.others)
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
