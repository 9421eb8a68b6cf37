"""What entities of any number have in common: pooled embeddings (deep sets; PointNet, Qi et al. 2017)."""

from collections.abc import Mapping

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.attention import KindEmbedding


class EntityPooling(nn.Module):
    """Of each kind the mean and the largest of e(x) = ReLU(W x + b) over the entities that are there, and log(1 + how
    many); zeros where there are none.

    Args:
        features: of each kind, how many an entity has.
        size: K, the numbers of e(x).

    Attributes:
        outputs: how many numbers it gives.
    """

    def __init__(self, features: Mapping[str, int], size: int):
        super().__init__()
        self.embedding = KindEmbedding(features, size)
        self._size = size
        self.outputs = len(features) * (2 * size + 1)

    def forward(self, entities: Mapping[str, th.Tensor], there: th.Tensor) -> tuple[th.Tensor, dict[str, th.Tensor]]:
        """Of entities by kind `[rows, N, features]` that are `there`, bool `[N, E]`, one kind after another:

        Returns:
            the pooled numbers, `[N, outputs]`, and e(x) by kind, `[N, rows, K]`, zeros where nobody is there.
        """
        parts, embedded = [], {}
        present = there.split([len(x) for x in entities.values()], 1)
        for (kind, x), here in zip(entities.items(), present, strict=True):
            count = here.sum(1, keepdim=True).to(x.dtype)
            embedded[kind] = e = self._embedded(kind, x, here)
            # e(x) is never negative, so that zeros do not count
            parts += [e.sum(1) / count.clamp(min=1), e.max(1)[0], count.log1p()]
        return th.cat(parts, 1), embedded

    def _embedded(self, kind: str, x: th.Tensor, here: th.Tensor) -> th.Tensor:
        layer = self.embedding.of(kind)
        if x.device.type != "cpu" or not isinstance(layer, nn.Linear):
            return F.relu(layer(x)).transpose(0, 1) * here.unsqueeze(2)
        # on the CPU, rows that are empty take no time; on a GPU, counting them would wait for it
        seen = here.flatten().nonzero().squeeze(1)
        e = F.relu(layer(x.transpose(0, 1).flatten(0, 1).index_select(0, seen)))
        return e.new_zeros(here.numel(), self._size).index_copy(0, seen, e).unflatten(0, here.shape)
