"""The buffer of off-policy learners: the last episodes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as th

from components.buffers import REGISTRY
from components.buffers.episode_journal import EpisodeJournal
from components.buffers.place import place_of, require_disk
from components.buffers.priorities import drawn_places
from components.buffers.replay_buffer import ReplayBuffer
from components.buffers.sum_tree import SumTree
from components.episode_batch import EpisodeBatch
from components.one_copy import received
from components.sampling.fields import add_constant
from components.sizing import REPLAY, SAMPLE, batch_bytes
from utils.config.merging import with_defaults
from utils.errors import ConfigError
from utils.processes.available_memory import require_memory
from utils.rl_utils import valid_transitions
from utils.sizes import readable_size
from utils.tensors.devices import CPU, device_memory, same_device


class EpisodeReplay:
    """The last `buffer_size` episodes (or rows of rollouts); a sample is `batch_size` different ones (`Buffer`).

    With `priority_alpha`, they are drawn in proportion to their priority to this power, with replacement, and a sample
    has the constant fields `ids` (int64 `[B]`) and `weights` (float32 `[B]`), as those of `TransitionReplay`.

    Raises:
        MusterError: it, or a sample of it, is larger than the memory there is.
    """

    def __init__(
        self, scheme: dict, groups: dict, max_seq_length: int, preprocess: dict, args: SimpleNamespace, logger: Any
    ) -> None:
        args = with_defaults(args, REGISTRY.defaults_of(type(self)))
        self._batch_size, self._device = args.batch_size, args.device
        self._rows = self._sample_rows(args)
        self.taken_on = "cpu"
        episode = batch_bytes(scheme, groups, preprocess, 1, max_seq_length, kind=ReplayBuffer)
        size = args.buffer_size * episode
        device, told = (CPU, "") if args.buffer_folder else place_of(args.buffer_cpu_only, args.device, size)
        self.kept_on = device
        _require_memory(scheme, groups, max_seq_length, preprocess, args, device, episode, self._rows)
        figures = f"{args.buffer_size} episodes, up to {readable_size(size)}"
        logger.console_logger.info(f"Replay buffer: {figures}{told}")
        sample = batch_bytes(scheme, groups, preprocess, self._rows, max_seq_length)
        self.takes = [(REPLAY, device, size), (SAMPLE, args.device, sample)]
        self.episodes = ReplayBuffer(
            scheme,
            groups,
            args.buffer_size,
            max_seq_length,
            preprocess=preprocess,
            device=device,
            folder=args.buffer_folder,
        )
        self.scheme, self.groups, self.preprocess = self.episodes.scheme, groups, preprocess
        # of the episode in each place
        self._transitions = np.zeros(args.buffer_size, dtype=np.int64)
        self.journal = EpisodeJournal(self.episodes, self._transitions)
        self._priorities = self._build_priorities(args)

    def _build_priorities(self, args: SimpleNamespace) -> "Priorities | None":
        return Priorities(self.episodes, args) if args.priority_alpha else None

    @staticmethod
    def _sample_rows(args: SimpleNamespace) -> int:
        """Episodes of a sample."""
        return args.batch_size

    def take_live(self, key: str, value: Any) -> None:
        """Raises: ConfigError: another size."""
        if key == "buffer_size":
            raise ConfigError("buffer_size: only buffer=transitions can change its size.")

    def insert(self, batch: EpisodeBatch, source: int = 0) -> int:
        transitions = valid_transitions(batch).sum(1).flatten().long().cpu().numpy()
        kept = transitions[-len(self._transitions) :]
        self.episodes.insert_episode_batch(batch)
        stop = self.episodes.inserted
        places = np.arange(stop - len(kept), stop) % len(self._transitions)
        self._transitions[places] = kept
        if self._priorities is not None:
            self._priorities.add(places)
        return int(transitions.sum())

    def ready(self) -> bool:
        return self.episodes.can_sample(self._batch_size)

    def sample(self) -> EpisodeBatch:
        # trim to the longest episode
        if self._priorities is None:
            sample = self.episodes.sample(self._batch_size, trimmed=True)
        else:
            sample = self._priorities.sample(self._batch_size)
        if not same_device(sample.device, self._device):
            sample.to(self._device)
        return sample

    def update_priorities(self, ids: th.Tensor, values: th.Tensor) -> None:
        """Give episodes the priorities `values`, 0 or more, to the power `priority_alpha` (`PrioritisedBuffer`)."""
        if self._priorities is not None:
            self._priorities.update(ids, values)

    def sample_size(self) -> float:
        held = self.episodes.episodes_in_buffer
        return self._rows * float(self._transitions[:held].mean()) if held else 0.0

    def state_dict(self) -> dict[str, Any]:
        """Counts, and priorities, which change later."""
        own = {} if self._priorities is None else self._priorities.state_dict()
        return {"inserted": self.episodes.inserted, **own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: it is of a buffer with priorities, and this one has none, or the reverse."""
        if ("priorities" in state) != (self._priorities is not None):
            raise ValueError("the buffer has other fields")
        self.episodes.count_to(int(state["inserted"]))
        if self._priorities is not None:
            self._priorities.load_state_dict(state)


