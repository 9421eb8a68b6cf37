"""The documented path of `ask_environment` (`envs.contract.asking`)."""

from envs.contract.asking import ask_environment  # noqa: F401
