"""Attention to those who can be heard or seen, of any number: of messages, and of entities."""

from collections.abc import Mapping

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from utils.errors import ConfigError

# of an exponent that counts in gradients only
MOST = 20.0


def attention_weights(products: th.Tensor, links: th.Tensor) -> th.Tensor:
    """The softmax of products `[..., n, m]` over those that each of n can hear, by links 0 or 1 `[..., n, m]`.

    Links may have a gradient, so that they are factors. Who can hear nobody has weights of 0.
    """
    # of those that are heard, however large products with others are: these count in gradients of links only
    largest = products.detach().masked_fill(links == 0, -th.inf).amax(-1, keepdim=True)
    largest = th.where(largest.isfinite(), largest, 0.0)
    likely = (products - largest).clamp(max=MOST).exp() * links
    return likely / likely.sum(-1, keepdim=True).clamp(min=1e-8)


class KindEmbedding(nn.Module):
    """A linear layer for each kind of entity: as one for features padded to a common length, with the kind beside them.

    Args:
        features: of each kind, how many an entity has.
        size: D.
        bias: whether layers have one.
    """

    def __init__(self, features: Mapping[str, int], size: int, bias: bool = True):
        super().__init__()
        for kind, width in features.items():
            self.add_module(_named(kind), nn.Linear(width, size, bias=bias))

    def forward(self, entities: Mapping[str, th.Tensor]) -> list[th.Tensor]:
        """Of each kind `[rows, N, features]` -> tokens of each, `[rows, N, D]`."""
        return [self.of(kind)(x) for kind, x in entities.items()]

    def of(self, kind: str) -> nn.Module:
        """The layer of a kind."""
        return getattr(self, _named(kind))


class EntityAttention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017) whose heads divide D numbers; who may look at nothing finds zeros.

    Raises:
        ConfigError: heads do not divide D.
    """

    def __init__(self, size: int, heads: int):
        super().__init__()
        if size % heads:
            raise ConfigError(f"{heads} attention heads do not divide {size} numbers. Use a multiple.")
        self.heads = heads
        self.queries = nn.Linear(size, size, bias=False)
        self.keys_values = nn.Linear(size, 2 * size, bias=False)
        self.unify = nn.Linear(size, size)

    def forward(self, asking: th.Tensor, entities: th.Tensor, allowed: th.Tensor) -> th.Tensor:
        """What each of Q asking tokens finds.

        Args:
            asking: `[Q, N, D]`.
            entities: `[E, N, D]`.
            allowed: which ones each may look at, bool `[N, Q, E]`, or `[N, 1, E]`: the same for all.
        """
        keys, values = self.keys_values(entities).chunk(2, -1)
        query, key, value = (
            x.unflatten(2, (self.heads, -1)).permute(1, 2, 0, 3) for x in (self.queries(asking), keys, values)
        )
        # products and sums in place of bmm, which is slow for matrices as small as these
        products = (query.unsqueeze(3) * key.unsqueeze(2)).sum(-1) / query.size(-1) ** 0.5
        weights = attention_weights(products, allowed.unsqueeze(1))
        found = (weights.unsqueeze(4) * value.unsqueeze(2)).sum(3)
        return self.unify(found.permute(2, 0, 1, 3).flatten(2))


class Block(nn.Module):
    """Attention of tokens `[tokens, N, D]` to each other, each head of D numbers, and two layers of 4 D units.

    What comes of either is added to its inputs, and normalised.
    """

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.heads = heads
        self.queries_keys_values = nn.Linear(size, 3 * heads * size, bias=False)
        self.unify = nn.Linear(heads * size, size)
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.ff1, self.ff2 = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x: th.Tensor, there: th.Tensor | None = None) -> th.Tensor:
        """`there`: which tokens are attended to, bool `[N, tokens]`, at least one of each; None: all."""
        tokens, rows, size = x.shape
        # [3, N, heads, tokens, D]
        query, key, value = self.queries_keys_values(x).view(tokens, rows, 3, self.heads, size).permute(2, 1, 3, 0, 4)
        mask = None if there is None else there[:, None, None]
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = self.norm1(x + self.unify(attended.permute(2, 0, 1, 3).flatten(2)))
        return self.norm2(x + self.ff2(F.relu(self.ff1(x))))


def _named(kind: str) -> str:
    """A name for a module: without a dot, and unlike those of its methods."""
    return f"of_{kind}".replace(".", "_")
