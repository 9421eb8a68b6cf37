"""A data set in a run: its size decides the buffers', which are filled with it before the first update."""

from types import SimpleNamespace
from typing import Any

from checks.parts import ChosenParts
from collection.recorded_batches import RecordedBatches
from envs.recorded.formats import DataSet, open_data
from envs.recorded.quality import QUANTILES, Quality, quality_of
from experiment.teams import Member
from records.logger import Logger
from utils.errors import ConfigError


class RunData:
    """The data set that a run learns from.

    Args:
        args: of the run.
        logger: which records what the data are like.
    """

    def __init__(self, args: SimpleNamespace, logger: Logger):
        self._data: DataSet = open_data(args.dataset)
        self.quality: Quality = quality_of(self._data)
        self._logger = logger
        spread = ", ".join(f"{value:.4g}" for value in self.quality.figures()["return_quantiles"])
        logger.console_logger.info(
            f"Data set {args.dataset} ({self._data.format}): {self.quality.episodes:,} episodes, "
            f"{self.quality.transitions:,} transitions; returns at {'/'.join(map(str, QUANTILES))} %: {spread}"
        )
        if logger.use_sacred:
            logger.sacred_info["dataset"] = {"path": args.dataset, "format": self._data.format} | self.quality.figures()

    def room(self, args: SimpleNamespace) -> int:
        """The size of a buffer that holds all of it, and what is played later beside it."""
        later = args.buffer_size if args.dataset_updates else 0
        drawn = ChosenParts(vars(args)).name("buffer") == "transitions"
        # a ring also has a place for steps that wait for the next rollout
        own = self.quality.steps + 1 if drawn else self.quality.episodes
        return later + max(own, args.batch_size, args.batch_size_run * (self.quality.longest + 1) if drawn else 0)

    def fill(self, teams: list[Member], scheme: dict, groups: dict, preprocess: dict, columns: int) -> None:
        """Insert all of it into the buffers of the teams that learn.

        Raises:
            ConfigError: the data do not have the fields of the run, or too few episodes for a sample.
        """
        learning = [team for team in teams if not team.frozen]
        for batch in RecordedBatches(self._data, scheme, groups, preprocess, columns):
            for team in learning:
                team.buffer.insert(team.learns_from(batch, None))
        for team in learning:
            if not team.buffer.ready():
                raise ConfigError(
                    f"dataset={self._data.folder}: {self.quality.episodes} episodes with {self.quality.transitions} "
                    f"transitions are too few for batch_size={team.args.batch_size}."
                )

    def state_dict(self) -> dict[str, Any]:
        return {"sha256": self.quality.digest}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises: ValueError: the data have changed since the checkpoint."""
        if state["sha256"] != self.quality.digest:
            raise ValueError(f"{self._data.folder} has other data than those that the run has learned from")


def run_data(args: SimpleNamespace, logger: Logger) -> RunData | None:
    """That of a run with `dataset`."""
    return RunData(args, logger) if args.dataset else None
