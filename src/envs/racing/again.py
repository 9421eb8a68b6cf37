"""The documented path of `driven_best` and `replay_best` (`envs.racing.rerun`)."""

from envs.racing.rerun import driven_again, driven_best, driven_from, replay_best  # noqa: F401