class Priorities:
    """Of the episodes in the places of a buffer, by which they are drawn; new ones have the largest so far."""

    def __init__(self, episodes: ReplayBuffer, args: SimpleNamespace):
        self._episodes, self.args = episodes, args
        self.tree, self._largest = SumTree(args.buffer_size), 1.0

    @property
    def _first(self) -> int:
        """The number of the oldest episode."""
        return self._episodes.inserted - self._episodes.episodes_in_buffer

    def add(self, places: np.ndarray) -> None:
        self.tree.put(places, self._largest**self.args.priority_alpha)

    def sample(self, size: int) -> EpisodeBatch:
        """Raises: ValueError: there are fewer."""
        held, first = self._episodes.episodes_in_buffer, self._first
        if held < size:
            raise ValueError(f"Cannot sample {size} episodes from {held}.")
        places, weights = drawn_places(self.tree, size, held, self.args.priority_beta)
        numbers = first + (places - first) % self._episodes.buffer_size
        sample = self._episodes.of_rows(th.from_numpy(places))
        add_constant(sample, {"ids": th.from_numpy(numbers), "weights": th.from_numpy(weights)})
        return sample

    def update(self, ids: th.Tensor, values: th.Tensor) -> None:
        numbers, priorities = received([ids, values.double()])
        priorities = priorities + self.args.priority_epsilon
        here = numbers >= self._first
        self.tree.put(numbers[here] % self._episodes.buffer_size, priorities[here] ** self.args.priority_alpha)
        self._largest = max(self._largest, float(priorities.max(initial=0.0)))

    def state_dict(self) -> dict[str, Any]:
        held = self._episodes.episodes_in_buffer
        return {"priorities": self.tree.priorities[:held].copy(), "largest_priority": self._largest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.tree.put(np.arange(len(state["priorities"])), state["priorities"])
        self._largest = float(state["largest_priority"])


def _require_memory(
    scheme: dict,
    groups: dict,
    max_seq_length: int,
    preprocess: dict,
    args: SimpleNamespace,
    device: str,
    episode: int,
    rows: int,
) -> None:
    """Refuse a buffer of episodes of so many bytes, or a sample of `rows`, that is larger than the memory there is.

    Raises:
        MusterError: one of them is.
    """
    choices = ["a smaller buffer_size"]
    if args.buffer_dtype == "float32":
        choices.append("buffer_dtype=float16")
    if device != "cpu":
        choices.append("buffer_cpu_only=True")
    choices.append("a buffer_folder on a disk")
    what, size = f"The replay buffer ({args.buffer_size} episodes)", args.buffer_size * episode
    advice = f"An episode takes up to {readable_size(episode)}. Choose {' or '.join(choices)}."
    if args.buffer_folder:
        require_disk(what, size, args.buffer_folder)
    else:
        require_memory(what, size, device_memory(device), advice)
    require_memory(
        f"A training sample ({rows} episodes)",
        batch_bytes(scheme, groups, preprocess, rows, max_seq_length),
        device_memory(args.device),
        "Choose a smaller batch_size.",
    )
