"""The past models of a pool on disk, as saved models that other runs can load: `models/<token>/pool/<step>/`."""

import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from checkpoints.model_files import save_checkpoint
from records.layout import MODELS, POOL


class PoolFiles:
    """Keeps a folder for each model of the pool, and for no other.

    Args:
        args: of the run; without `save_model` nothing is written.
        warn: takes a message: write failures do not end a run.
    """

    def __init__(self, args: Any, warn: Callable[[str], None]):
        self._folder = Path(args.local_results_path, MODELS, args.unique_token, POOL) if args.save_model else None
        self._warn = warn

    def sync(self, steps: Collection[str], model_of: Callable[[str], Any]) -> None:
        """Write the models of the steps that are missing, and remove those of other steps.

        Args:
            model_of: a step -> the model, whose `save_models(path)` writes it; called only for missing ones.
        """
        if self._folder is None:
            return
        try:
            present = {path.name for path in self._folder.iterdir()} if self._folder.is_dir() else set()
            for step in [step for step in steps if step not in present]:
                save_checkpoint(model_of(step), self._folder / step)
            for name in present - set(steps):
                shutil.rmtree(self._folder / name)
        except (OSError, RuntimeError) as error:  # torch's own for a file that cannot be written
            self._warn(f"The pool of opponents could not be saved in {self._folder}: {error}")
