"""The documented path of the fields that an environment declares (`envs.contract.fields`)."""

from envs.contract.fields import *  # noqa: F403
