"""Whole episodes of many copies of an environment, stepped by one call."""

from runners import REGISTRY
from runners.continuous_runner import ContinuousRunner
from runners.playing import EpisodesRunner
from utils.config.merging import with_defaults


def batched_runner(args, logger) -> EpisodesRunner:
    """`batch_size_run` episodes a call; by `batched_mode`, copies wait for each other (synchronous) or do not."""
    args = with_defaults(args, REGISTRY.defaults_of(batched_runner))
    kind = ContinuousRunner if args.batched_mode == "continuous" else EpisodesRunner
    return kind(args, logger)
