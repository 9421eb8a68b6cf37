"""PyMARL's place for `Logger` and `get_logger`, which are in `records`."""

from records.logger import Logger, get_logger

__all__ = ["Logger", "get_logger"]
