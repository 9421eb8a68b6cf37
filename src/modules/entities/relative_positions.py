"""Attention that depends on where entities are to each other (relative keys and values, Shaw et al. 2018)."""

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch as th
import torch.nn as nn
import torch.nn.functional as F

from modules.entities.embedding import InputNorm, NamedModules
from modules.entities.feature_names import known_type
from modules.entities.layout import Layout
from utils.errors import ConfigError
from utils.nearest import suggestion

# Indices of embeddings, int64, and their weights, float32 of the same shape; no weights: 1
Mixed = list[tuple[th.Tensor, th.Tensor | None]]


class Buckets:
    """Which embeddings a relative position has, and with which weights; `count` is the number of embeddings.

    Args:
        config: `modules.entities.options.RELATIVE_POSITIONS`, checked.
    """

    def __init__(self, config: SimpleNamespace):
        self.config = config
        self.extent: list[int] = config.extent
        sizes = self.extent if config.radial or config.distance else [2 * cells + 1 for cells in self.extent]
        self.strides = [math.prod(sizes[:i]) for i in range(len(sizes))]
        self.count = math.prod(sizes)

    def __call__(self, relative: th.Tensor, orientation: th.Tensor | None) -> Mixed:
        """From relative positions `[..., queries, keys, D]` and the queries' directions in radians `[..., queries]`."""
        if not (self.config.radial or self.config.distance):
            return [(self._cells(relative), None)]
        parts = []
        if self.config.radial:
            parts.append(self._angles(relative, orientation))
        if self.config.distance:
            parts.append(self._distances(relative))
        mixed = parts[0]
        for more, stride in zip(parts[1:], self.strides[1:], strict=True):
            mixed = [
                (index + stride * other, None if weight is None or factor is None else weight * factor)
                for other, factor in more
                for index, weight in mixed
            ]
        return mixed

    def _cells(self, relative: th.Tensor) -> th.Tensor:
        """The nearest cell of each coordinate; what is beyond the grid belongs to its border."""
        index = th.zeros_like(relative[..., 0], dtype=th.int64)
        for coordinate, (cells, stride) in enumerate(zip(self.extent, self.strides, strict=True)):
            cell = (relative[..., coordinate] * (1.0 / self.config.scale)).round().clamp(-cells, cells)
            index = index + (cell.long() + cells) * stride
        return index

    def _angles(self, relative: th.Tensor, orientation: th.Tensor | None) -> Mixed:
        number = self.extent[0]
        angle = th.atan2(relative[..., 1], relative[..., 0])
        if orientation is not None:
            angle = angle - orientation.unsqueeze(-1)
        # with the 1 no remainder of a tiny negative number, which would be rounded up to `number`
        turns = (angle / (2 * math.pi) + 1) * number % number
        first = turns.long()
        if not self.config.interpolate:
            return [(first, None)]
        beyond = turns - first
        return [(first, 1 - beyond), ((first + 1) % number, beyond)]

    def _distances(self, relative: th.Tensor) -> Mixed:
        last = self.extent[-1] - 1
        distance = relative.norm(dim=-1) * (1.0 / self.config.scale)
        first = distance.long().clamp(max=last)
        if not self.config.interpolate:
            return [(first, None)]
        second = (first + 1).clamp(max=last)
        weight = second - distance
        if not self.config.enable_negative_distance_weight_bug:
            weight = weight.clamp(min=0)
        return [(first, weight), (second, 1 - weight)]


WHERE = "relpos_encoding"
# Of rogue-net's checkpoints: what it derives from the options, and a table that it never reads
UNUSED = ("strides", "extent_tensor", "distance_values.weight")


@dataclass
class Pairs:
    """What each query adds to each key's key and value, float32 `[P, W, W, head width]`."""

    keys: th.Tensor
    values: th.Tensor


