"""Batches and weights with numbers that are not finite, kept to find the cause."""

import json
import logging
from pathlib import Path
from typing import Any

from checkpoints.tree import save_tree

# updates or rollouts that were skipped are kept this often
KEPT = 3


class Inspection:
    """Keeps batch, weights and step of faults.

    Args:
        folder: gets a folder for each.
        learner: its `save_models(path)` writes the weights.
    """

    def __init__(self, folder: Path, learner: Any, console: logging.Logger):
        self._folder, self._learner, self._console = folder, learner, console
        self._kept = 0

    def keep(self, what: str, batch: Any, t_env: int, episode: int, always: bool = False) -> Path:
        """Report that `what` is not finite and keep a batch with it; unless `always`, only the first few times.

        Returns:
            the folder.
        """
        folder = self._folder / f"{t_env}-{self._kept}"
        self._console.warning(f"Not a finite number after {t_env} steps: {what}.")
        if always or self._kept < KEPT:
            self._kept += 1
            try:
                self._write(folder, batch, {"what": what, "t_env": t_env, "episode": episode})
            except (OSError, RuntimeError) as error:
                self._console.warning(f"It could not be kept for inspection in {folder}: {error}")
        return folder

    def _write(self, folder: Path, batch: Any, figures: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fields = {**batch.data.transition_data, **batch.data.episode_data}
        save_tree(fields, folder / "batch.th")
        self._learner.save_models(str(folder))
        largest = {
            key: tensor.abs().max().item()
            for key, tensor in fields.items()
            if tensor.is_floating_point() and len(tensor)
        }
        (folder / "fault.json").write_text(json.dumps({**figures, "largest_absolute_values": largest}, indent=1))
