"""The summary of each `log_interval`: counts of the run, diagnostics, the console's table, a look for ailments."""

import time
from types import SimpleNamespace

from collection import lag_of
from experiment.ailments import Ailments
from experiment.assembly import Parts
from experiment.updates import Updates
from experiment.vitals import Vitals
from learners.histograms import keep_histograms
from records.logger import Logger
from utils.timehelper import time_str, time_to_go


class Summaries:
    """What the console and the logs say of a run's course.

    Args:
        args: the config.
        parts: of the run.
        logger: where statistics go.
        updates: knows what was left out.
        vitals: what rollouts were made of.
    """

    def __init__(self, args: SimpleNamespace, parts: Parts, logger: Logger, updates: Updates, vitals: Vitals):
        self._args, self._parts, self._logger, self._updates, self._vitals = args, parts, logger, updates, vitals
        self._ailments = Ailments(vars(args), logger, vitals)
        self._start_time = self._last_time = time.monotonic()

    def begin(self, t_env: int) -> None:
        """The run begins at this step."""
        self._start_t = self._last_t = t_env

    def passed(self) -> str:
        """The time since the loop was made, in words."""
        return time_str(time.monotonic() - self._start_time)

    def log(self, t_env: int) -> None:
        """Log the summary of this step."""
        parts, logger = self._parts, self._logger
        parts.loop.last_log_T = t_env
        for key, count in self._updates.skipped().items():
            if count:
                logger.log_stat(key, count, t_env)
        if lag_of(self._args.collection):
            logger.log_stat("weight_lag", parts.loop.weight_lag, t_env)
        for key, figure in parts.collection.figures().items():
            logger.log_stat(key, figure, t_env)
        logger.log_stat("episode", parts.loop.episode, t_env)
        if self._args.histograms:
            for team in parts.learning:
                keep_histograms(team.learner, team.mac, team.name)
        self._vitals.write()
        parts.diagnostics.write()
        logger.print_recent_stats()
        self._ailments.look()

    def show_time_left(self, t_env: int) -> None:
        """Say how long the run will take, where no progress bar shows it."""
        if self._logger.progress is None and t_env > self._last_t > self._start_t:  # the first steps give no speed
            console = self._logger.console_logger
            console.info(f"t_env: {t_env} / {self._args.t_max}")
            left = time_to_go(time.monotonic() - self._last_time, self._last_t, t_env, self._args.t_max)
            console.info(f"Estimated time left: {left}. Time passed: {self.passed()}")
        self._last_time, self._last_t = time.monotonic(), t_env
