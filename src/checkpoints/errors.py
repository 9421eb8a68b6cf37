"""The errors of checkpoints."""

from utils.errors import ConfigError


class CheckpointError(ConfigError):
    """A checkpoint that is torn, damaged, or does not fit; the message names the file."""
