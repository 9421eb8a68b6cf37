"""The contract between the training loop and the parts that let the runner play."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from components.episode_batch import EpisodeBatch
from runners.contract import Runner
from utils.completed import Completed
from utils.numbers.random_streams import RandomStream


@dataclass(frozen=True)
class Experience:
    """One rollout of training.

    Args:
        batch: as the runner returned it; None: nothing was played, and an update is due of what the buffers have.
        t_env: environment steps of the run up to its end.
        episodes: the number of its episodes.
        lag: the number of rollouts before it that its weights have not learned from.
        learning: the groups that were played by the newest models, which learn from it; None: all.
        source: the number of the runner that played it; its rows continue those of the last rollout of that runner.
        best: the episodes in it that are better than all before (`runners.best_episodes`).
    """

    batch: EpisodeBatch | None
    t_env: int
    episodes: int
    lag: int
    learning: frozenset[str] | None = None
    source: int = 0
    best: Sequence[dict[str, Any]] = ()


class Opponents(Protocol):
    """Chooses which models play the groups of agents (`collection.opponents`)."""

    # the groups that were played by the newest models in the last rollout of training
    learning: frozenset[str]

    def draw(self, t_env: int) -> None:
        """Choose who plays the next rollout of training, after `t_env` steps; the controllers that act then do so."""

    def take_episode(self, info: Mapping[str, Any]) -> None:
        """An episode of training has ended that was played by the same models from start to end.

        Args:
            info: the last one, with the return of each group: `<group>/return`.
        """

    def continue_rollout(self) -> None:
        """Let those play the rest of a rollout of training who played its beginning, in a resumed run."""

    def rest(self) -> None:
        """Let the newest models play all groups."""

    def test(self, runner: Runner, stream: RandomStream) -> Iterator[None]:
        """Play what is left of a test against other models, with its random numbers, and log the results.

        Yields:
            after each rollout.
        """

    def state_dict(self) -> dict[str, Any]:
        """Everything that later draws and tests depend on."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken; the next rollout or test chooses who plays."""


class Collection:
    """Lets a runner play rollouts and tests, with weights that it fetches from the learner's controller.

    Attributes:
        runner: plays the tests, and unless others do, the rollouts.
        t_env: environment steps up to the last rollout taken; the runner's own count may be ahead.
        weights_changed: set after each update of the learner's weights; a collection may clear it when it has fetched
            them.
        opponents: chooses who plays which group (`collection.opponents`); None: the newest models all.
    """

    runner: Runner
    t_env: int
    weights_changed: bool
    opponents: Opponents | None = None

    @property
    def steps_in_play(self) -> int:
        """Steps of a rollout that a stop has interrupted."""
        return 0

    @property
    def dropped_because(self) -> str:
        """Why the last `state_dict` does not have these steps; empty if it has."""
        return ""

    def collect_by(self, players_of: Callable) -> None:
        """If rollouts are played in other processes, they build their players with this function of a module.

        Args:
            players_of: (args, logger) -> (runner, controller).
        """

    def take(self) -> Experience:
        """The next rollout. Its log entries are written now; a fault in it is raised here.

        Raises:
            StopPlaying: that was requested (`utils.processes.stopping`).
        """
        raise NotImplementedError

    def begin_next(self) -> None:
        """Called after `take`, before the learner trains on it: the loop will want another rollout.

        No test may be played before that one is taken.
        """

    def test(self, stream: RandomStream, played: int = 0) -> Iterator[int]:
        """Play a test of `test_nepisode` episodes with the newest weights and the random numbers of `stream`.

        Args:
            played: the number of its rollouts that the resumed run has played.

        Yields:
            after each rollout, how many were played.
        """
        raise NotImplementedError

    def log_pending(self) -> None:
        """At the end of a run, log the statistics of training that are not due yet."""

    def figures(self) -> Mapping[str, float]:
        """Statistics of the summary."""
        return {}

    def settle(self) -> None:
        """Wait until the runner is idle; the next `take` returns its rollout."""

    def state_dict(self) -> dict[str, Any]:
        """Counts, the runner's state, and a rollout that was not taken; settles before."""
        raise NotImplementedError

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from where `state_dict` was taken."""
        raise NotImplementedError

    def close(self) -> None:
        """Wait until the runner is idle; may be called twice."""


class PlainCollection(Completed, Collection):
    """A collection of the user's own that lacks some of the contract."""
