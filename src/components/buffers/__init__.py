"""Buffers: the kept experience, and the part of it that a learner gets."""

from utils.options import EPISODES, EXPERIENCE, FREE, SHARED, Option
from utils.registry import Registry, lazy_classes

REGISTRY = Registry("buffer")
REGISTRY.declare(
    "episodes",
    "components.buffers.episodes:EpisodeReplay",
    "the last buffer_size episodes; a sample is batch_size of them, drawn uniformly",
    options={
        "batch_size": Option(SHARED, "buffer episodes: episodes in a training sample", at_least=1, at_most=EPISODES),
        "buffer_size": Option(
            SHARED, "buffer episodes: its capacity in episodes", at_least=1, at_most=EPISODES, resume=EXPERIENCE
        ),
        "buffer_cpu_only": Option(
            SHARED, "keep the replay buffer in main memory even when training on a GPU", resume=FREE
        ),
        "buffer_dtype": Option(
            SHARED,
            "how the buffer keeps obs and state: float32, or float16 (half the memory; 3 digits, up to 65504)",
            choices=("float32", "float16"),
            resume=EXPERIENCE,
        ),
    },
)
REGISTRY.declare(
    "rollout",
    "components.buffers.rollout:NewestRollout",
    "the newest rollout, whole and not copied; for on-policy learners",
    options={},
)

__getattr__ = lazy_classes(__name__, REGISTRY)
