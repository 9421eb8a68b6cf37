"""Loggers, in the words of `mlagents_envs.logging_util`."""

import logging
from logging import CRITICAL, DEBUG, ERROR, FATAL, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "FATAL", "INFO", "NOTSET", "WARNING", "get_logger", "set_log_level"]


def get_logger(name: str) -> logging.Logger:
    """A logger of the script's, whose level `set_log_level` decides."""
    return logging.getLogger(name)


def set_log_level(log_level: int) -> None:
    """Log what has at least this level to the standard error output."""
    logging.basicConfig(format="%(asctime)s %(levelname)s [%(filename)s:%(lineno)d] %(message)s")
    logging.getLogger().setLevel(log_level)