class RelativePositions(nn.Module):
    """Keys and values of pairs of entities, which all layers and heads share.

    A relative position is the query's position less the key's. A pair of which one entity has no position (its type
    lacks a position feature, or is excluded) has none: zeros. Entities without the rotation's features look along x.

    Args:
        config: `modules.entities.options.RELATIVE_POSITIONS`, checked.
        space: names of the features of each type.
        d_model: numbers of an entity; `head_width`: those of one head.

    Raises:
        ConfigError: an excluded type does not exist, or no type has the features.
    """

    def __init__(self, config: SimpleNamespace, space: dict[str, list[str]], d_model: int, head_width: int):
        super().__init__()
        self.config, self.buckets = config, Buckets(config)
        for name in config.exclude_entities:
            known_type(f"{WHERE}.exclude_entities", name, space)
        self._dimensions = len(config.position_features)
        turned = config.rotation_vec_features or [name for name in [config.rotation_angle_feature] if name is not None]
        placed = {name: features for name, features in space.items() if name not in config.exclude_entities}
        self._positions = _indices("position_features", config.position_features, placed)
        self._turned = _indices("rotation features", turned, placed) if turned else {}
        types = len(space)
        self.keys = nn.Embedding(self.buckets.count, head_width)
        self.values = nn.Embedding(self.buckets.count * (types if config.per_entity_values else 1), head_width)
        nn.init.normal_(self.keys.weight, std=0.05)
        nn.init.normal_(self.values.weight, std=0.2)
        self._types = list(space)
        if config.value_relpos_projection:
            self.vproj = self._projection(head_width)
        if config.key_relpos_projection:
            self.kproj = self._projection(head_width)
        if config.value_relpos_projection or config.key_relpos_projection:
            self.relpos_norm = InputNorm(self._dimensions + 1)
        if config.value_gate is not None:
            self.value_gate_proj = nn.Linear(d_model, head_width)

    def forward(self, features: dict[str, th.Tensor], layout: Layout, take_in: bool = False) -> Pairs:
        """Keys and values of all pairs within the rows of a layout.

        Args:
            features: of each type `[n, F]`, as they come.
            take_in: whether these relative positions move the normalisation of the projections first.
        """
        dimensions = self._dimensions
        place = th.cat([_columns(x, self._positions.get(name), dimensions) for name, x in features.items()])
        has_place = th.cat(
            [x.new_full((len(x),), name in self._positions, dtype=th.bool) for name, x in features.items()]
        )
        of_type = th.cat([place.new_full((len(x),), i, dtype=th.int64) for i, x in enumerate(features.values())])
        place, has_place, of_type = (layout.placed(values) for values in (place, has_place, of_type))
        relative = place.unsqueeze(2) - place.unsqueeze(1)
        known = has_place.unsqueeze(2) & has_place.unsqueeze(1)
        mixed = self.buckets(relative, self._orientation(features, layout))
        keys = _mixed(self.keys, mixed)
        if self.config.per_entity_values:
            offset = (of_type * self.buckets.count).unsqueeze(1)
            mixed = [(index + offset, weight) for index, weight in mixed]
        values = _mixed(self.values, mixed)
        if hasattr(self, "relpos_norm"):
            measured = th.cat([relative, relative.norm(dim=-1, keepdim=True)], -1)
            if take_in:
                self.relpos_norm.take_in(measured[known & layout.same_frame])
            measured = self.relpos_norm(measured)
            if self.config.value_relpos_projection:
                values = values + self._projected(self.vproj, measured, of_type)
            if self.config.key_relpos_projection:
                keys = keys + self._projected(self.kproj, measured, of_type)
        if len(self._positions) < len(self._types):
            keys, values = keys * known.unsqueeze(-1), values * known.unsqueeze(-1)
        return Pairs(keys, values)

    def gate(self, x: th.Tensor) -> th.Tensor | None:
        """Of attended entities `[..., d_model]`, what multiplies their relative values, `[..., head width]`."""
        if self.config.value_gate is None:
            return None
        gate = self.value_gate_proj(x)
        match self.config.value_gate:
            case "relu":
                return F.relu(gate)
            case "gelu":
                return F.gelu(gate)
            case "sigmoid":
                return gate.sigmoid()
        return gate

    def _orientation(self, features: dict[str, th.Tensor], layout: Layout) -> th.Tensor | None:
        """Radians `[P, W]`."""
        if not self._turned:
            return None
        turned = []
        for name, x in features.items():
            columns = self._turned.get(name)
            if columns is None:
                turned.append(x.new_zeros(len(x)))
            elif len(columns) == 1:
                turned.append(x[:, columns[0]])
            else:
                turned.append(th.atan2(x[:, columns[1]], x[:, columns[0]]))
        return layout.placed(th.cat(turned))

    def _projection(self, width: int) -> nn.Module:
        if not self.config.per_entity_projections:
            return nn.Linear(self._dimensions + 1, width)
        return NamedModules({name: nn.Linear(self._dimensions + 1, width) for name in self._positions})

    def _projected(self, projection: nn.Module, measured: th.Tensor, of_type: th.Tensor) -> th.Tensor:
        if not isinstance(projection, NamedModules):
            return projection(measured)
        result = measured.new_zeros(*measured.shape[:-1], self.keys.embedding_dim)
        for number, name in enumerate(self._types):
            if name in self._positions:
                attended = (of_type == number)[:, None, :, None]
                result = th.where(attended, projection.of(name)(measured), result)
        return result

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for name in UNUSED:
            state_dict.pop(prefix + name, None)
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _indices(what: str, wanted: list[str], space: dict[str, list[str]]) -> dict[str, list[int]]:
    """Of each type that has all these features, where they are."""
    found = {
        name: [features.index(feature) for feature in wanted]
        for name, features in space.items()
        if set(wanted) <= {*features}
    }
    if not found:
        missing = next((name for name in wanted if not any(name in features for features in space.values())), wanted[0])
        names = {feature for features in space.values() for feature in features}
        raise ConfigError(
            f"{WHERE}: no entity type has all {what} {wanted}; see {missing}.{suggestion(missing, names)}"
        )
    return found


def _columns(x: th.Tensor, columns: list[int] | None, width: int) -> th.Tensor:
    return x.new_zeros(len(x), width) if columns is None else x[:, columns]


def _mixed(table: nn.Embedding, mixed: list[tuple[th.Tensor, th.Tensor | None]]) -> th.Tensor:
    parts = [table(index) if weight is None else table(index) * weight.unsqueeze(-1) for index, weight in mixed]
    return sum(parts[1:], parts[0])
