"""A logger that keeps what is logged; it needs no torch, so that processes of environments stay without."""

import logging
from collections import defaultdict


class RecordingLogger:
    """Has the calls of `records.logger.Logger` that runners and learners use, and keeps what is logged.

    Attributes:
        values: of each statistic its steps and values.
    """

    def __init__(self) -> None:
        self.console_logger = logging.getLogger("test")
        self.values: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def log_stat(self, key: str, value: float, t: int, to_sacred: bool = True) -> None:
        self.values[key].append((t, float(value)))

    def last(self) -> dict[str, float]:
        """The newest value of every statistic."""
        return {key: values[-1][1] for key, values in self.values.items()}
