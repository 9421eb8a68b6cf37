"""What data are like: how many, how good, and which."""

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from envs.recorded.description import EPISODE
from envs.recorded.episodes import rows_and_columns, transitions
from envs.recorded.formats import DataSet
from utils.errors import ConfigError

QUANTILES = (0, 25, 50, 75, 100)
BINS = 20


class Quality(NamedTuple):
    """Of a data set: counts, the episodes' returns and lengths, and its digest.

    `returns`: of the team, or the mean over agents, of episodes that ended, or of all if none did; float64.
    `unfinished`: episodes that were in progress when recording stopped. `longest`: steps, the closing one included.
    """

    episodes: int
    unfinished: int
    transitions: int
    steps: int
    longest: int
    returns: np.ndarray
    digest: str

    def figures(self) -> dict[str, Any]:
        """Plain values for a record."""
        counts, edges = np.histogram(self.returns, bins=BINS)
        return {
            "episodes": self.episodes,
            "unfinished_episodes": self.unfinished,
            "transitions": self.transitions,
            "return_mean": float(self.returns.mean()),
            "return_std": float(self.returns.std()),
            "return_quantiles": [float(np.percentile(self.returns, each)) for each in QUANTILES],
            "return_counts": counts.tolist(),
            "return_edges": edges.tolist(),
            "sha256": self.digest,
        }


def quality_of(data: DataSet) -> Quality:
    """Read all of it.

    Raises:
        ConfigError: it is damaged.
    """
    rewards = data.description.spec.rewards()
    returns, ended, steps, done, longest = [], [], 0, 0, 0
    for part in data.parts():
        try:
            rows, columns, episodes = rows_and_columns(part[EPISODE])
        except ValueError as error:
            raise ConfigError(f"{data.folder} is damaged: {error}.") from None
        valid = transitions(part)
        each = sum((part[key].reshape(len(rows), -1).mean(axis=1) for key in rewards), np.zeros(len(rows)))
        returns.append(np.bincount(rows, each * valid, episodes))
        closes = (part["terminated"].reshape(-1) != 0) | (part["truncated"].reshape(-1) != 0)
        ended.append(np.bincount(rows, closes, episodes) > 0)
        steps, done, longest = steps + len(rows), done + int(valid.sum()), max(longest, 1 + int(columns.max(initial=0)))
    everything, whole = np.concatenate(returns), np.concatenate(ended)
    unfinished = len(whole) - int(whole.sum())
    counted = everything[whole] if whole.any() else everything
    return Quality(len(everything), unfinished, done, steps, longest, counted, digest_of(data.files, data.folder))


def digest_of(files: list[Path], folder: Path) -> str:
    """SHA-256 of names and contents of the files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
    return digest.hexdigest()
