"""Ragged arrays of tensors: `RaggedTensor`; those of NumPy are `utils.ragged.arrays.Ragged`."""

from typing import Any, Self

import numpy as np
import torch as th

from utils.ragged.arrays import Ragged, cat

__all__ = ["Ragged", "RaggedTensor", "cat"]


class RaggedTensor(Ragged):
    """A `Ragged` whose values are a tensor, on any device and with gradients; lengths stay in NumPy.

    `indices`, `flat_indices` and `padpack` give tensors on the device of the values.
    """

    def __init__(self, features: int, dtype: th.dtype = th.float32, device: str | th.device = "cpu"):
        self._set(th.empty((0, features), dtype=dtype, device=device), np.zeros(0, np.int64))

    @classmethod
    def of(cls, ragged: Ragged, device: str | th.device = "cpu") -> Self:
        """The same with its values copied to a device."""
        return cls._of(th.tensor(ragged.values, device=device), ragged.lengths.copy())

    def to(self, device: str | th.device) -> Self:
        """The same on another device; itself copies nothing if it is there already."""
        return self._of(self.values.to(device), self.lengths.copy())

    def __getitem__(self, key: Any) -> Self:
        return super().__getitem__(key.cpu().numpy() if isinstance(key, th.Tensor) else key)

    @staticmethod
    def _as_values(values: Any, like: th.Tensor | None = None) -> th.Tensor:
        if isinstance(values, th.Tensor):
            return values
        if isinstance(values, np.ndarray):
            return th.tensor(values, device=None if like is None else like.device)
        return th.tensor(values) if like is None else th.tensor(values, dtype=like.dtype, device=like.device)

    @staticmethod
    def _copied(values: th.Tensor) -> th.Tensor:
        return values.clone()

    @staticmethod
    def _joined(parts: list[th.Tensor], axis: int = 0) -> th.Tensor:
        return th.cat(parts, axis)

    def _from_numpy(self, array: np.ndarray) -> th.Tensor:
        return th.from_numpy(array).to(self._values.device)
