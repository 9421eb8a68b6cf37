"""The short way into an EpisodeBatch, for steps of many episodes at once."""

from collections.abc import Mapping

import numpy as np
import torch as th

from components.episode_buffer import EpisodeBatch


class StepWriter:
    """Writes one time step of some episodes, from arrays that hold a row for every episode of the batch.

    Its results equal those of `EpisodeBatch.update`, with derived fields, but it relies on shapes that fit: the values
    of `key` are `[B, (group,) *vshape]`, or without the last axis if that is 1. On the CPU they go straight into the
    tensors' memory, copied once.
    """

    def __init__(self, batch: EpisodeBatch):
        self._tensors = batch.data.transition_data
        self._preprocess = batch.preprocess
        self._ones = np.ones((batch.batch_size, 1))
        # of values without the last axis
        self._axes = {key: tensor.dim() - 2 for key, tensor in self._tensors.items()}
        self._views: dict[str, np.ndarray] = {}
        if all(tensor.device.type == "cpu" for tensor in self._tensors.values()):
            self._views = dict(zip(self._tensors, batch.arrays(self._tensors), strict=True))

    def write(
        self, values: Mapping[str, np.ndarray], rows: np.ndarray, t: int | np.ndarray, mark_filled: bool = False
    ) -> None:
        """Write step `t` of the episodes `rows` (ascending); keys that the batch does not have are left out.

        `t`: one step for all, or int64 `[len(rows)]`, the step of each.
        """
        if mark_filled:
            self._put("filled", self._ones, rows, t)
        for key, value in values.items():
            if key not in self._tensors:
                continue
            if value.ndim == self._axes[key]:  # one number, which has an axis there
                value = value[..., None]
            self._put(key, value, rows, t)
            if key in self._preprocess:
                new_key, transforms = self._preprocess[key]
                derived = th.as_tensor(value).to(self._tensors[key].dtype)
                for transform in transforms:
                    derived = transform.transform(derived)
                self._put(new_key, derived.numpy(), rows, t)

    def clear(self, rows: np.ndarray, t: int | np.ndarray) -> None:
        """Let every field of step `t` of the episodes `rows` be 0; `t` as in `write`."""
        if self._views:
            for view in self._views.values():
                view[rows, t] = 0
            return
        for tensor in self._tensors.values():
            at = t if isinstance(t, int) else th.as_tensor(t, device=tensor.device)
            tensor[th.as_tensor(rows, device=tensor.device), at] = 0

    def _put(self, key: str, value: np.ndarray, rows: np.ndarray, t: int | np.ndarray) -> None:
        all_rows = len(rows) == len(value)
        value = value if all_rows else value[rows]
        together = isinstance(t, int)
        rows = slice(None) if all_rows and together else rows
        if self._views:
            self._views[key][rows, t] = value
            return
        tensor = self._tensors[key]
        rows = rows if isinstance(rows, slice) else th.as_tensor(rows, device=tensor.device)
        t = t if together else th.as_tensor(t, device=tensor.device)
        tensor[rows, t] = th.as_tensor(value).to(tensor.device, tensor.dtype)
