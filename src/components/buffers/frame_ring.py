"""A ring of environment steps: each frame once, and where its successor is."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import numpy as np
import torch as th

from components.episode_batch import EpisodeBatch
from components.one_copy import moved, received
from components.scheme import shape_at_a_step
from components.storage import narrowed, require_range, storage_dtype, zeros_in
from components.transforms import applied
from utils.tensors.devices import to_device
from utils.tensors.schemes import observed_fields, state_fields


class FrameRing:
    """The last `capacity` steps of episodes, in the types that the scheme names as "storage".

    Steps are numbered in the order in which they came; number k is in place k % capacity until k + capacity comes.
    Each has all fields of a time step of a batch but derived ones, which are derived again when it is read. The step
    after number k has the number k + `ahead[place]`; 0 where none is known.

    A rollout's last step, which has no actions yet, waits: the first of the next rollout of its source completes
    it, if it shows the same (`utils.tensors.schemes.is_rollout`). So a frame is stored once, however short
    rollouts are. Sources are runners whose rollouts come in any order.

    Args:
        scheme, groups, preprocess: of the batches, see `EpisodeBatch`; constant fields are left out.
        folder: of files in which the fields are kept, instead of in memory; "": none. The files have no names, and
            vanish with the process.
    """

    def __init__(
        self,
        scheme: Mapping[str, dict],
        groups: Mapping[str, int],
        preprocess: Mapping[str, tuple],
        capacity: int,
        device: str = "cpu",
        folder: str = "",
    ):
        plain = {key: info for key, info in scheme.items() if not info.get("episode_const", False)}
        self.scheme = EpisodeBatch(plain, groups, 1, 1, preprocess=preprocess, device="meta").scheme
        self.groups, self.preprocess, self.capacity, self.device = groups, dict(preprocess), capacity, device
        self._folder = folder
        self._ones = th.ones(1, 1, 1, dtype=th.long, device=device)
        self._observed = [*observed_fields(self.scheme), *state_fields(self.scheme)]
        self._allocate(capacity)
        # of steps that were ever written; and no step below `least` is held, since the ring was smaller once
        self.stop = self.least = 0
        # by source, of each entry of its last rollout: the number of its last step if that waits for actions, else -1
        self.waiting: dict[int, np.ndarray] = {}
        # of a ring on a GPU, by source: the numbers of its entries' last steps, and what they show, in main memory
        self._last: dict[int, tuple[np.ndarray, dict[str, np.ndarray]]] = {}
        # called before steps are overwritten, with the number of the first one that stays
        self.before_overwrite: Callable[[int], None] = lambda first_kept: None

    @property
    def first(self) -> int:
        """Number of the oldest step that is held."""
        return max(self.least, self.stop - self.capacity)

    @property
    def complete(self) -> int:
        """No step below this number changes any more."""
        waiting = [number for entries in self.waiting.values() for number in entries.tolist() if number >= self.first]
        return min(waiting, default=self.stop)

    def resize(self, capacity: int) -> None:
        """Hold the last `capacity` steps from now on; of those that are held, the newest stay under their numbers."""
        kept = np.arange(max(self.first, self.stop - capacity), self.stop)
        old, new = th.from_numpy(kept % self.capacity), th.from_numpy(kept % capacity)
        self.before_overwrite(self.stop - capacity)
        held, ahead = self.data, self.ahead
        self._allocate(capacity)
        for key, stored in self.data.items():
            stored[new.to(self.device)] = held[key][old.to(self.device)]
        self.ahead[new] = ahead[old]
        self.least = max(self.first, self.stop - capacity)
        self.capacity = capacity

    def _allocate(self, capacity: int) -> None:
        """Make `data`, the fields `[capacity, ...]`, and `ahead`, of zeros."""
        self.ahead = np.zeros(capacity, dtype=np.int32)
        derived = {new for new, _ in self.preprocess.values()} | {"filled"}
        self.data = {
            key: zeros_in(
                (capacity, *shape_at_a_step(info, self.groups)), storage_dtype(key, info), self.device, self._folder
            )
            for key, info in self.scheme.items()
            if key not in derived
        }

    def insert(self, batch: EpisodeBatch, rollout: bool, source: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Write a batch of B entries and T time steps over the oldest steps.

        Args:
            rollout: whether its entries continue those of the last one of its source.

        Returns:
            numbers of its steps, int64 `[B, T]`, -1 where nothing is filled; bool `[B, T - 1]`, the transitions that
            were really taken; bool `[B, T]`, the first known steps of episodes.

        Raises:
            MusterError: a value does not fit the type it is stored in.
        """
        filled, ended, valid, begins = _course(batch, rollout)
        new = filled.copy()
        if rollout:
            waiting = self._waiting_of(source, len(filled), int(np.count_nonzero(filled)))
            continued = self._continued(batch, filled[:, 0], waiting, source)
            begins[continued, 0] = new[continued, 0] = False
        numbers = np.full(filled.shape, -1, dtype=np.int64)
        count = int(np.count_nonzero(new))
        # of rollouts time comes first: then those that wait are the newest
        of_new = np.arange(self.stop, self.stop + count)
        if rollout:
            numbers.T[new.T] = of_new
            numbers[continued, 0] = waiting[continued]
        else:
            numbers[new] = of_new
        self.before_overwrite(self.stop + count - self.capacity)
        self.ahead[of_new % self.capacity] = 0
        self._write(batch, numbers)
        self.stop += count
        has_next = valid & filled[:, 1:]
        of, after = numbers[:, :-1][has_next], numbers[:, 1:][has_next]
        self.ahead[of % self.capacity] = after - of
        if rollout:
            # what follows an end shows how it ended, and gets no actions
            self.waiting[source] = np.where(ended[:, -2], -1, numbers[:, -1])
            if self.device != "cpu":
                self._last[source] = numbers[:, -1], self._shown(batch, -1)
        return numbers, valid, begins

    def _waiting_of(self, source: int, entries: int, most: int) -> np.ndarray:
        """The numbers that wait in a source's entries, without those that up to `most` new steps would overwrite."""
        waiting = self.waiting.get(source)
        if waiting is None or len(waiting) != entries:
            return np.full(entries, -1)
        return np.where(waiting >= self.stop + most - self.capacity, waiting, -1)

    def _continued(self, batch: EpisodeBatch, filled: np.ndarray, waiting: np.ndarray, source: int) -> np.ndarray:
        """The entries whose first step, `filled` bool `[B]`, is the frame that waits in them: bool `[B]`."""
        same = filled & (waiting >= 0)
        entries = np.flatnonzero(same)
        if not len(entries):
            return same
        now, then = self._shown(batch, 0), self._waits(source, waiting, entries)
        for key in self._observed:
            same[entries] &= _equal(now[key][entries], then[key]).reshape(len(entries), -1).all(axis=1)
        return same

    def _shown(self, batch: EpisodeBatch, t: int) -> dict[str, np.ndarray]:
        """What agents see at a time step of a batch, as it is stored, `[B, ...]`."""
        if self.device == "cpu" and str(batch.device) == "cpu":
            arrays = zip(self._observed, batch.arrays(self._observed), strict=True)
            return {key: field[:, t].astype(self.data[key].numpy().dtype, copy=False) for key, field in arrays}
        shown = [batch[key][:, t].to(self.data[key].dtype) for key in self._observed]
        return dict(zip(self._observed, received(shown), strict=True))

    def _waits(self, source: int, waiting: np.ndarray, entries: np.ndarray) -> dict[str, np.ndarray]:
        """What the steps `waiting[entries]` of a source show."""
        places = waiting[entries] % self.capacity
        if self.device == "cpu":
            return {key: self.data[key].numpy()[places] for key in self._observed}
        numbers, shown = self._last.get(source, (np.zeros(0), {}))
        if len(numbers) == len(waiting) and (numbers[entries] == waiting[entries]).all():
            return {key: values[entries] for key, values in shown.items()}
        there = to_device(th.from_numpy(places), self.device)
        return dict(zip(self._observed, received([self.data[key][there] for key in self._observed]), strict=True))

    def _write(self, batch: EpisodeBatch, numbers: np.ndarray) -> None:
        flat = numbers.reshape(-1)
        index = np.flatnonzero(flat >= 0)
        places = flat[index] % self.capacity
        if self.device == "cpu" and str(batch.device) == "cpu":
            # NumPy writes small things in a third of the time
            for (key, stored), field in zip(self.data.items(), batch.arrays(self.data), strict=True):
                into, values = stored.numpy(), field.reshape(len(flat), *field.shape[2:])[index]
                into[places] = values if values.dtype == into.dtype else narrowed(key, values, into.dtype)
            return
        away: list[th.Tensor] = []
        for key, stored in self.data.items():
            steps = batch[key].flatten(0, 1)
            if len(index) < len(flat):
                steps = steps[to_device(th.from_numpy(index), steps.device)]
            require_range(key, steps, stored.dtype)
            away.append(steps.to(stored.dtype))
        *there, to = moved([*away, to_device(th.from_numpy(places), away[0].device)], self.device)
        for stored, steps in zip(self.data.values(), there, strict=True):
            stored.index_copy_(0, to, steps)

    def following(self, numbers: np.ndarray) -> np.ndarray:
        """The numbers of the steps after these, of the same shape; the same number where none is known."""
        return numbers + self.ahead[numbers % self.capacity]

    def batch(self, numbers: np.ndarray, filled: np.ndarray | None = None) -> EpisodeBatch:
        """The steps `numbers` int64 `[B, T]` as a batch; zeros where `filled`, bool of the same shape, is false."""
        size, length = numbers.shape
        places = to_device(th.from_numpy(numbers.reshape(-1) % self.capacity), self.device)
        data: dict[str, th.Tensor] = {}
        for key, stored in self.data.items():
            values = stored.index_select(0, places)
            if (dtype := self.scheme[key].get("dtype", th.float32)) is not stored.dtype:
                values = values.to(dtype)
            data[key] = values.view(size, length, *stored.shape[1:])
        for key, (new_key, transforms) in self.preprocess.items():
            data[new_key] = applied(transforms, data[key])
        data["filled"] = self._ones.expand(size, length, 1)
        if filled is not None and not filled.all():
            here = to_device(th.from_numpy(filled), self.device)
            for key, values in data.items():
                data[key] = values * here.view(size, length, *[1] * (values.dim() - 2)).to(values.dtype)
        names = SimpleNamespace(transition_data=data, episode_data={})
        return EpisodeBatch(self.scheme, self.groups, size, length, data=names, device=self.device)


def _course(batch: EpisodeBatch, rollout: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Which steps are filled, which end an episode, both bool `[B, T]`; the rest as `FrameRing.insert` returns it.

    The same as `utils.rl_utils.valid_transitions` and `episode_starts`, which take four times as long for a few steps.
    """
    course = batch.course().arrays(("filled", "terminated", "truncated"))
    filled, terminated, truncated = (field[:, :, 0] != 0 for field in course)
    ended = terminated | truncated
    valid = filled[:, :-1] & (filled[:, 1:] | terminated[:, :-1])
    valid[:, 1:] &= ~ended[:, :-2]
    begins = filled.copy()
    begins[:, 1:] &= ~filled[:, :-1]
    if rollout:
        begins[:, 2:] |= ended[:, :-2] & filled[:, 2:]
    return filled, ended, valid, begins


def _equal(now: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Which numbers are equal, or both NaN: bool, of the same shape."""
    found = now == then
    return found if now.dtype.kind != "f" else found | ((now != now) & (then != then))
