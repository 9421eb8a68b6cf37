"""One environment in this process, one whole episode a call."""

from typing import Any

from runners.playing import EpisodesRunner
from utils.config.merging import with_defaults
from vector_envs.in_process import InProcessCopies


class EpisodeRunner(EpisodesRunner):
    """PyMARL's `episode` runner; tests play on a separate environment if `separate_test_env`."""

    lives = "in_process"

    def __init__(self, args, logger):
        environments = with_defaults(args).batch_size_run
        if environments != 1:
            raise ValueError(f"The episode runner runs one environment, not batch_size_run={environments}.")
        super().__init__(args, logger)

    @property
    def env(self) -> Any:
        """PyMARL's `env`, the one environment, for subclasses that play on it themselves."""
        copies = super().env
        return _TheEnvironment(copies) if isinstance(copies, InProcessCopies) else copies


class _TheEnvironment:
    """The only one of the copies, as itself. They learn of its resets, so that they can play what it has started."""

    def __init__(self, copies: InProcessCopies):
        self._copies, self._env = copies, copies.envs[0]

    def reset(self) -> tuple[Any, Any]:
        self._copies.reset()
        return self._env.get_obs(), self._env.get_state()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)
