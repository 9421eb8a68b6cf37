"""Episodes as tensors: `EpisodeBatch` (PyMARL's contract)."""

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from components.batch_items import MissingFieldError, check_safe_view, indexed_shape, is_index, num_items, select
from components.finite_values import first_non_finite
from components.one_copy import moved
from components.trajectories import MASKS, masks, trajectory_keys
from components.transforms import applied
from utils.tensors.devices import to_device
from utils.tensors.schemes import placing_fields

# the fields by which programs branch, which are read in main memory: where steps are, episodes begin and end, and
# agents are there
COURSE = ("filled", "terminated", "truncated", "starts", "begins", "present", "agents/terminated", "agents/truncated")


class EpisodeBatch:
    """A batch of episodes: `data[key]` has the shape `[batch, time, (group,) *vshape]`.

    Args:
        scheme: key -> {"vshape": int or tuple, "dtype": torch dtype (default float32),
            "group": name of a group (optional), "episode_const": True for one value an episode,
            "storage": a smaller type in which a ReplayBuffer keeps it (optional), "infinite": True where a value may
            be infinite}.
        groups: name of a group -> number of its members, e.g. {"agents": 3}.
        batch_size: number of episodes.
        max_seq_length: number of time steps, the closing state included.
        data: tensors to wrap instead of allocating zeros.
        preprocess: key -> (new key, [transforms]); the new key is derived whenever the key is written.
        device: where the tensors live.

    The reserved key "filled" (int64, `[batch, time, 1]`) is 1 where a step was written.
    Ints and slices on either axis give views; lists, arrays and LongTensors on the batch axis give copies.
    """

    def __init__(
        self,
        scheme: Mapping[str, dict],
        groups: Mapping[str, int],
        batch_size: int,
        max_seq_length: int,
        data: SimpleNamespace | None = None,
        preprocess: Mapping[str, tuple] | None = None,
        device: str | th.device = "cpu",
    ):
        self.scheme = dict(scheme)
        self.groups = groups
        self.batch_size = batch_size
        self.max_seq_length = max_seq_length
        self.preprocess = {} if preprocess is None else preprocess
        self.device = device
        self._arrays: dict[str, tuple[th.Tensor, np.ndarray]] = {}
        self._course: EpisodeBatch | None = None
        self.data = data or SimpleNamespace(transition_data={}, episode_data={})
        if data is None:
            self._setup_data()

    def _setup_data(self) -> None:
        if "filled" in self.scheme:
            raise ValueError("'filled' is a reserved key: it marks the steps that were written.")
        for key, (new_key, transforms) in self.preprocess.items():
            if key not in self.scheme:
                raise ValueError(f"preprocess names '{key}', which the scheme does not have.")
            source = self.scheme[key]
            vshape, dtype = source["vshape"], source["dtype"]
            for transform in transforms:
                vshape, dtype = transform.infer_output_info(vshape, dtype)
            kept = {name: source[name] for name in ("group", "episode_const") if name in source}
            self.scheme[new_key] = {"vshape": vshape, "dtype": dtype, **kept}
        self.scheme["filled"] = {"vshape": (1,), "dtype": th.long, "storage": th.uint8}
        for key, info in self.scheme.items():
            self._allocate(key, info)

    def extend(self, scheme: Mapping[str, dict], groups: Mapping[str, int] | None = None) -> None:
        """Add fields, all zeros.

        Args:
            scheme: of the new fields only.
            groups: of all fields, if the new ones bring groups.

        Raises:
            ValueError: a field that the batch has.
        """
        if taken := [key for key in scheme if key in self.scheme]:
            raise ValueError(f"The batch has a field '{taken[0]}' already.")
        if groups is not None:
            self.groups = {**self.groups, **groups}
        for key, info in scheme.items():
            self._allocate(key, info)
        self.scheme |= scheme

    def _allocate(self, key: str, info: dict) -> None:
        if "vshape" not in info:
            raise ValueError(f"The scheme of '{key}' has no vshape.")
        vshape = info["vshape"]
        shape = (vshape,) if isinstance(vshape, int) else tuple(vshape)
        group = info.get("group")
        if group:
            if group not in self.groups:
                raise ValueError(f"'{key}' belongs to the group '{group}', whose size is not given in groups.")
            shape = (self.groups[group], *shape)
        dtype = info.get("dtype", th.float32)
        if info.get("episode_const", False):
            self.data.episode_data[key] = self._zeros(key, (self.batch_size, *shape), dtype)
        else:
            shape = (self.batch_size, self.max_seq_length, *shape)
            self.data.transition_data[key] = self._zeros(key, shape, dtype)

    def _zeros(self, key: str, shape: tuple, dtype: th.dtype) -> th.Tensor:
        return th.zeros(shape, dtype=dtype, device=self.device)

    def to(self, device: str | th.device) -> None:
        """Move all tensors to `device`, in place."""
        self._course = self._course_here()
        self.data, self.device = self._data_on(device), device

    def on(self, device: str | th.device) -> "EpisodeBatch":
        """The batch, or if it is on another device a copy on `device`."""
        if str(device) == str(self.device):
            return self
        data, sizes = self._data_on(device), (self.batch_size, self.max_seq_length)
        batch = EpisodeBatch(self.scheme, self.groups, *sizes, data=data, preprocess=self.preprocess, device=device)
        batch._course = self._course_here()
        return batch

    def course(self) -> "EpisodeBatch":
        """The batch in main memory, by the fields of which programs branch: if it is on a GPU, with only these.

        Then the program waits for a copy, unless the batch, or the one that it was selected from, has come from main
        memory or was asked before. Later writes into its tensors do not count, but those of `update` do.
        """
        if str(self.device) == "cpu":
            return self
        if self._course is None:
            return self.brought_with_course([])[1]
        return self._course

    def brought_with_course(self, tensors: Sequence[th.Tensor]) -> tuple[list[th.Tensor], "EpisodeBatch"]:
        """Tensors of a GPU in main memory, and its `course`, which comes in the same copy if it was not known."""
        course = self._course
        fields = {} if course is not None else self[course_keys(self.scheme)].data.transition_data
        brought = moved([*tensors, *fields.values()], "cpu")
        if course is None:
            course = self.know_course(dict(zip(fields, brought[len(tensors) :], strict=True)))
        return brought[: len(tensors)], course

    def know_course(self, fields: Mapping[str, th.Tensor]) -> "EpisodeBatch":
        """Take these, which are in main memory, for its `course`."""
        scheme = {key: info for key, info in self.scheme.items() if key in fields}
        data = SimpleNamespace(transition_data=dict(fields), episode_data={})
        self._course = EpisodeBatch(scheme, self.groups, self.batch_size, self.max_seq_length, data=data)
        return self._course

    def _course_here(self) -> "EpisodeBatch | None":
        """What is known of its course in main memory: of a batch that is there, the tensors themselves."""
        if str(self.device) != "cpu":
            return self._course
        keys = course_keys(self.scheme)
        return EpisodeBatch._select_keys(self, keys) if keys else None

    def _data_on(self, device: str | th.device) -> SimpleNamespace:
        parts = self.data.transition_data, self.data.episode_data
        there = iter(moved([tensor for part in parts for tensor in part.values()], device))
        transition_data, episode_data = (dict(zip(part, there, strict=False)) for part in parts)
        return SimpleNamespace(transition_data=transition_data, episode_data=episode_data)

    def update(self, data: Mapping[str, Any], bs: Any = slice(None), ts: Any = slice(None), mark_filled: bool = True):
        """Write `data[key]` at episodes `bs` and steps `ts`, and the fields derived from it.

        Values are tensors, arrays or nested lists whose shape equals the destination's, up to axes of size 1.

        Raises:
            KeyError: a key that the scheme does not have.
            ValueError: a shape that does not fit ("Unsafe reshape").
        """
        batch_item, time_item = self._parse_slices((bs, ts))
        self._course = None
        for key, value in data.items():
            if key in self.data.transition_data:
                tensors, item = self.data.transition_data, (batch_item, time_item)
                if mark_filled:
                    tensors["filled"][item] = 1
                    mark_filled = False
            elif key in self.data.episode_data:
                tensors, item = self.data.episode_data, batch_item
            else:
                raise KeyError(f"{key} not found in transition or episode data")
            written = self._write(key, tensors[key], item, value)
            if key in self.preprocess:
                new_key, transforms = self.preprocess[key]
                self._write(new_key, tensors[new_key], item, applied(transforms, written))

    def _write(self, key: str, target: th.Tensor, item: Any, value: Any) -> th.Tensor:
        shape = indexed_shape(target, item)
        value = self._as_tensor(key, value, target)
        if value.shape != shape:
            check_safe_view(key, value.shape, shape)
            value = value.reshape(shape)
        target[item] = value
        return value

    def _as_tensor(self, key: str, value: Any, target: th.Tensor) -> th.Tensor:
        if isinstance(value, th.Tensor):
            return to_device(value, target.device).to(target.dtype)
        if isinstance(value, list | tuple) and value and isinstance(value[0], th.Tensor):
            return to_device(th.stack(tuple(value)), target.device).to(target.dtype)
        try:
            # NumPy joins lists of arrays some fifty times faster than torch does
            return to_device(th.as_tensor(np.asarray(value), dtype=target.dtype), target.device)
        except (TypeError, ValueError) as error:
            raise ValueError(f"The values given for '{key}' do not make one array of numbers: {error}") from None

    def arrays(self, keys: Iterable[str]) -> list[np.ndarray]:
        """Fields of steps as arrays `[B, T, ...]` on the tensors' memory, which is the CPU's; each is made once."""
        tensors, known, arrays = self.data.transition_data, self._arrays, []
        for key in keys:
            if key not in known or known[key][0] is not tensors[key]:  # or somebody gave the batch another tensor
                known[key] = tensors[key], tensors[key].numpy()
            arrays.append(known[key][1])
        return arrays

    def __getitem__(self, item: Any):
        if isinstance(item, str):
            if item in self.data.episode_data:
                return self.data.episode_data[item]
            if item in self.data.transition_data:
                return self.data.transition_data[item]
            raise MissingFieldError(f"The batch has no '{item}'; it has {', '.join(self.scheme)}.")
        if isinstance(item, tuple) and all(isinstance(key, str) for key in item):
            return self._select_keys(item)
        selected = self._select_items(self._parse_slices(item))
        if self._course is not None and not any(_on_gpu(x) for x in (item if isinstance(item, tuple) else (item,))):
            selected._course = self._course[item]
        return selected

    def _select_keys(self, keys: tuple[str, ...]) -> "EpisodeBatch":
        data = SimpleNamespace(transition_data={}, episode_data={})
        for key in keys:
            if key in self.data.transition_data:
                data.transition_data[key] = self[key]
            elif key in self.data.episode_data:
                data.episode_data[key] = self[key]
            else:
                raise KeyError(f"Unrecognised key {key}")
        scheme = {key: self.scheme[key] for key in keys}
        groups = {info["group"]: self.groups[info["group"]] for info in scheme.values() if "group" in info}
        return EpisodeBatch(scheme, groups, self.batch_size, self.max_seq_length, data=data, device=self.device)

    def _select_items(self, item: tuple) -> "EpisodeBatch":
        batch_item, time_item = item
        data = SimpleNamespace(
            transition_data={key: select(tensor, item) for key, tensor in self.data.transition_data.items()},
            episode_data={key: select(tensor, (batch_item,)) for key, tensor in self.data.episode_data.items()},
        )
        sizes = num_items(batch_item, self.batch_size), num_items(time_item, self.max_seq_length)
        return EpisodeBatch(self.scheme, self.groups, *sizes, data=data, device=self.device)

    def _parse_slices(self, items: Any) -> tuple:
        """Return (batch item, time item), each a slice or, on the batch axis only, a LongTensor."""
        if not isinstance(items, tuple):
            items = (items, slice(None))
        if len(items) != 2:
            raise IndexError(f"Index by episode and step, at most two items; got {len(items)}.")
        if not isinstance(items[1], slice) and not is_index(items[1]):
            raise IndexError("Indexing across Time must be contiguous")
        return self._parse_item(items[0]), self._parse_item(items[1])

    def _parse_item(self, item: Any) -> slice | th.Tensor:
        if isinstance(item, slice):
            return item
        if is_index(item):
            index = int(item)
            return slice(index, index + 1 if index != -1 else None)
        if isinstance(item, list | np.ndarray | th.Tensor):
            # a mask of episodes selects as it does in NumPy; a plain list would mean something else to torch
            given = th.as_tensor(item)
            if given.dtype == th.bool:
                if given.shape != (self.batch_size,):
                    raise IndexError(f"A mask of {tuple(given.shape)} does not fit {self.batch_size} episodes.")
                return to_device(given.nonzero().squeeze(1), self.device)
            if given.dim() != 1 or (given.numel() and given.is_floating_point()):
                raise IndexError(f"Episodes are selected by whole numbers in one list, not by {item}.")
            given = given.long()
            return to_device(th.where(given < 0, given + self.batch_size, given), self.device)
        raise IndexError(f"Cannot index a batch by {type(item).__name__}.")

    def max_t_filled(self) -> th.Tensor:
        """Steps of the longest episode, its closing state included: int64, shape [1]."""
        return th.sum(self.data.transition_data["filled"], 1).max(0)[0]

    def trajectories(self) -> dict[str, th.Tensor]:
        """The fields as Digideep's dictionary (`components.trajectories`): the batch's own memory, but for the masks.

        Values are `[B, T, ...]`, the last time step half a step; of `hidden_before`, which is the memory before the
        first, `[B, ...]`. Fields of agents have an axis for them.
        """
        keys = trajectory_keys(self.scheme, self.groups)
        return {key: self[name] for name, key in keys.items()} | {MASKS: masks(self)}

    @classmethod
    def of_trajectories(
        cls, trajectories: Mapping[str, th.Tensor], scheme: Mapping[str, dict], groups: Mapping[str, int]
    ) -> "EpisodeBatch":
        """The batch whose `trajectories()` these are, on their memory.

        Args:
            scheme: of the batch, derived fields and "filled" included.

        Raises:
            ValueError: a field is missing.
        """
        keys = trajectory_keys(scheme, groups)
        if missing := [key for key in keys.values() if key not in trajectories]:
            raise ValueError(f"The trajectories have no '{missing[0]}'; they have {', '.join(trajectories)}.")
        data = SimpleNamespace(transition_data={}, episode_data={})
        for name, key in keys.items():
            constant = scheme[name].get("episode_const", False)
            (data.episode_data if constant else data.transition_data)[name] = trajectories[key]
        filled = data.transition_data["filled"]
        return cls(scheme, groups, filled.size(0), filled.size(1), data=data, device=str(filled.device))

    def first_non_finite(self) -> str | None:
        """The place, in words, of the first value that is NaN, or infinite where the scheme does not allow it."""
        return first_non_finite(self)

    def __getstate__(self) -> dict[str, Any]:
        # a copy's arrays would not be on the memory of its tensors
        return {**vars(self), "_arrays": {}, "_course": None}

    def __repr__(self) -> str:
        return (
            f"EpisodeBatch. Batch Size:{self.batch_size} Max_seq_len:{self.max_seq_length} "
            f"Keys:{self.scheme.keys()} Groups:{self.groups.keys()}"
        )


def _on_gpu(item: Any) -> bool:
    return isinstance(item, th.Tensor) and item.device.type != "cpu"


def course_keys(scheme: Mapping[str, dict]) -> tuple[str, ...]:
    """Those that a batch of this scheme has, with the fields by which networks of entities lay out their tokens."""
    return (*(key for key in COURSE if key in scheme), *placing_fields(scheme))
