"""QMIX whose weights are made by attention over the entities of the state (REFIL, Iqbal et al. 2021, section 3.2)."""

from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.attention import EntityAttention, KindEmbedding
from modules.mixers import REGISTRY
from modules.mixers.qmix import monotonic_mix
from modules.state_entities import StateEntities
from utils.config.merging import with_defaults


class FlexQMixer(nn.Module):
    """Q_tot = elu(Q W1(s) + b1(s)) w(s) + V(s), with weights of any number of agents and entities.

    Each of the four comes from attention of the agents to all entities: W1 has a row for each agent, b1 and w are the
    mean of the agents' rows, and V the mean of these. M = `mixing_embed_dim`, E = entities. Positive weights are a
    softmax over the M units (`softmax_mixing_weights`) or absolute values. Agents that are not there, the dead, have
    neither a weight nor a share in a mean, and nobody looks at entities that are not there.

    Raises:
        ConfigError: as `StateEntities` and `EntityAttention`.
    """

    def __init__(self, args: Any):
        super().__init__()
        self.args = args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self.n_agents = args.n_agents
        self.entities = StateEntities("mixer=flex_qmix", args)
        self.hyper_w_1, self.hyper_w_final, self.hyper_b_1, self.V = (
            AttentionHypernet(self.entities.features, args) for _ in range(4)
        )

    def forward(self, agent_qs: th.Tensor, states: th.Tensor) -> th.Tensor:
        """Values `[B, T, n]` and states `[B, T, S]` -> Q_tot `[B, T, 1]`."""
        return self._mixed(agent_qs, states)

    def imagined(self, agent_qs: th.Tensor, states: th.Tensor, groups: th.Tensor) -> th.Tensor:
        """The same of values by entities of an agent's own group, then by those of the other one (eq. 6).

        Args:
            agent_qs: `[B, T, 2 n]`.
            groups: in which of two each entity is, bool `[B, T, E]`.
        """
        together = same_group(groups.flatten(0, 1), self.n_agents)
        return self._mixed(agent_qs, states, together, ~together)

    def _mixed(self, agent_qs: th.Tensor, states: th.Tensor, *pairs: th.Tensor) -> th.Tensor:
        """`pairs`: for each block of n values, which entities agents look at, bool `[B * T, n, E]`; none: all."""
        entities, there = self.entities(states.flatten(0, 1))
        agents, everyone = there[:, : self.n_agents, None], there[:, None]
        w_1 = th.cat([self.hyper_w_1(entities, everyone & pair) for pair in pairs or (everyone,)], 1)
        w_1 = self._positive(w_1) * agents.repeat(1, len(pairs) or 1, 1)

        def mean(hypernet: nn.Module) -> th.Tensor:
            return (hypernet(entities, everyone) * agents).sum(1) / agents.sum(1).clamp(min=1)

        w_final, v = self._positive(mean(self.hyper_w_final)), mean(self.V).mean(1, keepdim=True)
        return monotonic_mix(agent_qs, w_1.flatten(1), mean(self.hyper_b_1), w_final, v)

    def _positive(self, x: th.Tensor) -> th.Tensor:
        return F.softmax(x, dim=-1) if self.args.softmax_mixing_weights else x.abs()


class AttentionHypernet(nn.Module):
    """Of each agent M numbers, by attention to entities: `hypernet_embed` numbers each, `mixer_heads` heads."""

    def __init__(self, features: dict[str, int], args: Any):
        super().__init__()
        self.n_agents = args.n_agents
        self.fc1 = KindEmbedding(features, args.hypernet_embed)
        self.attention = EntityAttention(args.hypernet_embed, args.mixer_heads)
        self.fc2 = nn.Linear(args.hypernet_embed, args.mixing_embed_dim)

    def forward(self, entities: dict[str, th.Tensor], allowed: th.Tensor) -> th.Tensor:
        """Entities by kind `[rows, N, features]`, bool `[N, n or 1, E]` -> `[N, n, M]`."""
        tokens = F.relu(th.cat(self.fc1(entities)))
        return self.fc2(self.attention(tokens[: self.n_agents], tokens, allowed)).transpose(0, 1)


def same_group(groups: th.Tensor, n_agents: int) -> th.Tensor:
    """Which entities, the agents first, are in the group of each agent: bool `[N, E]` -> `[N, n, E]`."""
    return groups[:, :n_agents, None] == groups[:, None]
