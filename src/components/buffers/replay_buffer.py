"""The circular `ReplayBuffer` (PyMARL's contract), which keeps episodes in little memory."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch, course_keys
from components.one_copy import moved
from components.storage import require_range, storage_dtype, zeros_in
from components.transforms import applied


class ReplayBuffer(EpisodeBatch):
    """A circular buffer of the last `buffer_size` episodes, sampled uniformly without replacement.

    It keeps less than it gives: fields in the type that the scheme names as "storage", "filled" as uint8, and of a
    derived field whose transforms are `rebuildable` only where it was derived. Reads have the types of the scheme,
    derived fields included. Fields stored in these types are read as views (by name, int or slice), all others as
    copies; `data` holds the stored tensors. Memory is taken as episodes arrive; with a `folder`, its fields are mapped
    files there.
    """

    def __init__(
        self,
        scheme: Mapping[str, dict],
        groups: Mapping[str, int],
        buffer_size: int,
        max_seq_length: int,
        preprocess: Mapping[str, tuple] | None = None,
        device: str | th.device = "cpu",
        folder: str = "",
    ):
        self._folder = folder
        self._rebuilt = {
            new_key: (key, transforms)
            for key, (new_key, transforms) in (preprocess or {}).items()
            # rounded values would give another derived field
            if not scheme.get(key, {}).get("dtype", th.float32).is_floating_point
            and all(getattr(transform, "rebuildable", False) for transform in transforms)
        }
        super().__init__(scheme, groups, buffer_size, max_seq_length, preprocess=preprocess, device=device)
        self.buffer_size = buffer_size
        self.buffer_index = 0
        self.episodes_in_buffer = 0
        # episodes ever taken in: number k lies in row k % buffer_size until number k + buffer_size comes
        self.inserted = 0
        # how often episodes that had been taken in were changed afterwards
        self.edits = 0
        # called before episodes are overwritten, with the number of the first one that stays
        self.before_overwrite: Callable[[int], None] = lambda first_kept: None
        # of a buffer on a GPU, the stored fields by which programs branch, in main memory, from the first look on
        self._course_fields: dict[str, th.Tensor] | None = None
        # beyond this step, an episode's place was never written and is still zero
        self.written_steps = np.zeros(buffer_size, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of a full buffer of the longest episodes."""
        tensors = (*self.data.transition_data.values(), *self.data.episode_data.values())
        return sum(tensor.nbytes for tensor in tensors)

    def _zeros(self, key: str, shape: tuple, dtype: th.dtype) -> th.Tensor:
        if key in self._rebuilt:
            return zeros_in((*shape[:-1], 1), th.uint8, self.device, self._folder)
        return zeros_in(shape, storage_dtype(key, self.scheme[key]), self.device, self._folder)

    def __getitem__(self, item: Any):
        if isinstance(item, str):
            for tensors in (self.data.transition_data, self.data.episode_data):
                if item in tensors:
                    return self._restored(item, tensors)
        return super().__getitem__(item)

    def _select_items(self, item: tuple) -> EpisodeBatch:
        batch = super()._select_items(item)
        for name in ("transition_data", "episode_data"):
            stored = getattr(batch.data, name)
            setattr(batch.data, name, {key: self._restored(key, stored) for key in stored})
        return batch

    def _restored(self, key: str, stored: Mapping[str, th.Tensor]) -> th.Tensor:
        """The field `key` of the stored tensors, in the scheme's type."""
        if key not in self._rebuilt:
            return stored[key].to(self.scheme[key].get("dtype", th.float32))
        return self._rebuild(key, self._restored(self._rebuilt[key][0], stored), stored[key] != 0)

    def _rebuild(self, key: str, source: th.Tensor, derived: th.Tensor) -> th.Tensor:
        return applied(self._rebuilt[key][1], source).masked_fill(~derived, 0)

    def update(self, data: Mapping[str, Any], bs: Any = slice(None), ts: Any = slice(None), mark_filled: bool = True):
        """As `EpisodeBatch.update`; fields derived from another one must be written with it."""
        rows, steps = self._parse_slices((bs, ts))
        part = self[rows, steps]
        part.preprocess = self.preprocess
        part.update(data, mark_filled=mark_filled)
        self._store(part, rows, steps)
        self.edits += 1
        last = max(range(*steps.indices(self.max_seq_length)), default=-1)
        rows = rows.cpu().numpy() if isinstance(rows, th.Tensor) else rows
        self.written_steps[rows] = np.maximum(self.written_steps[rows], last + 1)

    def insert_episode_batch(self, ep_batch: EpisodeBatch) -> None:
        """Copy `ep_batch` in, over the oldest episodes; of more episodes than fit, the last stay.

        Steps after the last one that is filled in any of the episodes become zeros: nothing of the overwritten episodes
        remains.

        Raises:
            ValueError: the episodes are longer than the buffer's, or a derived field does not follow from its source.
            MusterError: a value does not fit the type it is stored in.
        """
        if ep_batch.max_seq_length > self.max_seq_length:
            raise ValueError(
                f"Episodes of {ep_batch.max_seq_length} steps do not fit a buffer of {self.max_seq_length} steps."
            )
        start = max(0, ep_batch.batch_size - self.buffer_size)
        while start < ep_batch.batch_size:
            stop = min(ep_batch.batch_size, start + self.buffer_size - self.buffer_index)
            self.before_overwrite(self.inserted + stop - start - self.buffer_size)
            self._insert(ep_batch[start:stop], slice(self.buffer_index, self.buffer_index + stop - start))
            self.count_to(self.inserted + stop - start)
            start = stop

    def count_to(self, inserted: int) -> None:
        """Set the counts to those of a buffer after that number of episodes."""
        self.inserted = inserted
        self.buffer_index = inserted % self.buffer_size
        self.episodes_in_buffer = min(inserted, self.buffer_size)

    def _insert(self, ep_batch: EpisodeBatch, rows: slice) -> None:
        filled_steps = (ep_batch["filled"] != 0).flatten(2).any(2).any(0).nonzero()
        length = int(filled_steps.max()) + 1 if len(filled_steps) else 0
        before = int(self.written_steps[rows].max())
        for here in (self._course_fields or {}).values():
            here[rows] = 0
        for key, stored in self.data.transition_data.items():
            start = length if key in ep_batch.data.transition_data else 0
            if start < before:  # zeros written over zeros would take memory
                stored[rows, start:before] = 0
        for key, stored in self.data.episode_data.items():
            if key not in ep_batch.data.episode_data:
                stored[rows] = 0
        self._store(ep_batch[:, :length], rows, slice(0, length))
        self.written_steps[rows] = length

    def _store(self, batch: EpisodeBatch, rows: slice | th.Tensor, steps: slice) -> None:
        written: list[tuple[th.Tensor, Any, th.Tensor]] = []
        for ours, theirs, place in (
            (self.data.transition_data, batch.data.transition_data, (rows, steps)),
            (self.data.episode_data, batch.data.episode_data, rows),
        ):
            for key, values in theirs.items():
                if key not in ours:
                    raise KeyError(f"{key} not found in transition or episode data")
                if key in self._rebuilt:
                    values = self._where_derived(key, theirs)
                require_range(key, values, ours[key].dtype)
                written.append((ours[key], place, values.to(ours[key].dtype)))
        if self._course_fields is not None:
            course, here = batch.course(), rows.cpu() if isinstance(rows, th.Tensor) else rows
            for key, known in self._course_fields.items():
                if key in course.data.transition_data:
                    known[here, steps] = course.data.transition_data[key].to(known.dtype)
        there = moved([values for _, _, values in written], self.device)
        for (stored, place, _), values in zip(written, there, strict=True):
            stored[place] = values

    def _where_derived(self, key: str, tensors: Mapping[str, th.Tensor]) -> th.Tensor:
        """Where the derived field `key` is not all zeros: uint8, with a last axis of size 1."""
        derived = (tensors[key] != 0).any(-1, keepdim=True)
        source = self._rebuilt[key][0]
        if source not in tensors or not th.equal(self._rebuild(key, tensors[source], derived), tensors[key]):
            raise ValueError(
                f"'{key}' differs from the values derived from '{source}', from which a replay buffer rebuilds it. "
                "Give other values another name in the scheme."
            )
        return derived.to(th.uint8)

    def can_sample(self, batch_size: int) -> bool:
        """Whether the buffer holds at least `batch_size` episodes."""
        return self.episodes_in_buffer >= batch_size

    def sample(self, batch_size: int, trimmed: bool = False) -> EpisodeBatch:
        """Return `batch_size` different episodes; all of them, in order, when that is how many there are.

        Args:
            trimmed: cut after `max_t_filled` of the sample, before anything is copied; else `max_seq_length` steps.

        Raises:
            ValueError: the buffer does not hold that many.
        """
        if not self.can_sample(batch_size):
            raise ValueError(f"Cannot sample {batch_size} episodes from {self.episodes_in_buffer}.")
        rows: Any = slice(0, batch_size)
        if self.episodes_in_buffer > batch_size:
            rows = th.as_tensor(np.random.choice(self.episodes_in_buffer, batch_size, replace=False))
        return self.of_rows(rows, trimmed)

    def of_rows(self, rows: Any, trimmed: bool = True) -> EpisodeBatch:
        """The episodes in these places, a slice or int64 `[B]`; `trimmed` as in `sample`."""
        steps = self.max_seq_length
        if trimmed:
            steps = int(self._stored_course()["filled"][rows].sum(1).max())
        sample = self[rows, :steps]
        if self._course_fields is not None:
            course = {key: here[rows, :steps] for key, here in self._course_fields.items()}
            sample.know_course({key: x.to(self.scheme[key].get("dtype", th.float32)) for key, x in course.items()})
        return sample

    def _stored_course(self) -> Mapping[str, th.Tensor]:
        """The stored fields by which programs branch, in main memory."""
        stored = self.data.transition_data
        if stored["filled"].device.type == "cpu":
            return stored
        if self._course_fields is None:
            keys = [key for key in course_keys(self.scheme) if key in stored and key not in self._rebuilt]
            self._course_fields = dict(zip(keys, moved([stored[key] for key in keys], "cpu"), strict=True))
        return self._course_fields

    def __repr__(self) -> str:
        return (
            f"ReplayBuffer. {self.episodes_in_buffer}/{self.buffer_size} episodes. "
            f"Keys:{self.scheme.keys()} Groups:{self.groups.keys()}"
        )
