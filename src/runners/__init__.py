"""Runners: how experience is gathered."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("runner")
REGISTRY.declare(
    "episode", "runners.episode_runner:EpisodeRunner", "one environment, in this process", max_environments=1, reads=()
)
REGISTRY.declare(
    "parallel",
    "runners.parallel_runner:ParallelRunner",
    "batch_size_run environments, each in a process of its own",
    reads=("env_transport", "envs_per_worker", "worker_timeout", "on_worker_fault", "max_worker_restarts"),
)
REGISTRY.declare(
    "batched",
    "runners.batched_runner:BatchedRunner",
    "batch_size_run copies of a batched environment (skirmish), stepped by one call",
    needs_batched=True,
    reads=("batched_mode",),
)
REGISTRY.declare(
    "rollout",
    "runners.rollout_runner:RolloutRunner",
    "chunks of rollout_steps steps of a batched environment (skirmish), across the ends of episodes",
    needs_batched=True,
    plays_on=True,
    cuts_episodes=True,
    reads=("rollout_steps",),
)

__getattr__ = lazy_classes(__name__, REGISTRY)
