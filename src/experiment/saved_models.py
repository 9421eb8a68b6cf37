"""The models of a run in PyMARL's format: those of some steps, and the best."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from checkpoints.model_files import save_checkpoint
from experiment.model_meanings import recorded
from records.best_model import RANKED_BY, RankedModel, best_of
from records.layout import BEST, BEST_RECORD, MODELS
from records.logger import Logger


class SavedModels:
    """Saves the learner's models, in `models/<token>/`; write failures are logged.

    Args:
        learner: its `save_models(path)` writes the files.
        logger: knows the figures of tests, by which models are ranked.
    """

    def __init__(self, args: SimpleNamespace, learner: Any, logger: Logger):
        self._folder = Path(args.local_results_path, MODELS, args.unique_token)
        self._learner, self._logger, self._records = learner, logger, recorded(args.meaning)

    def save(self, t_env: int) -> None:
        """Save the models of step `t_env`."""
        folder = self._folder / str(t_env)
        self._logger.console_logger.info(f"Saving models to {folder}")
        try:
            save_checkpoint(self._learner, folder, self._records)
        except (OSError, RuntimeError) as error:  # torch's own for a file that cannot be written
            self._warn(f"The models of step {t_env} could not be saved in {folder}: {error}")
        else:
            self._logger.keep_model(folder)

    def save_best(self, t_env: int) -> None:
        """Save the models that were just tested in `best/`, if no test was better."""
        stats = self._logger.stats
        latest = {key: stats[key][-1] for key in RANKED_BY if stats.get(key)}
        model = RankedModel(t_env, {key: value for key, (t, value) in latest.items() if t == t_env})
        best = best_of(self._folder)
        if not model.tested or (best is not None and best.rank >= model.rank):
            return
        record = json.dumps({"step": model.step, **model.figures})
        try:
            save_checkpoint(self._learner, self._folder / BEST, {BEST_RECORD: record, **self._records})
        except (OSError, RuntimeError) as error:
            self._warn(f"The best models, of step {t_env}, could not be saved in {self._folder}: {error}")

    def _warn(self, text: str) -> None:
        self._logger.console_logger.warning(text)
