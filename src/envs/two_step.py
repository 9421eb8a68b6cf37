"""The documented path of the two-step game (`envs.small.two_step`)."""

from envs.small.two_step import TwoStepGame  # noqa: F401
