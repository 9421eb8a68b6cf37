"""What a run asks of its runner."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from components.episode_batch import EpisodeBatch
from envs.contract.fields import EnvSpec
from runners.best_episodes import BestEpisodes
from utils.completed import Completed

# by name: the sum of a figure over episodes, or the list of a group's returns
Stats = dict[str, Any]


class Runner:
    """PyMARL's contract, and what Muster asks beyond it, with the values of a runner that knows nothing of that.

    Attributes:
        test_batch_size: episodes that a call with `test_mode` plays side by side.
        episodes_brought: how far the last call took the run's count of episodes.
        spec: the fields of its environments; None: those of PyMARL's.
        batch_scheme, batch_columns: of its batches, if these are not whole episodes.
        batch: the last one.
        recorder: of replays, see `replays.recorder.Recorder`.
        environments_restored: `load_state_dict` restored the environments too, so that episodes continue where they
            were.
        last_infos: the last infos of the episodes that ended in the last batch, by row and column of their last steps.
        steps_in_play: steps of the rollout that is being played, 0 between two.
        dropped_because: why the last `state_dict` does not have these steps; empty if it has.
        continues: the next call ends the rollout that was being played when the run stopped.
        test_unfinished: a test is in progress and not yet logged: crashes may make it longer.
        on_test_episode: called with each episode that counts in a test: copy, return, length, info.
        plays_matches, on_match_episode: whether it heeds the latter: if that is set, test episodes are none of a test,
            and it gets the info of each that was not lost, with its `return`.
        on_whole_episode: called with the info of each episode of training that began and ended in one rollout.
    """

    args: SimpleNamespace
    batch_size: int
    test_batch_size: int
    episodes_brought: int
    t_env: int
    train_returns: list[float]
    train_stats: Stats
    spec: EnvSpec | None = None
    batch_scheme: dict[str, dict] | None = None
    batch_columns: int | None = None
    batch: EpisodeBatch | None = None
    recorder: Any = None
    environments_restored = True
    last_infos: Mapping[tuple[int, int], Mapping] = {}
    best_episodes: BestEpisodes | None = None
    steps_in_play = 0
    dropped_because = ""
    continues = False
    test_unfinished = False
    on_test_episode: Callable[[int, float, int, dict], None] | None = None
    plays_matches = False
    on_match_episode: Callable[[dict], None] | None = None
    on_whole_episode: Callable[[dict], None] | None = None

    def get_env_info(self) -> dict[str, Any]:
        """PyMARL's sizes of the environment."""
        raise NotImplementedError

    def setup(self, scheme: dict, groups: dict, preprocess: dict, mac: Any) -> None:
        """Set the scheme of the batches and the controller that acts."""
        raise NotImplementedError

    def run(self, test_mode: bool = False) -> EpisodeBatch:
        """Play, and return the batch."""
        raise NotImplementedError

    def close_env(self) -> None:
        """End the environments; may be called twice."""
        raise NotImplementedError

    def save_replay(self) -> None:
        """Save a replay of the environment that tests play on. Raises: NotImplementedError: it has no replays."""
        raise NotImplementedError

    def log_pending(self) -> None:
        """Log the training episodes that have ended since the last time, if there are any."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that later calls depend on."""
        raise NotImplementedError

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume, after `setup`, from where `state_dict` was taken."""
        raise NotImplementedError


class PlainRunner(Completed, Runner):
    """A runner of PyMARL's, or as PyMARL's: its state is its counts."""

    @property
    def test_batch_size(self) -> int:  # type: ignore[override]
        return self.batch_size

    @property
    def episodes_brought(self) -> int:  # type: ignore[override]
        return self.batch_size

    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self._part).items() if type(value) in (int, float)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: the runner has other counts."""
        if not set(state) <= set(self.state_dict()) or not all(type(x) in (int, float) for x in state.values()):
            raise ValueError(f"{type(self._part).__name__} keeps other counts than the checkpoint's")
        vars(self._part).update(state)


def as_runner(runner: Any) -> Runner:
    """A runner that may be PyMARL's, with all of the contract."""
    return runner if isinstance(runner, Runner) else PlainRunner.of(runner)
