"""Runners: how experience is gathered."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("runner")
REGISTRY.declare(
    "episodes",
    "runners.playing:EpisodesRunner",
    "batch_size_run whole episodes a call, all copies from the same moment",
    reads=(),
)
REGISTRY.declare(
    "episodes_continuous",
    "runners.continuous_runner:ContinuousRunner",
    "the next batch_size_run whole episodes that end; no copy waits for another",
    plays_on=True,
    reads=(),
)
REGISTRY.declare(
    "rollout",
    "runners.rollout_runner:RolloutRunner",
    "the next rollout_steps steps of each copy, across the ends of episodes",
    plays_on=True,
    cuts_episodes=True,
    reads=("rollout_steps",),
)
# PyMARL's names, each a schedule and a source of environments
REGISTRY.declare(
    "episode",
    "runners.episode_runner:EpisodeRunner",
    "episodes of one environment in this process (PyMARL)",
    max_environments=1,
    lives="in_process",
    reads=(),
)
REGISTRY.declare(
    "parallel",
    "runners.parallel_runner:ParallelRunner",
    "episodes of environments in worker processes (PyMARL)",
    lives="workers",
    reads=(),
)
REGISTRY.declare(
    "batched",
    "runners.batched_runner:batched_runner",
    "episodes, or by batched_mode episodes_continuous",
    reads=("batched_mode",),
)

__getattr__ = lazy_classes(__name__, REGISTRY)
