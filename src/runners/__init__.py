"""Runners: how experience is gathered."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("runner")
REGISTRY.declare(
    "episode", "runners.episode_runner:EpisodeRunner", "one environment, in this process", max_environments=1
)
REGISTRY.declare(
    "parallel", "runners.parallel_runner:ParallelRunner", "batch_size_run environments, each in a process of its own"
)
REGISTRY.declare(
    "batched",
    "runners.batched_runner:BatchedRunner",
    "batch_size_run copies of a batched environment (skirmish), stepped by one call",
    needs_batched=True,
)
REGISTRY.declare(
    "rollout",
    "runners.rollout_runner:RolloutRunner",
    "chunks of rollout_steps steps of a batched environment (skirmish), across the ends of episodes",
    needs_batched=True,
    plays_on=True,
    cuts_episodes=True,
)

__getattr__ = lazy_classes(__name__, REGISTRY)
