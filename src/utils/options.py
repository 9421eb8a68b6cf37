"""The documented path of the words that declare config keys (`utils.config.options`)."""

from utils.config.options import *  # noqa: F403
