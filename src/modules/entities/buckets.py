"""Relative positions as numbers of embeddings: cells of a grid, angles, distances."""

import math
from types import SimpleNamespace

import torch as th

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
                (index + stride * other, None if weight is None else weight * factor)
                for other, factor in more
                for index, weight in mixed
            ]
        return mixed

    def _cells(self, relative: th.Tensor) -> th.Tensor:
        """The nearest cell of each coordinate; what is beyond the grid belongs to its border."""
        index = 0
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
