"""The short way into an EpisodeBatch, for steps of many episodes at once."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import torch as th

from components.episode_buffer import EpisodeBatch
from components.pending_writes import PendingWrites
from components.transforms import OneHot, applied


class StepWriter:
    """Writes one time step of some episodes, from arrays that hold an entry for every episode of the batch.

    Its results equal those of `EpisodeBatch.update`, with derived fields, but it relies on shapes that fit: the values
    of `key` are `[B, (group,) *vshape]`, or without the last axis if that is 1. On the CPU they go straight into the
    tensors' memory, copied once.

    Args:
        batch: where it writes.
        pending: takes what is written to a GPU; None: each call sends its own.
    """

    def __init__(self, batch: EpisodeBatch, pending: PendingWrites | None = None):
        self._tensors = batch.data.transition_data
        self._preprocess = batch.preprocess
        self._size = batch.batch_size
        # of values without the last axis
        self._axes = {key: tensor.dim() - 2 for key, tensor in self._tensors.items()}
        self._sends_at_once = pending is None
        self._pending = PendingWrites(batch.device) if pending is None else pending
        self._views: dict[str, np.ndarray] = {}
        if all(tensor.device.type == "cpu" for tensor in self._tensors.values()):
            self._views = dict(zip(self._tensors, batch.arrays(self._tensors), strict=True))

    def write(
        self, values: Mapping[str, np.ndarray], entries: np.ndarray, t: int | np.ndarray, mark_filled: bool = False
    ) -> None:
        """Write step `t` of the episodes `entries` (ascending); keys that the batch does not have are left out.

        `t`: one step for all, or int64 `[len(entries)]`, the step of each.
        """
        if not self._views:
            self._add(dict(self._fields(values)), entries, t, mark_filled)
            return
        some = len(entries) < self._size
        place = (entries, t) if some or not isinstance(t, int) else (slice(None), t)
        if mark_filled:
            self._views["filled"][place] = 1
        for key, value in self._fields(values):
            value = value[entries] if some else value
            self._views[key][place] = value
            if key in self._preprocess:
                derived_key, derived = self._derived_array(key, value)
                self._views[derived_key][place] = derived

    def _fields(self, values: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
        """What the batch has of these."""
        for key, value in values.items():
            if key not in self._tensors:
                continue
            if value.ndim == self._axes[key]:  # one number, which has an axis there
                value = value[..., None]
            yield key, value

    def _derived(self, key: str, value: th.Tensor) -> tuple[str, th.Tensor]:
        """The field that derives from a value of another one."""
        new_key, transforms = self._preprocess[key]
        return new_key, applied(transforms, value.to(self._tensors[key].dtype))

    def _derived_array(self, key: str, value: np.ndarray) -> tuple[str, np.ndarray]:
        new_key, transforms = self._preprocess[key]
        if value.dtype.kind == "i" and len(transforms) == 1 and type(transforms[0]) is OneHot:
            return new_key, transforms[0].of_array(value)
        return new_key, self._derived(key, th.as_tensor(value))[1].numpy()

    def clear(self, entries: np.ndarray, t: int | np.ndarray, keys: Iterable[str] | None = None) -> None:
        """Let the fields `keys` and what derives from them (None: every field) be 0 at step `t` of these episodes."""
        names = list(self._tensors) if keys is None else self._with_derived(keys)
        if self._views:
            for name in names:
                self._views[name][entries, t] = 0
            return
        arrays = self._places(entries, t)
        self._pending.add(partial(self._clear_there, names, t), arrays, [th.int64] * len(arrays))
        if self._sends_at_once:
            self._pending.send()

    def _with_derived(self, keys: Iterable[str]) -> list[str]:
        """Those that the batch has."""
        present = [key for key in keys if key in self._tensors]
        return present + [self._preprocess[key][0] for key in present if key in self._preprocess]

    def _clear_there(self, names: list[str], t: int | np.ndarray, places: list[th.Tensor]) -> None:
        place = _place(places, t)
        for name in names:
            self._tensors[name][place] = 0

    def _add(self, values: dict[str, np.ndarray], entries: np.ndarray, t: int | np.ndarray, mark_filled: bool) -> None:
        """All fields, and their places, with what else waits for one copy to the batch's device."""
        all_entries = len(entries) == self._size
        arrays = [value if all_entries else value[entries] for value in values.values()]
        places = self._places(entries, t)
        types = [*(self._tensors[key].dtype for key in values), *[th.int64] * len(places)]
        self._pending.add(partial(self._write_there, list(values), t, mark_filled), [*arrays, *places], types)
        if self._sends_at_once:
            self._pending.send()

    def _places(self, entries: np.ndarray, t: int | np.ndarray) -> list[np.ndarray]:
        """The indices of `entries` and their steps, as far as they are no slices."""
        if not isinstance(t, int):
            return [entries, t]
        return [] if len(entries) == self._size else [entries]

    def _write_there(self, keys: list[str], t: int | np.ndarray, mark_filled: bool, there: list[th.Tensor]) -> None:
        place = _place(there[len(keys) :], t)
        if mark_filled:
            self._tensors["filled"][place] = 1
        for key, value in zip(keys, there, strict=False):
            self._tensors[key][place] = value
            if key in self._preprocess:
                new_key, derived = self._derived(key, value)
                self._tensors[new_key][place] = derived


def _place(places: list[th.Tensor], t: int | np.ndarray) -> tuple:
    """The index of the places that `StepWriter._places` lists."""
    return (places[0] if places else slice(None), t if isinstance(t, int) else places[1])
