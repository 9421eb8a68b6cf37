"""What an agent sees of entities of any number, pooled (deep sets; PointNet, Qi et al. 2017), and a GRU cell."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn.functional as F

from modules.agents import REGISTRY
from modules.agents.targets_by_keys import TargetsByKeys
from modules.pooling import EntityPooling
from modules.seen_entities import SeenEntities
from utils.config.merging import with_defaults


class PooledAgent(TargetsByKeys):
    """Its own numbers and the pooled entities that it sees -> linear layer -> GRU cell -> outputs.

    Neither the order of entities matters nor rows that are empty, and weights fit any number of them. See
    `EntityPooling`, `TargetsByKeys`; K = `pool_dim`, D = `key_dim`, H = `rnn_hidden_dim`.

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: as `SeenEntities`.
    """

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        seen = SeenEntities("agent=pooled_rnn", input_shape, args, masked=True)
        super().__init__(args, seen, args.key_dim)
        self.pool = EntityPooling(seen.features, args.pool_dim, seen.targeted, args.key_dim)
        self.add_outputs(seen.own + self.pool.outputs)

    def encode(self, inputs: Any) -> th.Tensor:
        """Of P agents, what enters the cell, and the keys of targets, `[P, H + targets * D]`."""
        own, entities = self.seen.split(inputs.observations, inputs.others)
        pooled, keys = self.pool(entities, self.seen.there(own, entities)[:, 1:])
        of_targets = (keys[kind] for kind in self.seen.targeted)
        return th.cat([F.relu(self.fc2(th.cat([own, pooled], 1))), *of_targets], 1)
