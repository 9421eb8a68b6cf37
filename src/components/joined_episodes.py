"""Whole episodes from batches: their entries, or the pieces of them in consecutive rollouts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from components.episode_batch import EpisodeBatch
from utils.tensors.schemes import is_rollout


@dataclass
class JoinedEpisode:
    """An episode that ended at the time step `step` of the entry `entry` of the last batch.

    `values`: of each field `[L + 1, ...]` for L steps; the last entry is the closing state.
    """

    entry: int
    step: int
    terminated: bool
    values: dict[str, np.ndarray]


class JoinedEpisodes:
    """Joins the pieces of episodes in consecutive rollouts of the same copies; whole episodes stay whole.

    Args:
        fields: of the batches, those that episodes get.
    """

    def __init__(self, fields: Sequence[str]):
        self.fields = list(fields)
        # the last steps of earlier rollouts, the oldest first, and where the episode of each entry begins, counted from
        # the first step of the next rollout
        self._earlier: list[dict[str, np.ndarray]] = []
        self._begin: np.ndarray | None = None

    def take(self, batch: EpisodeBatch, only: Collection[tuple[int, int]] | None = None) -> list[JoinedEpisode]:
        """The episodes that end in a batch, in the order of entries and steps.

        Args:
            batch: whole episodes, or the rollout after the last one.
            only: (entry, step) of the ends of those that are wanted; None: all.
        """
        rollout = is_rollout(batch)
        if str(batch.device) != "cpu":
            batch = batch[tuple({"filled", "terminated", "truncated", *self.fields})].on("cpu")
        parts = [batch[end].numpy()[..., 0].astype(bool) for end in ("terminated", "truncated")]
        filled = batch["filled"].numpy()[..., 0].astype(bool)
        ended = parts[0] | parts[1]
        begin = self._begin if rollout and self._begin is not None else np.zeros(batch.batch_size, dtype=np.int64)
        # an episode that was lost in the first step is void; the next one begins after it
        begin[~filled[:, 0]] = 1
        found, last = [], batch.max_seq_length - 1
        wanted = None if only is None else set(only)
        values: dict[str, np.ndarray] = {}
        for entry, step in np.argwhere(ended).tolist():
            # one that was lost at its first step ends before it begins
            if step >= begin[entry] and (wanted is None or (entry, step) in wanted):
                values = values or self._arrays(batch)
                episode = {
                    field: self._joined(field, values[field], entry, begin[entry], step) for field in self.fields
                }
                found.append(JoinedEpisode(entry, step, bool(parts[0][entry, step]), episode))
            begin[entry] = min(step + 2, last)
        if rollout:
            self._begin = begin - last
            steps = {field: array[:, :last].copy() for field, array in (values or self._arrays(batch)).items()}
            self._keep(-int(self._begin.min()), steps)
        return found

    def forget(self) -> None:
        """The copies start new episodes."""
        self._earlier, self._begin = [], None

    def state_dict(self) -> dict:
        return {"earlier": self._earlier, "begin": self._begin}

    def load_state_dict(self, state: dict) -> None:
        """Resume from where `state_dict` was taken."""
        self._earlier = [dict(piece) for piece in state["earlier"]]
        self._begin = state["begin"]

    def _arrays(self, batch: EpisodeBatch) -> dict[str, np.ndarray]:
        return {field: batch[field].numpy() for field in self.fields}

    def _joined(self, field: str, present: np.ndarray, entry: int, begin: int, step: int) -> np.ndarray:
        pieces = [present[entry, max(begin, 0) : step + 2]]
        missing = -min(begin, 0)
        for earlier in reversed(self._earlier):
            if missing <= 0:
                break
            pieces.append(earlier[field][entry, max(len(earlier[field][entry]) - missing, 0) :])
            missing -= len(pieces[-1])
        return np.concatenate(pieces[::-1])

    def _keep(self, needed: int, steps: dict[str, np.ndarray]) -> None:
        """Add the steps of a rollout, and keep the last `needed`, which unfinished episodes have."""
        self._earlier.append(steps)
        lengths = [next(iter(piece.values())).shape[1] if piece else 0 for piece in self._earlier]
        k = len(lengths)
        while k > 0 and needed > 0:
            k -= 1
            needed -= lengths[k]
        del self._earlier[:k]
