"""What entities of any number have in common: pooled embeddings (deep sets; PointNet, Qi et al. 2017)."""

from collections.abc import Mapping, Sequence

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
        targets: kinds whose entities get a key, `key_size` numbers D that are linear in e(x).

    Attributes:
        outputs: how many numbers it gives.
    """

    def __init__(self, features: Mapping[str, int], size: int, targets: Sequence[str] = (), key_size: int = 0):
        super().__init__()
        self.embedding = KindEmbedding(features, size)
        self.keys = KindEmbedding(dict.fromkeys(targets, size), key_size, bias=False)
        self._targets = targets
        self.outputs = len(features) * (2 * size + 1)

    def forward(self, entities: Mapping[str, th.Tensor], there: th.Tensor) -> tuple[th.Tensor, dict[str, th.Tensor]]:
        """Of entities by kind `[rows, N, features]` that are `there`, bool `[N, E]`, one kind after another:

        Returns:
            the pooled numbers, `[N, outputs]`, and the keys of the kinds that have some, `[N, rows * D]`, zeros where
            nobody is there.
        """
        parts, keys = [], {}
        present = there.split([len(x) for x in entities.values()], 1)
        for (kind, x), here in zip(entities.items(), present, strict=True):
            layer, count = self.embedding.of(kind), here.sum(1)
            # on the CPU, rows of nobody take no time; on a GPU, to count them would wait for it
            if x.device.type == "cpu" and isinstance(layer, nn.Linear):
                seen = here.flatten().nonzero().squeeze(1)
                e = F.relu(layer(x.transpose(0, 1).flatten(0, 1).index_select(0, seen)))
                total, largest = (th.segment_reduce(e, how, lengths=count, initial=0) for how in ("sum", "max"))
                if kind in self._targets:
                    known = self.keys.of(kind)(e)
                    empty = known.new_zeros(here.numel(), known.size(1))
                    keys[kind] = empty.index_copy(0, seen, known).view(len(here), -1)
            else:
                e = F.relu(layer(x)) * here.T.unsqueeze(2)
                total, largest = e.sum(0), e.amax(0)  # which zeros do not change: e(x) is never negative
                if kind in self._targets:
                    keys[kind] = self.keys.of(kind)(e).transpose(0, 1).flatten(1)
            many = count.unsqueeze(1).to(x.dtype)
            parts += [total / many.clamp(min=1), largest, many.log1p()]
        return th.cat(parts, 1), keys
