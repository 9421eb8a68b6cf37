"""Features of entities of several types as embeddings of one width."""

import torch as th
import torch.nn as nn

from modules.entities.input_norm import InputNorm
from modules.entities.named_modules import NamedModules


class Featureless(nn.Module):
    """One learned vector for every entity of a type that has no features."""

    def __init__(self, d_model: int):
        super().__init__()
        self.embedding = nn.Parameter(th.randn(1, d_model))

    def forward(self, x: th.Tensor) -> th.Tensor:
        """`[n, 0]` -> `[n, d_model]`."""
        return self.embedding.expand(len(x), -1)


class EntityEmbedding(nn.Module):
    """Of each type: normalisation, linear, rectifier, layer norm; or one vector if it has no features.

    Args:
        space: names of the features of each type.
    """

    def __init__(self, space: dict[str, list[str]], d_model: int):
        super().__init__()
        self._width = d_model
        self.embeddings = NamedModules(
            {
                name: _embedding(len(features), d_model) if features else Featureless(d_model)
                for name, features in space.items()
            }
        )

    def take_in(self, features: dict[str, th.Tensor]) -> None:
        """Move the normalisation by these features."""
        for name, x in features.items():
            embedding = self.embeddings.of(name)
            if not isinstance(embedding, Featureless):
                embedding[0].take_in(x)

    def forward(self, features: dict[str, th.Tensor]) -> th.Tensor:
        """Of each type `[n, F]` -> `[N, d_model]`, type after type."""
        parts = [self.embeddings.of(name)(x) for name, x in features.items() if len(x) or th.is_grad_enabled()]
        return th.cat(parts or [next(self.parameters()).new_empty(0, self._width)])


def _embedding(features: int, d_model: int) -> nn.Module:
    return nn.Sequential(InputNorm(features), nn.Linear(features, d_model), nn.ReLU(), nn.LayerNorm(d_model))
