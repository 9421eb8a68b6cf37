"""CommFormer (Hu et al. 2024) by its authors' network: edges have features, and agents heads of their own."""

from collections.abc import Mapping
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.agents.commformer_agent import CommFormerAgent
from modules.agents.mat_agent import Memory, head, linear_layer
from modules.unshared import unshare


class CommFormerGraphAgent(CommFormerAgent):
    """`CommFormerAgent` in whose attention a link between two agents has a feature, by whether it is there.

    The k = max(1, `sparsity` n) that an agent hears are chosen among all, and it hears itself besides. The decoder sees
    what an agent sees, too, and every agent's outputs come from a head of its own.

    Attributes:
        weighs: attention is weighed by the weights of edges themselves, without a choice.
        learning: an update is being made, in which parts of the encoder are dropped out.
    """

    weighs = learning = False

    def __init__(self, input_shape: Mapping[str, tuple[int, ...]], args: Any, action_size: int):
        super().__init__(input_shape, args, action_size)
        self.heard = max(1, int(self.args.sparsity * args.n_agents))
        self.chooses = True
        self.draws_always = self.draws_edges = self.args.edge_draws == "always"
        self.edges = nn.Parameter(th.ones(args.n_agents, args.n_agents))
        self.edge_features = nn.Embedding(2, self.args.n_embd)

    def _encoder_block(self, size: int, heads: int) -> nn.Module:
        return GraphEncoderBlock(size, heads, self.args.commformer_dropout)

    def _build_decoder(self, inputs: int, action_size: int, outputs: int) -> None:
        size, heads = self.args.n_embd, self.args.n_head
        self.action_encoder = nn.Sequential(linear_layer(1 + action_size, size, True, bias=False), nn.GELU())
        self.own_encoder = nn.Sequential(nn.LayerNorm(inputs), linear_layer(inputs, size, True), nn.GELU())
        self.decoder_norm = nn.LayerNorm(size)
        self.blocks = nn.ModuleList(GraphDecoderBlock(size, heads) for _ in range(self.args.n_block))
        self.heads = nn.Sequential(nn.LayerNorm(size), *head(size, outputs))
        unshare(self.heads, self.args.n_agents, "")

    def links(self) -> th.Tensor:
        """Whom each agent hears beside itself, `[n, n]` (receiver, sender), with gradients for `edges`.

        0 or 1 or, if it `weighs`, the weights of edges.
        """
        if self.weighs:
            return self.edges
        weights: th.Tensor = self.edges
        if self.draws_edges:
            weights = weights - th.empty_like(weights).exponential_().log()
        shares = weights.softmax(dim=-1)
        heard = th.zeros_like(shares).scatter(-1, shares.topk(self.heard).indices, 1.0)
        return heard - shares.detach() + shares

    def encode(self, seen: th.Tensor, links: th.Tensor | None = None) -> th.Tensor:
        links = self.links() if links is None else links
        x, features = self.encoder_norm(self.obs_encoder(seen)), self._features(links)
        for block in self.encoder:
            x = block(x, links, features, self.learning)
        return x

    def decode(
        self,
        seen: th.Tensor,
        encoded: th.Tensor,
        before: th.Tensor | None,
        memory: Memory | None = None,
        links: th.Tensor | None = None,
    ) -> th.Tensor:
        links = self.links() if links is None else links
        x, features = self.decoder_norm(self.action_encoder(before) + self.own_encoder(seen)), self._features(links)
        for block in self.blocks:
            x = block(x, encoded, memory, links, features)
        if memory is None:
            return self.heads(x)
        # of the next agent alone
        place = next(iter(memory.values()))[0].size(1) - 1
        return self.heads(x.expand(-1, len(links), -1))[:, place : place + 1]

    def _features(self, links: th.Tensor) -> th.Tensor:
        """Of each link, by its weight rounded down, `[n, n, D]`."""
        return self.edge_features(links.detach().long().clamp(0, 1))


