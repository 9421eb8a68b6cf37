"""Runners: how experience is gathered.

Traits:
    lives: the source of its environments
    max_environments: of one runner
    cuts_episodes: a rollout is of so many steps, across the ends of episodes
    outlasts: the settings, possibly none, with which its episodes outlast a rollout
"""

from runners.options import OPTIONS
from utils.config.options import EXPERIENCE, WIDTH, Option
from utils.config.registry import Registry, lazy_classes

REGISTRY = Registry("runner", OPTIONS)
REGISTRY.declare(
    "episodes",
    "runners.playing:EpisodesRunner",
    "batch_size_run whole episodes a call, all copies from the same moment",
    options={},
)
REGISTRY.declare(
    "episodes_continuous",
    "runners.continuous_runner:ContinuousRunner",
    "the next batch_size_run whole episodes that end; no copy waits for another",
    outlasts={},
    options={},
)
REGISTRY.declare(
    "rollout",
    "runners.rollout_runner:RolloutRunner",
    "the next rollout_steps steps of each copy, across the ends of episodes",
    cuts_episodes=True,
    options={
        "rollout_steps": Option(
            32, "steps of each environment in one rollout", at_least=1, at_most=WIDTH, resume=EXPERIENCE
        ),
        "double_buffering": Option(
            "off",
            "simulate one half of the copies while the networks decide for the other: on or off (vector_env=batched; "
            "docs/performance.md)",
            choices=("on", "off"),
            resume=EXPERIENCE,
        ),
    },
)
# PyMARL's names, each a schedule and a source of environments
REGISTRY.declare(
    "episode",
    "runners.episode_runner:EpisodeRunner",
    "episodes of one environment in this process (PyMARL)",
    max_environments=1,
    lives="in_process",
    options={},
)
REGISTRY.declare(
    "parallel",
    "runners.parallel_runner:ParallelRunner",
    "episodes of environments in worker processes (PyMARL)",
    lives="workers",
    options={},
)
REGISTRY.declare(
    "batched",
    "runners.batched_runner:batched_runner",
    "episodes, or by batched_mode episodes_continuous",
    outlasts={"batched_mode": "continuous"},
    options={
        "batched_mode": Option(
            "synchronous",
            "synchronous (episodes start together) or continuous (without waiting for the longest)",
            choices=("synchronous", "continuous"),
            resume=EXPERIENCE,
        )
    },
)

__getattr__ = lazy_classes(__name__, REGISTRY)
