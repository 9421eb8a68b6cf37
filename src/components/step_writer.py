"""The short way into an EpisodeBatch, for steps of many episodes at once."""

from collections.abc import Iterator, Mapping

import numpy as np
import torch as th

from components.episode_buffer import EpisodeBatch
from components.one_copy import sent


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
        if self._views:
            if mark_filled:
                self._put("filled", self._ones, rows, t)
            for key, value in self._fields(values):
                self._put(key, value, rows, t)
        else:
            self._send(dict(self._fields(values)), rows, t, mark_filled)

    def _fields(self, values: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
        """What the batch has of these, and what derives from it."""
        for key, value in values.items():
            if key not in self._tensors:
                continue
            if value.ndim == self._axes[key]:  # one number, which has an axis there
                value = value[..., None]
            yield key, value
            if key in self._preprocess:
                new_key, transforms = self._preprocess[key]
                derived = th.as_tensor(value).to(self._tensors[key].dtype)
                for transform in transforms:
                    derived = transform.transform(derived)
                yield new_key, derived.numpy()

    def clear(self, rows: np.ndarray, t: int | np.ndarray) -> None:
        """Let every field of step `t` of the episodes `rows` be 0; `t` as in `write`."""
        if self._views:
            for view in self._views.values():
                view[rows, t] = 0
            return
        device = self._tensors["filled"].device
        places = [rows] if isinstance(t, int) else [rows, t]
        places = sent(places, [th.int64] * len(places), device)
        for tensor in self._tensors.values():
            tensor[places[0], t if isinstance(t, int) else places[1]] = 0

    def _put(self, key: str, value: np.ndarray, rows: np.ndarray, t: int | np.ndarray) -> None:
        all_rows = len(rows) == len(value)
        value = value if all_rows else value[rows]
        self._views[key][slice(None) if all_rows and isinstance(t, int) else rows, t] = value

    def _send(self, values: dict[str, np.ndarray], rows: np.ndarray, t: int | np.ndarray, mark_filled: bool) -> None:
        """All fields, and their places, in one copy to the batch's device."""
        all_rows, together = len(rows) == len(self._ones), isinstance(t, int)
        whole = all_rows and together
        arrays = [value if all_rows else value[rows] for value in values.values()]
        tensors = [self._tensors[key] for key in values]
        places = [] if whole else [rows] if together else [rows, t]
        types = [*(tensor.dtype for tensor in tensors), *[th.int64] * len(places)]
        pieces = sent([*arrays, *places], types, self._tensors["filled"].device)
        pieces, places = pieces[: len(arrays)], pieces[len(arrays) :]
        place = (slice(None), t) if whole else (places[0], t if together else places[1])
        if mark_filled:
            self._tensors["filled"][place] = 1
        for tensor, piece in zip(tensors, pieces, strict=True):
            tensor[place] = piece
