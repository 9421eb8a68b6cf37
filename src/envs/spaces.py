"""The documented path of spaces as fields (`envs.contract.spaces`)."""

from envs.contract.spaces import actions, observations, space_of  # noqa: F401
