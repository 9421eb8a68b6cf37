"""The buffer of off-policy learners: the last episodes."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from components.buffers.episode_journal import EpisodeJournal
from components.buffers.place import place_of
from components.buffers.replay_buffer import ReplayBuffer
from components.episode_batch import EpisodeBatch
from components.sizing import REPLAY, SAMPLE, batch_bytes
from utils.errors import ConfigError
from utils.processes.available_memory import require_memory
from utils.rl_utils import valid_transitions
from utils.sizes import readable_size
from utils.tensors.devices import device_memory, same_device


class EpisodeReplay:
    """The last `buffer_size` episodes (or rows of rollouts); a sample is `batch_size` different ones (`Buffer`).

    Raises:
        MusterError: it, or a sample of it, is larger than the memory there is.
    """

    def __init__(
        self, scheme: dict, groups: dict, max_seq_length: int, preprocess: dict, args: SimpleNamespace, logger: Any
    ) -> None:
        self._batch_size, self._device = args.batch_size, args.device
        self._rows = self._sample_rows(args)
        self.taken_on = "cpu"
        episode = batch_bytes(scheme, groups, preprocess, 1, max_seq_length, kind=ReplayBuffer)
        size = args.buffer_size * episode
        device, told = place_of(args.buffer_cpu_only, args.device, size)
        self.kept_on = device
        _require_memory(scheme, groups, max_seq_length, preprocess, args, device, episode, self._rows)
        figures = f"{args.buffer_size} episodes, up to {readable_size(size)}"
        logger.console_logger.info(f"Replay buffer: {figures}{told}")
        sample = batch_bytes(scheme, groups, preprocess, self._rows, max_seq_length)
        self.takes = [(REPLAY, device, size), (SAMPLE, args.device, sample)]
        self.episodes = ReplayBuffer(
            scheme, groups, args.buffer_size, max_seq_length, preprocess=preprocess, device=device
        )
        self.scheme, self.groups, self.preprocess = self.episodes.scheme, groups, preprocess
        # of the episode in each place
        self._transitions = np.zeros(args.buffer_size, dtype=np.int64)
        self.journal = EpisodeJournal(self.episodes, self._transitions)

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
        self._transitions[np.arange(stop - len(kept), stop) % len(self._transitions)] = kept
        return int(transitions.sum())

    def ready(self) -> bool:
        return self.episodes.can_sample(self._batch_size)

    def sample(self) -> EpisodeBatch:
        # trim to the longest episode
        sample = self.episodes.sample(self._batch_size, trimmed=True)
        if not same_device(sample.device, self._device):
            sample.to(self._device)
        return sample

    def sample_size(self) -> float:
        held = self.episodes.episodes_in_buffer
        return self._rows * float(self._transitions[:held].mean()) if held else 0.0

    def state_dict(self) -> dict[str, int]:
        return {"inserted": self.episodes.inserted}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.episodes.count_to(int(state["inserted"]))


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
    require_memory(
        f"The replay buffer ({args.buffer_size} episodes)",
        args.buffer_size * episode,
        device_memory(device),
        f"An episode takes up to {readable_size(episode)}. Choose {' or '.join(choices)}.",
    )
    require_memory(
        f"A training sample ({rows} episodes)",
        batch_bytes(scheme, groups, preprocess, rows, max_seq_length),
        device_memory(args.device),
        "Choose a smaller batch_size.",
    )
