"""Features of entities of several types as embeddings of one width: modules by type, and inputs normalised."""

from collections.abc import Mapping

import torch as th
import torch.nn as nn

from utils.errors import ConfigError
from utils.numbers.running_statistics import Normaliser

_TAKEN = set(dir(nn.ModuleDict()))


def module_key(name: str) -> str:
    """The key under which torch keeps a module of this name, the name itself wherever torch allows that.

    Torch allows no dots in names, nor those of ModuleDict's own methods, such as `keys`; they get percent signs.
    """
    key = name.replace(".", "%2E")
    return f"%{key}" if key in _TAKEN or not key else key


class NamedModules(nn.ModuleDict):
    """A ModuleDict that takes every text as a name."""

    def __init__(self, modules: Mapping[str, nn.Module]):
        keys = {name: module_key(name) for name in modules}
        if len(set(keys.values())) < len(keys):
            raise ConfigError(f"Names {sorted(keys)}: two of them mean the same parameters; rename one.")
        super().__init__({keys[name]: module for name, module in modules.items()})

    def of(self, name: str) -> nn.Module:
        return self[module_key(name)]


class InputNorm(Normaliser):
    """Running mean and deviation of features; normalised ones are kept between -`clip` and `clip`.

    Only `take_in` moves the statistics: rogue-net's layer moves them in every forward pass, evaluation included. Until
    two rows were seen, features are only clipped. A feature that never varied is divided by 1.

    Buffers: `count` float32 [], rows seen; `mean` and `squares_sum` float32 `[features]`, the latter of deviations from
    the mean.
    """

    count: th.Tensor
    mean: th.Tensor
    squares_sum: th.Tensor

    def __init__(self, features: int, clip: float = 5.0):
        super().__init__(clip)
        self.register_buffer("count", th.tensor(0.0))
        self.register_buffer("mean", th.zeros(features))
        self.register_buffer("squares_sum", th.zeros(features))

    @th.no_grad()
    def take_in(self, x: th.Tensor) -> None:
        """Move the statistics by rows `[rows, features]`."""
        rows = x.shape[0]
        if rows == 0:
            return
        mean = x.mean(0)
        squares_sum = (x - mean).square().sum(0)
        total = self.count + rows
        delta = mean - self.mean
        self.mean += delta * (rows / total)
        self.squares_sum += squares_sum + delta.square() * (rows * self.count / total)
        self.count.copy_(total)

    def running_mean_var(self) -> tuple[th.Tensor, th.Tensor]:
        var = self.squares_sum / (self.count - 1).clamp(min=1)
        var = th.where(var == 0, 1, var)
        seen = self.count > 1
        return th.where(seen, self.mean, 0), th.where(seen, var, 1)

    @th.no_grad()
    def forward(self, x: th.Tensor) -> th.Tensor:
        """Normalised features, of the same shape and without gradient."""
        return self.normalize(x)


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
            for layer in self.embeddings.of(name).children():
                if isinstance(layer, InputNorm):
                    layer.take_in(x)

    def forward(self, features: dict[str, th.Tensor]) -> th.Tensor:
        """Of each type `[n, F]` -> `[N, d_model]`, type after type."""
        parts = [self.embeddings.of(name)(x) for name, x in features.items() if len(x) or th.is_grad_enabled()]
        return th.cat(parts or [next(self.parameters()).new_empty(0, self._width)])


def _embedding(features: int, d_model: int) -> nn.Module:
    return nn.Sequential(InputNorm(features), nn.Linear(features, d_model), nn.ReLU(), nn.LayerNorm(d_model))
