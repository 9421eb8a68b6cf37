"""Playing a saved model: its controller, test episodes, and a table of them. Nothing is trained."""

import csv
import io
import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from checkpoints.model_files import load_weights
from collection.synchronous import SyncCollection
from envs.contract.infos import is_true
from experiment.data_recording import recorder_of
from experiment.loaded_run import loaded_run
from experiment.replay_recording import attach_recorder, mixes_chosen_values, save_replay
from modules.mixers import REGISTRY as mixer_REGISTRY
from records.layout import EPISODES
from records.logger import Logger
from records.run_folder import RunFolder
from utils.files.whole_files import write_whole
from vector_envs.instances import seed_of_environment

COLUMNS = ("episode", "environment", "seed", "number", "return", "length", "won")


class EpisodeTable:
    """The results of every episode of an evaluation, as in `episodes.csv` (docs/results.md)."""

    def __init__(self, args: SimpleNamespace):
        self._args = args
        self._played: Counter[int] = Counter()
        self.rows: list[tuple] = []

    def add(self, environment: int, episode_return: float, length: int, info: dict[str, Any]) -> None:
        """Add an episode of the run's environment of that number; `info`: of its last step."""
        seed = seed_of_environment(self._args, environment, test_mode=self._args.separate_test_env)
        won = int(is_true(info, "battle_won")) if "battle_won" in info else None
        number, self._played[environment] = self._played[environment], self._played[environment] + 1
        self.rows.append((len(self.rows), environment, seed, number, float(episode_return), int(length), won))

    def write(self, path: Path) -> None:
        """Write the table, whole.

        Raises:
            OSError: it cannot be written.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(self.rows)
        write_whole(str(path), text.getvalue().encode())


def evaluate_model(args: SimpleNamespace, logger: Logger, folder: RunFolder, model: Path, step: int) -> None:
    """Play `test_nepisode` test episodes with the controller saved in the folder `model` after `step` steps.

    Logs the statistics, writes `episodes.csv` into the folder of a recorded run, and saves a replay if asked to.
    """
    table = EpisodeTable(args)
    try:
        with loaded_run(args, logger, model, step) as run:
            run.runner.on_test_episode = table.add
            attach_recorder(args, run.runner, _mixer(args, model), logger)
            recorder = recorder_of(args, run.runner, run.scheme)
            for _ in SyncCollection(run.runner, run.mac, run.mac, logger).test(run.stream):
                if recorder is not None and run.runner.batch is not None:
                    recorder.take(run.runner.batch)
            if recorder is not None:
                recorder.close()
            logger.print_test(step)
            logger.log_stat("episode", args.test_nepisode, step)
            logger.print_recent_stats()
            save_replay(args, run.runner, logger)
    finally:
        _keep(table, folder, logger)


def _mixer(args: SimpleNamespace, model: Path) -> Any:
    """The mixer that was saved with the controller, if a replay is to show the team's value."""
    weights = model / "mixer.th"
    if not (args.save_replay and mixes_chosen_values(args) and os.path.isfile(weights)):
        return None
    mixer = mixer_REGISTRY[args.mixer](args).to(args.device)
    load_weights(mixer, weights)
    return mixer


def _keep(table: EpisodeTable, folder: RunFolder, logger: Logger) -> None:
    """Write the played episodes, even if some are missing; an unrecorded evaluation leaves nothing."""
    if folder.sacred_id is None or not table.rows:
        return
    path = folder.path / EPISODES
    try:
        folder.create()
        table.write(path)
    except OSError as error:
        logger.console_logger.warning(f"The table of episodes could not be written in {path}: {error}")
    else:
        logger.console_logger.info(f"Episodes: {path}")
