"""PyMARL's place for `Logger` and `get_logger`, which are in `records`."""

from records.console_log import get_logger
from records.logger import Logger

__all__ = ["Logger", "get_logger"]
