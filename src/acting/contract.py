"""What the loop asks of whatever lets the runner play."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from components.episode_batch import EpisodeBatch
from utils.random_streams import RandomStream


@dataclass(frozen=True)
class Experience:
    """One rollout of training.

    Args:
        batch: as the runner returned it.
        t_env: environment steps of the run up to its end.
        episodes: how many it brought.
        lag: how many rollouts came before it that its weights have not learned from.
    """

    batch: EpisodeBatch
    t_env: int
    episodes: int
    lag: int


class Acting(Protocol):
    """Lets a runner play rollouts and tests, with weights that it fetches from the learner's controller."""

    # environment steps up to the last rollout taken; the runner's own count may be ahead
    t_env: int

    def take(self) -> Experience:
        """The next rollout. Whatever was logged while it was played is logged now; a fault of it is raised here."""

    def begin_next(self) -> None:
        """Called after `take`, before anything is learned from it: another rollout will be wanted.

        No test may be played before it was taken.
        """

    def test(self, stream: RandomStream, played: int = 0) -> Iterator[int]:
        """Play a test of `test_nepisode` episodes with the newest weights and the random numbers of `stream`.

        Args:
            played: how many rollouts of it were played before (by the run that is resumed).

        Yields:
            after each rollout, how many were played.
        """

    def settle(self) -> None:
        """Wait until nothing is being played; what was is returned by the next `take`."""

    def state_dict(self) -> dict[str, Any]:
        """Counts, the runner's state, and what was played and not taken; settles before."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken."""

    def close(self) -> None:
        """Wait until nothing is being played; may be called twice."""
