"""How many updates follow what was played."""

from collections.abc import Callable
from typing import Protocol


class UpdatePlan(Protocol):
    """Says after every rollout how many updates are due. Those for which the buffer is not ready yet are left out."""

    def due(self, added: int) -> int:
        """How many updates follow a rollout of `added` transitions; to be asked once for each rollout."""

    def state_dict(self) -> dict[str, float]: ...

    def load_state_dict(self, state: dict[str, float]) -> None: ...


class UpdatesPerRollout:
    """`updates` after each rollout, however much it brought (the key updates_per_rollout)."""

    def __init__(self, updates: int):
        self._updates = updates

    def due(self, added: int) -> int:
        return self._updates

    def state_dict(self) -> dict[str, float]:
        return {}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """There is nothing to take over."""


class UsesPerTransition:
    """As many updates as it takes for each transition to be in `uses` samples on average (the key replay_ratio).

    Every rollout adds `uses` times its transitions to what is owed; an update pays off `sample_size()` of them. What is
    left, less than a sample, is carried over to the next rollout.

    Args:
        uses: above 0; 0.25, say, trains on every fourth transition.
        sample_size: how many transitions a sample has on average, 0 as long as that is not known.
    """

    def __init__(self, uses: float, sample_size: Callable[[], float]):
        self._uses, self._sample_size = uses, sample_size
        self._owed = 0.0

    def due(self, added: int) -> int:
        self._owed += self._uses * added
        size = self._sample_size()
        if size <= 0:
            return 0
        updates = int(self._owed // size)
        self._owed -= updates * size
        return updates

    def state_dict(self) -> dict[str, float]:
        return {"owed": self._owed}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Raises: ValueError: it is not what `state_dict` returns."""
        if set(state) != {"owed"} or type(state["owed"]) is not float:
            raise ValueError("the state of the update plan has other entries")
        self._owed = state["owed"]
