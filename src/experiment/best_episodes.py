"""The best episodes of a run, each in a folder of the run: enough to play it again (docs/results.md)."""

import json
from collections.abc import Sequence
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from checkpoints.model_files import save_checkpoint
from experiment.replay_recording import ALGORITHM
from records.best_episodes import MOST, most_folders, record_of
from records.layout import BEST_EPISODE, BEST_EPISODES, RUNS
from records.logger import Logger


class SavedBestEpisodes:
    """Saves the best episode of each name, in `runs/<token>/best_episodes/<name>/`; write failures are logged.

    Args:
        models: of the run; its `save_models(path)` writes the files. They are saved if the config saves models.
    """

    def __init__(self, args: SimpleNamespace, models: Any, logger: Logger):
        self._args, self._models, self._console = args, models, logger.console_logger
        self._told = False
        self._folder = Path(args.local_results_path, RUNS, args.unique_token, BEST_EPISODES)

    def keep(self, episodes: Sequence[dict[str, Any]]) -> None:
        """Save those that are better than the ones in the folder.

        Args:
            episodes: see `runners.best_episodes.BestEpisodes.fetch`.
        """
        models = self._models if self._args.save_model else None
        for episode in episodes:
            folder = self._folder / episode["name"]
            known = record_of(folder)
            if known.get("least", inf) <= episode["least"]:
                continue
            if not known and most_folders(self._folder):
                self._say_that_it_is_full(episode["name"])
                continue
            try:
                save_checkpoint(_Files(episode, models), folder, self._record(episode))
            except (OSError, RuntimeError) as error:
                self._console.warning(f"The best episode of {episode['name']} could not be saved in {folder}: {error}")

    def _say_that_it_is_full(self, name: str) -> None:
        if not self._told:
            self._console.warning(
                f"{self._folder} has {MOST} folders, the most there may be: the best episodes of {name}, and of others "
                "that follow, are not kept."
            )
        self._told = True

    def _record(self, episode: dict[str, Any]) -> dict[str, str]:
        facts = {key: episode[key] for key in ("name", "least", "restart", "t_env", "test")}
        facts |= {"env": self._args.env, "env_args": self._args.env_args, "seed": self._args.seed}
        facts["algorithm"] = {key: vars(self._args)[key] for key in ALGORITHM if key in vars(self._args)}
        return {BEST_EPISODE: json.dumps(facts, indent=1)}


class _Files:
    """What `save_checkpoint` writes of an episode: an array for each field, its files, and the models."""

    def __init__(self, episode: dict[str, Any], models: Any):
        self._episode, self._models = episode, models

    def save_models(self, path: str) -> None:
        for field, values in self._episode["values"].items():
            np.save(Path(path, f"{field.replace('/', '.')}.npy"), values)
        for name, content in self._episode.get("files", {}).items():
            if isinstance(content, str):
                Path(path, name).write_text(content, encoding="utf-8")
            else:
                np.save(Path(path, f"{name}.npy"), content)
        if self._models is not None:
            self._models.save_models(path)
