"""A transformer over entities, whose memory is a token that actions come from (TransfQMIX, Gallici et al. 2023)."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn

from modules.agents import REGISTRY
from modules.agents.agent import Agent
from modules.attention import Block, KindEmbedding
from modules.seen_entities import SeenEntities, named
from utils.config.merging import with_defaults


class TransfAgent(Agent):
    """Tokens of the agent's memory, of itself and of the entities that it sees -> transformer -> outputs and memory.

    What becomes of the memory's token is the next memory, and gives outputs without a target; that of an action with a
    target comes from the target's token (section 3.2). Nobody attends to entities that are not seen. A layer for each
    kind of entity stands for one layer of features of a common length. D = `transformer_embed_dim`.

    Args:
        input_shape: of each part of the inputs, by name.

    Raises:
        ConfigError: as `SeenEntities`.
    """

    takes_parts = True

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.seen = seen = SeenEntities("agent=transf", input_shape, args, masked=True)
        size = args.transformer_embed_dim
        self.own_embedding = nn.Linear(seen.own, size)
        self.embedding = KindEmbedding(seen.features, size)
        self.blocks = nn.ModuleList(Block(size, args.transformer_heads) for _ in range(args.transformer_depth))
        self.q_basic = nn.Linear(size, seen.fixed)
        for kind in seen.targeted:
            self.add_module(named("q_target", kind), nn.Linear(size, 1))

    def init_hidden(self) -> th.Tensor:
        """Zeros `[1, D]`."""
        return self.q_basic.weight.new_zeros(1, self.args.transformer_embed_dim)

    def encode(self, inputs: Any) -> th.Tensor:
        """The tokens of P agents but that of their memory, then who is seen, `[P, (1 + entities) (D + 1)]`."""
        own, entities = self.seen.split(inputs.observations, inputs.others)
        tokens = th.cat([self.own_embedding(own).unsqueeze(0), *self.embedding(entities)])
        return th.cat([tokens.transpose(0, 1).flatten(1), self.seen.there(own, entities).to(tokens.dtype)], 1)

    def sequence(self, encoded: th.Tensor, sizes: list[int], hidden_state: th.Tensor) -> tuple[th.Tensor, th.Tensor]:
        """Outputs `[P, A]` and hidden states `[P, D]`; attention makes each memory, so steps follow one another."""
        size, count = self.args.transformer_embed_dim, 1 + sum(self.seen.rows.values())
        hidden, became = hidden_state.reshape(-1, size), []
        for step in encoded.split(sizes):
            tokens, there = step.split([count * size, count], 1)
            shown = th.cat([there.new_ones(len(there), 1), there], 1) > 0
            x = th.cat([hidden[: len(step)].unsqueeze(0), tokens.unflatten(1, (count, size)).transpose(0, 1)])
            for block in self.blocks:
                x = block(x, shown)
            hidden = x[0]
            became.append(x)
        memory, _, *of_kinds = th.cat(became, 1).split([1, 1, *self.seen.rows.values()])
        by_kind = dict(zip(self.seen.rows, of_kinds, strict=True))
        values = [getattr(self, named("q_target", kind))(by_kind[kind]).squeeze(2).T for kind in self.seen.targeted]
        return self.seen.outputs(self.q_basic(memory.squeeze(0)), values), memory.squeeze(0)
