"""One environment in this process, one whole episode a call."""

from runners.playing import EpisodesRunner
from utils.config import with_defaults


class EpisodeRunner(EpisodesRunner):
    """PyMARL's `episode` runner; tests play on a separate environment if `separate_test_env`."""

    lives = "in_process"

    def __init__(self, args, logger):
        environments = with_defaults(args).batch_size_run
        if environments != 1:
            raise ValueError(f"The episode runner runs one environment, not batch_size_run={environments}.")
        super().__init__(args, logger)
