"""The number of updates after each rollout."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from utils.errors import ConfigError


class UpdatePlan(Protocol):
    """Decides after every rollout how many updates are due. The loop skips those for which the buffer is not ready."""

    def due(self, added: int) -> int:
        """The number of updates after a rollout of `added` transitions; called once for each rollout."""

    def owe(self, uses: int) -> None:
        """Add so many uses of transitions to those that are due; a plan that does not count them has no effect."""

    def state_dict(self) -> dict[str, float]: ...

    def load_state_dict(self, state: dict[str, float]) -> None: ...


class Supply(NamedTuple):
    """What a buffer has to learn from.

    `new`: transitions of the last rollout, without those held out; `held`: of all; `start`: those that it waits for;
    `filling`: whether it is not full yet; `capacity`: in steps.
    """

    new: int
    held: int
    start: int
    filling: bool
    capacity: int


class UpdatesPerRollout:
    """`updates` after each rollout, whatever its size (the key updates_per_rollout)."""

    def __init__(self, updates: int):
        self._updates = updates

    def due(self, added: int) -> int:
        return self._updates

    def owe(self, uses: int) -> None:
        """Updates do not go by uses."""

    def take_live(self, key: str, value: Any) -> None:
        """Raises: ConfigError: a replay ratio, which this plan does not have."""
        if key == "samples_per_insert":
            raise ConfigError(
                "samples_per_insert: the run makes updates_per_rollout; only a run that has one can change it."
            )

    def state_dict(self) -> dict[str, float]:
        return {}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """There is no state to restore."""


class UsesPerTransition:
    """As many updates as it takes for each transition to be in `uses` samples on average (the key samples_per_insert).

    Every rollout adds `uses` times its transitions to a debt; an update pays off `sample_size()` of them. The rest,
    less than a sample, carries over to the next rollout.

    Args:
        uses: above 0; 0.25, say, trains on every fourth transition.
        sample_size: the mean number of transitions in a sample, 0 as long as it is unknown.
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

    def owe(self, uses: int) -> None:
        self._owed += uses

    def take_live(self, key: str, value: Any) -> None:
        """Take another `samples_per_insert` while the run is under way.

        Raises:
            ConfigError: it is 0.
        """
        if key == "samples_per_insert":
            if not value:
                raise ConfigError("samples_per_insert=0: it can be changed to another ratio only.")
            self._uses = value

    def state_dict(self) -> dict[str, float]:
        return {"owed": self._owed}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Raises: ValueError: it does not come from `state_dict`."""
        if set(state) != {"owed"} or type(state["owed"]) is not float:
            raise ValueError("the state of the update plan has other entries")
        self._owed = state["owed"]


class UsesFromTheStart(UsesPerTransition):
    """Linesight's pace: uses count from the transitions on that the buffer waits for.

    The first `start` transitions give no updates, however large the rollout is that brings them; those that are held
    out give none either. One update is lent: what is owed after a rollout is below 0. While a buffer of more than
    `LARGE` steps fills, an update counts `FEWER` times.

    Args:
        supply: of the buffer, after each rollout.
    """

    LARGE, FEWER = 200_000, 4

    def __init__(self, uses: float, sample_size: Callable[[], float], supply: Callable[[], Supply]):
        super().__init__(uses, sample_size)
        self._supply = supply

    def due(self, added: int) -> int:
        now, size = self._supply(), self._sample_size()
        self._owed += self._uses * now.new
        beyond = self._owed - self._uses * now.start
        if beyond < 0 or size <= 0 or now.held < max(now.start, size):
            return 0
        paid = size * (self.FEWER if now.filling and now.capacity > self.LARGE else 1)
        updates = int(beyond // paid) + 1
        self._owed -= updates * paid
        return updates