class GraphAttention(nn.Module):
    """Multi-head attention between the agents of a time step, on a graph whose links have features.

    A query and a key have parts of the feature of the link that leads the other way; products are divided by the size
    of a head, and the softmax over those that are heard is weighed by links, that to itself by one more.
    """

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.n_heads = heads
        self.in_proj, self.out_proj = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.relation_in_proj = nn.Linear(size, 2 * size)
        for layer in (self.in_proj, self.out_proj, self.relation_in_proj):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)

    def forward(
        self,
        asking: th.Tensor,
        seen: th.Tensor,
        links: th.Tensor,
        features: th.Tensor,
        causal: bool = False,
        memory: Memory | None = None,
    ) -> th.Tensor:
        """What each agent of `asking` `[R, m, D]` finds in `seen`; as `mat_agent.Attention`.

        Args:
            links: `[n, n]` (receiver, sender).
            features: of links, `[n, n, D]`.
        """
        size = asking.size(-1)
        weight, bias = self.in_proj.weight, self.in_proj.bias
        query = F.linear(asking, weight[:size], bias[:size])
        key, value = F.linear(seen, weight[size:], bias[size:]).chunk(2, dim=-1)
        if memory is not None:
            if self in memory:
                key, value = (th.cat(pair, dim=1) for pair in zip(memory[self], (key, value), strict=True))
            memory[self] = key, value
        last = key.size(1)
        asked = slice(last - query.size(1), last)
        by_head = (self.n_heads, -1)
        of_query, of_key = (
            x.transpose(0, 1)[asked, :last].unflatten(-1, by_head)
            for x in self.relation_in_proj(features).chunk(2, dim=-1)
        )
        query = query.unflatten(-1, by_head).unsqueeze(2) + of_query
        key = key.unflatten(-1, by_head).unsqueeze(1) + of_key
        products = (query * key).sum(-1) / query.size(-1)  # [R, m, last, heads]
        shares = (links + th.eye(len(links), device=links.device))[asked, :last].unsqueeze(-1)
        hidden = shares == 0
        if causal:
            hidden = hidden | _later(hidden)
        weights = products.masked_fill(hidden, -th.inf).softmax(dim=2) * shares
        found = th.einsum("rijh,rjhd->rihd", weights, value.unflatten(-1, by_head))
        return self.out_proj(found.flatten(2))


def _later(like: th.Tensor) -> th.Tensor:
    """Whether a sender comes after the receiver, bool `[n, n, 1]`."""
    return th.ones_like(like.squeeze(-1)).triu(1).unsqueeze(-1)


class GraphEncoderBlock(nn.Module):
    """Attention on the graph, and two layers with a rectifier; parts of all are dropped out in learning."""

    def __init__(self, size: int, heads: int, dropout: float):
        super().__init__()
        self.attention, self.dropout = GraphAttention(size, heads), dropout
        self.fc1, self.fc2 = nn.Linear(size, size), nn.Linear(size, size)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        for layer in (self.fc1, self.fc2):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)

    def forward(self, x: th.Tensor, links: th.Tensor, features: th.Tensor, learning: bool) -> th.Tensor:
        def some(x: th.Tensor) -> th.Tensor:
            return F.dropout(x, self.dropout, learning)

        x = self.norm1(x + some(self.attention(x, x, links, features)))
        return self.norm2(x + some(self.fc2(some(F.relu(self.fc1(x))))))


class GraphDecoderBlock(nn.Module):
    """`DecoderBlock` with attention on the graph."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.attention1, self.attention2 = GraphAttention(size, heads), GraphAttention(size, heads)
        self.mlp = nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.Linear(size, size))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(size) for _ in range(3))

    def forward(
        self, x: th.Tensor, encoded: th.Tensor, memory: Memory | None, links: th.Tensor, features: th.Tensor
    ) -> th.Tensor:
        causal = memory is None
        x = self.norm1(x + self.attention1(x, x, links, features, causal, memory))
        x = self.norm2(encoded + self.attention2(encoded, x, links, features, causal, memory))
        return self.norm3(x + self.mlp(x))
