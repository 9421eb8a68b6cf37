"""Several environments in other processes, stepped together."""

from runners.playing import EpisodesRunner
from vector_envs.worker import CloudpickleWrapper

__all__ = ["CloudpickleWrapper", "ParallelRunner"]


class ParallelRunner(EpisodesRunner):
    """PyMARL's `parallel` runner: `batch_size_run` whole episodes a call; finished environments wait.

    An environment that fails is re-created, if `on_worker_fault` allows it, and another episode takes the place of its
    unfinished one.
    """

    lives = "workers"
