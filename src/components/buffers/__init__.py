"""Buffers: the kept experience, and the part of it that a learner gets.

Traits:
    gives: "drawn": a sample is of steps, whose fields the transforms read; none: of whole time steps
    rows: the key with the number of episodes or rollouts in a sample
"""

from utils.config.on_off_options import OFF_BATCH_SIZE
from utils.config.options import EPISODES, EXPERIENCE, FREE, SHARED, Option
from utils.config.reach import FILES, NOWHERE
from utils.config.registry import Registry, lazy_classes

UNITS = {
    "store_transforms": Option(
        SHARED,
        "transforms that a rollout passes before it is stored, a list (docs/off_policy.md)",
        resume=EXPERIENCE,
        reaches=NOWHERE,
    ),
    "sample_transforms": Option(
        SHARED, "transforms that a sample passes before it is learned from, a list", reaches=NOWHERE
    ),
    "debug_transforms": Option(
        SHARED, "check values and shapes between all transforms, and log their statistics", resume=FREE
    ),
}
REGISTRY = Registry("buffer", UNITS)
BATCH_SIZE = Option(
    SHARED, "episodes in a training sample (buffer transitions: transitions)", at_least=1, at_most=EPISODES
)
CAPACITY = {
    "buffer_size": Option(
        SHARED,
        "capacity of the replay buffer in episodes (buffer transitions: in steps)",
        at_least=1,
        at_most=EPISODES,
        resume=EXPERIENCE,
        driven=True,
    ),
    "buffer_cpu_only": Option(
        SHARED,
        "keep the replay buffer in main memory even when training on a GPU; auto: unless it fits in half of the GPU's "
        "free memory",
        choices=("auto", True, False),
        resume=FREE,
    ),
    "buffer_folder": Option(
        "",
        "a folder on a disk in which the buffer keeps its fields; empty: in memory",
        resume=FREE,
        reaches=FILES,
    ),
    "buffer_dtype": Option(
        SHARED,
        "how the buffer keeps obs and state: float32, or float16 (half the memory; 3 digits, up to 65504)",
        choices=("float32", "float16"),
        resume=EXPERIENCE,
    ),
}
PRIORITIES = {
    "priority_alpha": Option(
        0.0,
        "transitions, or episodes (PyMARL2's per_alpha), are drawn in proportion to their priority to this power; 0: "
        "all alike",
        at_least=0,
        at_most=10,
        resume=EXPERIENCE,
    ),
    "priority_epsilon": Option(
        1e-6,
        "added to each priority, so that all may be drawn (Linesight: 0.002)",
        above=0,
        at_most=1000,
        resume=EXPERIENCE,
    ),
    "priority_beta": Option(
        0.4, "power of the weights that make up for priorities; 1: entirely", at_least=0, at_most=1, driven=True
    ),
}
REGISTRY.declare(
    "episodes",
    "components.buffers.episodes:EpisodeReplay",
    "the last buffer_size episodes; a sample is batch_size of them, drawn uniformly or by priority",
    rows="batch_size",
    options={"batch_size": BATCH_SIZE, **CAPACITY, **PRIORITIES},
)
REGISTRY.declare(
    "on_off",
    "components.buffers.on_off:OnOffReplay",
    "the last buffer_size episodes; a sample is off_batch_size of them and the batch_size newest",
    rows="batch_size",
    options={
        "batch_size": BATCH_SIZE,
        **CAPACITY,
        "off_batch_size": OFF_BATCH_SIZE,
        "recent_size": Option(
            0,
            "of the so many newest episodes, batch_size more are drawn, which come first in a sample; 0: none",
            at_least=0,
            at_most=EPISODES,
        ),
    },
)
REGISTRY.declare(
    "rollout",
    "components.buffers.rollout:NewestRollout",
    "the newest rollout, whole and not copied; for on-policy learners",
    rows="batch_size_run",
    options={},
)

REGISTRY.declare(
    "transitions",
    "components.buffers.transitions:TransitionReplay",
    "the last buffer_size steps, each frame once; a sample is batch_size transitions, uniform or by priority",
    gives="drawn",
    options={
        "batch_size": BATCH_SIZE,
        **CAPACITY,
        "buffer_min": Option(
            0,
            "transitions before the first sample; at least batch_size are waited for",
            at_least=0,
            at_most=EPISODES,
            driven=True,
        ),
        "hold_out": Option(
            0.0,
            "share of the episodes that are never learned from, to detect overfitting",
            at_least=0,
            at_most=0.9,
            resume=EXPERIENCE,
        ),
        "hold_out_redraw": Option(
            0.0,
            "probability per step that a new stretch begins, which is held out or not by chance (Linesight: 0.1); 0: "
            "whole episodes",
            at_least=0,
            at_most=1,
            resume=EXPERIENCE,
        ),
        **PRIORITIES,
    },
)

__getattr__ = lazy_classes(__name__, REGISTRY)
