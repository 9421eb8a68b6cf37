"""The buffer of on-policy learners: the newest rollout."""

from types import SimpleNamespace
from typing import Any

from components.episode_batch import EpisodeBatch
from components.sizing import SAMPLE, batch_bytes
from utils.processes.available_memory import require_memory
from utils.rl_utils import valid_transitions
from utils.tensors.devices import device_memory, same_device


class NewestRollout:
    """Holds the newest rollout as it was played; a sample is all of it (`Buffer`).

    It copies only to another device, if the learner computes on another one than acting. Checkpoints leave it out: the
    next rollout replaces it before the next sample.

    Raises:
        MusterError: a rollout is larger than the memory where the learner computes.
    """

    journal = None

    def __init__(
        self, scheme: dict, groups: dict, max_seq_length: int, preprocess: dict, args: SimpleNamespace, logger: Any
    ) -> None:
        size = batch_bytes(scheme, groups, preprocess, args.batch_size_run, max_seq_length)
        self.takes = [(SAMPLE, args.device, size)]
        require_memory(
            f"A training sample (a rollout of {args.batch_size_run} environments)",
            size,
            device_memory(args.device),
            "Choose a smaller batch_size_run.",
        )
        self.kept_on = self.taken_on = args.device
        # for the derived fields
        self.scheme = EpisodeBatch(scheme, groups, 1, 1, preprocess=preprocess, device="meta").scheme
        self.groups, self.preprocess = groups, preprocess
        self._rollout: EpisodeBatch | None = None
        self._transitions = 0

    def insert(self, batch: EpisodeBatch, source: int = 0) -> int:
        course = batch.course()
        self._rollout = batch[:, : int(course.max_t_filled())]
        if not same_device(self._rollout.device, self.kept_on):
            self._rollout.to(self.kept_on)
        self._transitions = int(valid_transitions(course).sum())
        return self._transitions

    def ready(self) -> bool:
        return self._rollout is not None

    def sample(self) -> EpisodeBatch:
        if self._rollout is None:
            raise ValueError("Nothing has been played yet.")
        return self._rollout

    def sample_size(self) -> float:
        return float(self._transitions)

    def state_dict(self) -> dict:
        return {}

    def load_state_dict(self, state: dict) -> None:
        """There is nothing to take over."""
