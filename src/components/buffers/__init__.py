"""Buffers: what is kept of the experience, and which part of it a learner gets."""

from utils.registry import Registry, lazy_classes

REGISTRY = Registry("buffer")
REGISTRY.declare(
    "episodes",
    "components.buffers.episodes:EpisodeReplay",
    "the last buffer_size episodes; a sample is batch_size of them, drawn uniformly",
    reads=("buffer_size", "batch_size", "buffer_dtype", "buffer_cpu_only"),
)
REGISTRY.declare(
    "rollout",
    "components.buffers.rollout:NewestRollout",
    "the newest rollout, whole and not copied; for on-policy learners",
    reads=(),
)

__getattr__ = lazy_classes(__name__, REGISTRY)
