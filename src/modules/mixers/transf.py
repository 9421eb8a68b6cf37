"""A transformer that makes QMIX's weights of the state's entities and of the agents' memories (TransfQMIX, Gallici
et al. 2023)."""

from typing import Any

import torch as th
import torch.nn as nn

from modules.attention import Block, KindEmbedding
from modules.mixers import REGISTRY
from modules.mixers.qmix import monotonic_mix, positive
from modules.state_entities import StateEntities
from utils.config.merging import with_defaults


class TransfMixer(nn.Module):
    """Q_tot = elu(Q W1 + b1) w2 + b2, whose weights are tokens behind a transformer (section 3.3).

    Tokens are the state's entities, the agents' memories, which become the rows of W1, and three that become b1, w2 and
    b2, and are handed on from step to step; they begin as zeros. Any number of agents and entities has the same
    weights. Nobody attends to entities that are not there, nor to memories of such agents, whose rows are 0.

    The authors' code differs in three points: their later blocks look at the tokens before the first block, b2 cannot
    be negative, and before the first step there are n tokens of zeros in place of three.

    D = `transformer_embed_dim`, that of the agents; E = entities.

    Raises:
        ConfigError: as `StateEntities`.
    """

    def __init__(self, args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents, self.size = args.n_agents, args.transformer_embed_dim
        self.entities = StateEntities("mixer=transf", args)
        self.embedding = KindEmbedding(self.entities.features, self.size)
        self.blocks = nn.ModuleList(Block(self.size, args.mixer_heads) for _ in range(args.mixer_depth))
        self.hyper_b2 = nn.Linear(self.size, 1)

    def forward(self, agent_qs: th.Tensor, states: th.Tensor, memory: th.Tensor) -> th.Tensor:
        """Values `[B, T, n]`, states `[B, T, S]` and memories `[B, T, n, D]` of whole episodes -> Q_tot `[B, T, 1]`."""
        n, shape = self.n_agents, states.shape[:2]
        entities, there = self.entities(states.flatten(0, 1))
        alive = there[:, :n]
        shown = th.cat([there, alive, there.new_ones(len(there), 3)], 1).unflatten(0, shape)
        known = th.cat([*self.embedding(entities), memory.flatten(0, 1).transpose(0, 1)]).unflatten(1, shape)
        made = known.new_zeros(3, shape[0], self.size)
        steps = []
        for t in range(shape[1]):
            x = th.cat([known[:, :, t], made])
            for block in self.blocks:
                x = block(x, shown[:, t])
            made = x[-3:]
            steps.append(x[-3 - n :])
        # [3 + n, B * T, D], episode by episode
        *rows, b_1, w_2, b_2 = th.stack(steps, 2).flatten(1, 2)
        w_1 = self._positive(th.stack(rows, 1)) * alive.unsqueeze(2)
        return monotonic_mix(agent_qs, w_1.flatten(1), b_1, self._positive(w_2), self.hyper_b2(b_2))

    def _positive(self, x: th.Tensor) -> th.Tensor:
        return positive(x, self.args.qmix_pos_func, self.args.qmix_pos_func_beta)
