"""Transforms derive one field of an EpisodeBatch from another."""

from collections.abc import Sequence

import numpy as np
import torch as th


class Transform:
    """Base class: `transform` maps a tensor, `infer_output_info` its (vshape, dtype).

    `rebuildable`: the result depends on each value alone; so a replay buffer may derive it again instead of keeping
    it.
    """

    rebuildable = False

    def transform(self, tensor: th.Tensor) -> th.Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not define transform()")

    def infer_output_info(self, vshape_in: tuple, dtype_in: th.dtype) -> tuple:
        raise NotImplementedError(f"{type(self).__name__} does not define infer_output_info()")


def applied(transforms: Sequence[Transform], x: th.Tensor) -> th.Tensor:
    """What these make of it, one after the other."""
    for transform in transforms:
        x = transform.transform(x)
    return x


class OneHot(Transform):
    """Whole numbers `[..., 1]` in 0..out_dim-1 -> one-hot float32 `[..., out_dim]`."""

    rebuildable = True

    def __init__(self, out_dim: int):
        self.out_dim = out_dim
        self._choices = np.arange(out_dim)

    def transform(self, tensor: th.Tensor) -> th.Tensor:
        one_hot = tensor.new_zeros(*tensor.shape[:-1], self.out_dim, dtype=th.float32)
        return one_hot.scatter_(-1, tensor.long(), 1)

    def of_array(self, values: np.ndarray) -> np.ndarray:
        """The same of an array of integers, as bool `[..., out_dim]`, in a fifth of the time."""
        return values == self._choices

    def infer_output_info(self, vshape_in: tuple, dtype_in: th.dtype) -> tuple:
        return (self.out_dim,), th.float32
