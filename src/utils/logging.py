"""Where statistics go: the console, Sacred and TensorBoard."""

import logging
import os
import sys
from collections import defaultdict
from typing import Any

import numpy as np

from utils.progress import SHOWN, ProgressBar, log_above_bars


class Logger:
    """PyMARL's logger: `log_stat` keeps a value and passes it on to every sink that was set up."""

    def __init__(self, console_logger: logging.Logger):
        self.console_logger = console_logger
        self.use_tb = False
        self.use_sacred = False
        self.progress: ProgressBar | None = None
        self.stats: dict[str, list[tuple[int, float]]] = defaultdict(list)

    def setup_tb(self, directory_name: str) -> None:
        """Also write TensorBoard events into this folder."""
        # imported here: a run without TensorBoard starts faster
        from utils.tensorboard_events import EventWriter

        os.makedirs(directory_name, exist_ok=True)
        self.tb_logger = EventWriter(directory_name).log_value
        self.use_tb = True

    def setup_sacred(self, sacred_run_dict: Any) -> None:
        """Also keep values in a Sacred run: in its `info` as `key` and `key_T`, and as its metrics."""
        self.sacred_run = sacred_run_dict
        self.sacred_info = sacred_run_dict.info
        self.use_sacred = True

    def setup_progress(self, t_max: int) -> None:
        """Show a progress bar, if the run is watched on a terminal."""
        if sys.__stderr__ is not None and sys.__stderr__.isatty():
            self.progress = ProgressBar(t_max)

    def log_stat(self, key: str, value: float, t: int, to_sacred: bool = True) -> None:
        """Log a number (of any library; NaN and infinity too) after `t` steps."""
        value = float(value)
        self.stats[key].append((t, value))
        if self.use_tb:
            self.tb_logger(key, value, t)
        if self.use_sacred and to_sacred:
            self.sacred_info.setdefault(f"{key}_T", []).append(t)
            self.sacred_info.setdefault(key, []).append(value)
            self.sacred_run.log_scalar(key, value, t)

    def show_progress(self, t_env: int) -> None:
        """Move the progress bar, if there is one."""
        if self.progress is not None:
            self.progress.show(t_env, {key: values[-1][1] for key, values in self.stats.items() if values})

    def print_test(self, t_env: int) -> None:
        """Print one line with what a test that was just made has come to, if the runner logged it."""
        shown = []
        for key in ("test_return_mean", "test_battle_won_mean"):
            if values := self.stats.get(key):
                shown.append(f"{SHOWN[key].removeprefix('test ')} {values[-1][1]:.2f}")
        if shown:
            self.console_logger.info(f"Test after {t_env} steps: {', '.join(shown)}")

    def close(self) -> None:
        """Take the progress bar away, if there is one."""
        if self.progress is not None:
            self.progress.close()
            self.progress = None

    def print_recent_stats(self) -> None:
        """Print the mean of the last five values of every statistic (of epsilon: the last), four to a line."""
        t_env, episode = self.stats["episode"][-1] if self.stats["episode"] else (0, 0)
        lines = [f"Recent Stats | t_env: {t_env:>10} | Episode: {int(episode):>8}"]
        cells = []
        for key, values in sorted(self.stats.items()):
            if key == "episode" or not values:
                continue
            window = 1 if key == "epsilon" else 5
            mean = np.mean([value for _, value in values[-window:]])
            cells.append(f"{key + ':':<25}{mean:>10.4f}")
        lines += ["\t".join(cells[i : i + 4]) for i in range(0, len(cells), 4)]
        self.console_logger.info("\n".join(lines))


class _ConsoleHandler(logging.StreamHandler):
    """Writes to whatever `sys.stdout` is at the moment, so that Sacred's capture gets it, and above progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stdout
        with log_above_bars():
            super().emit(record)


def get_logger() -> logging.Logger:
    """The root logger, set up to print to standard output with the time of day, and nothing else."""
    logger = logging.getLogger()
    logger.handlers = []
    handler = _ConsoleHandler()
    handler.setFormatter(logging.Formatter("[%(levelname)s %(asctime)s] %(name)s %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.setLevel("INFO")
    return logger
